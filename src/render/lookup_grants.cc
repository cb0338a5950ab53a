#include "render/lookup_grants.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace mist::render {
namespace {

using encoding::Value;
using package::LookupPattern;

void merge(std::vector<std::string>& into, const std::vector<std::string>& more) {
  std::set<std::string> all(into.begin(), into.end());
  all.insert(more.begin(), more.end());
  into.assign(all.begin(), all.end());
}

}  // namespace

void LookupGrants::add(const LookupGrants& more) {
  merge(objects, more.objects);
  merge(secrets, more.secrets);
}

bool LookupGrants::cover(const apimachinery::GroupKind& kind, std::string_view ns, std::string_view name,
                         std::string_view release_namespace) const {
  const bool secret = kind == apimachinery::kSecret;
  return std::ranges::any_of(secret ? secrets : objects, [&](const std::string& text) {
    const auto pattern = secret ? LookupPattern::parse_secrets(text) : LookupPattern::parse(text);
    return pattern.ok() && pattern->covers(kind, ns, name, release_namespace);
  });
}

Error lookup_not_granted(const apimachinery::GroupKind& kind, std::string_view ns, std::string_view name,
                         const LookupScope& scope) {
  const bool secret = kind == apimachinery::kSecret;
  std::string pattern;
  if (secret) {
    pattern = std::string(ns.empty() ? LookupPattern::kAny : ns);
    if (!name.empty()) pattern += fmt::format("/{}", name);
  } else {
    pattern = package::lookup_pattern_for(kind, ns, name);
  }
  pattern = escape_controls(pattern);
  if (pattern.find('*') != std::string::npos) pattern = fmt::format("'{}'", pattern);
  const std::string flag = fmt::format("--allow-lookup{} {}", secret ? "-secrets" : "", pattern);
  const std::string what =
      name.empty() ? fmt::format("objects of kind {}", kind.kind) : fmt::format("{} {}", kind.kind, name);
  return error(ErrorKind::Forbidden, "the package may not read {}{}: release {} does not own {}",
               escape_controls(what), ns.empty() ? "" : fmt::format(" in namespace {}", escape_controls(ns)),
               scope.release.display(), name.empty() ? "all of them" : "it")
      .with_hint(fmt::format("if it may, add {}", flag));
}

}  // namespace mist::render
