#include "render/signers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "registry/reference.h"
#include "trust/proof.h"

namespace mist::render {
namespace {

using Signers = std::set<std::string>;
using UsedByPackage = std::map<std::string, package::KnownSigners>;

// Those of OCI registries. Of two versions of one package, only those that signed both.
void collect_signers(const package::Source& source, UsedByPackage& all) {
  const Result<registry::PackageRef> parsed = registry::PackageRef::parse(source.reference);
  const auto* const oci = parsed ? std::get_if<oci::Reference>(&parsed->form()) : nullptr;
  if (oci != nullptr && source.signers) {
    const auto [entry, is_new] = all.emplace(oci->repository.identity(), *source.signers);
    if (!is_new)
      std::erase_if(entry->second.names,
                    [&](const std::string& each) { return !source.signers->names.contains(each); });
  }
  for (const auto& [name, called] : source.dependencies) collect_signers(called->source, all);
}

Signers signed_by_both(const Signers& one, const Signers& other) {
  Signers same;
  std::ranges::set_intersection(one, other, std::inserter(same, same.end()));
  return same;
}

}  // namespace

registry::RecordedSigners recorded_signers(const release::PackageInfo& recorded) {
  registry::RecordedSigners all;
  for (const release::PackageSigners& each : recorded.signers)
    all[each.package].insert(each.signers.begin(), each.signers.end());
  return all;
}

std::vector<release::PackageSigners> signers_for_record(const package::Source& source,
                                                        const release::PackageInfo* before) {
  const registry::RecordedSigners earlier =
      before != nullptr ? recorded_signers(*before) : registry::RecordedSigners();
  UsedByPackage now;
  collect_signers(source, now);
  std::vector<release::PackageSigners> all;
  for (const auto& [package, used] : now) {
    Signers signers = used.names;
    const auto known = earlier.find(package);
    if (known != earlier.end() && !used.verified) {
      Signers same = signers.empty() ? known->second : signed_by_both(known->second, signers);
      if (!same.empty()) signers = std::move(same);
    }
    if (!signers.empty()) all.push_back({package, {signers.begin(), signers.end()}});
  }
  return all;
}

Status check_signers(const release::PackageInfo& deployed, const package::Source& source) {
  const registry::RecordedSigners recorded = recorded_signers(deployed);
  UsedByPackage now;
  collect_signers(source, now);
  for (const auto& [package, used] : now) {
    const auto before = recorded.find(package);
    const Signers& signers = used.names;
    if (used.verified || before == recorded.end() || !signed_by_both(before->second, signers).empty())
      continue;
    return error(ErrorKind::Conflict, "{} is {}, and what the release runs of it is signed by {}", package,
                 signers.empty() ? "not known to be signed" : "signed by " + trust::keys_text(signers),
                 trust::keys_text(before->second))
        .with_because("the record of the release says so")
        .with_hint(std::string(registry::kHowToChangeSigners));
  }
  return {};
}

}  // namespace mist::render
