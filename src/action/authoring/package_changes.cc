#include "action/authoring/package_changes.h"

#include <map>

#include "base/text.h"

namespace mist::action {

using release::CalledPackage;
using release::PackageInfo;

std::vector<PackageChange> package_changes(const PackageInfo& before, const PackageInfo& after) {
  std::vector<PackageChange> changes;
  if (before.version != after.version || before.digest != after.digest)
    changes.push_back({after.name, before.version, after.version});
  std::map<std::string, std::pair<const CalledPackage*, const CalledPackage*>> calls;
  for (const CalledPackage& each : before.calls) calls[each.id].first = &each;
  for (const CalledPackage& each : after.calls) calls[each.id].second = &each;
  for (const auto& [id, versions] : calls) {
    const auto& [then, now] = versions;
    if (then != nullptr && now != nullptr && *then == *now) continue;
    changes.push_back({.package = id,
                       .before = then == nullptr ? "" : then->version,
                       .after = now == nullptr ? "" : now->version,
                       .called_before = then != nullptr,
                       .called_after = now != nullptr});
  }
  return changes;
}

std::string to_text(const PackageChange& change) {
  const std::string package = escape_controls(change.package);
  const auto with = [&](const std::string& version) {
    return version.empty() ? package : package + " " + escape_controls(version);
  };
  if (change.is_remote && !change.called_before)
    return fmt::format("{} is locked at {}", package, escape_controls(change.after));
  if (change.is_remote && !change.called_after) return package + " is no longer named";
  if (!change.called_before) return with(change.after) + " is called now";
  if (!change.called_after) return with(change.before) + " is no longer called";
  if (change.before == change.after)
    return fmt::format("{}: other content{}", with(change.after),
                       change.tag_moved ? ", its tag was moved in the registry" : "");
  return fmt::format("{} {} → {}", package, change.before.empty() ? "?" : escape_controls(change.before),
                     change.after.empty() ? "?" : escape_controls(change.after));
}

}  // namespace mist::action
