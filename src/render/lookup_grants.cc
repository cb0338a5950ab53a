#include "render/lookup_grants.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace mist::render {
namespace {

using encoding::Value;
using package::LookupPattern;

constexpr std::string_view kObjects = "allowLookup";
constexpr std::string_view kSecrets = "allowLookupSecrets";

void merge(std::vector<std::string>& into, const std::vector<std::string>& more) {
  std::set<std::string> all(into.begin(), into.end());
  all.insert(more.begin(), more.end());
  into.assign(all.begin(), all.end());
}

std::vector<std::string> sorted_at(const Value& options, std::string_view name) {
  const std::vector<std::string> texts = options.texts_at(name);
  const std::set<std::string> sorted(texts.begin(), texts.end());
  return {sorted.begin(), sorted.end()};
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

void LookupGrants::record(Value& options) const {
  if (!objects.empty()) options.set(kObjects, Value(Value::Array(objects.begin(), objects.end())));
  if (!secrets.empty()) options.set(kSecrets, Value(Value::Array(secrets.begin(), secrets.end())));
}

LookupGrants LookupGrants::recorded(const Value& options) {
  return {sorted_at(options, kObjects), sorted_at(options, kSecrets)};
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
