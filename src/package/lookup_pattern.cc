#include "package/lookup_pattern.h"

#include <algorithm>

#include "base/text.h"

namespace mist::package {
namespace {

constexpr std::size_t kLongest = 1024;

bool is_namespace(std::string_view text) {
  return text == LookupPattern::kAny || text == LookupPattern::kOwnNamespace || is_dns1123_label(text);
}

bool is_kind(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; });
}

// Of a path segment: the server decides about the rest.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7F; });
}

Error wrong(std::string_view text, std::string_view form) {
  return error(ErrorKind::Invalid, "\"{}\" doesn't say what may be read",
               escape_controls(text.substr(0, 200)))
      .with_hint(fmt::format(
          "it is written {}; '*' stands for all of them, a namespace '.' for the release's", form));
}

}  // namespace

Result<LookupPattern> LookupPattern::parse(std::string_view text) {
  constexpr std::string_view kForm = "NAMESPACE, NAMESPACE/KIND[.GROUP] or NAMESPACE/KIND[.GROUP]/NAME";
  const std::vector<std::string_view> parts = split(text, '/');
  if (text.size() > kLongest || parts.empty() || parts.size() > 3 || !is_namespace(parts[0]))
    return wrong(text, kForm);
  LookupPattern pattern;
  pattern.ns = parts[0];
  if (parts.size() > 1) {
    const auto dot = parts[1].find('.');
    pattern.kind = parts[1].substr(0, dot);
    if (dot != std::string_view::npos) pattern.group = std::string(parts[1].substr(dot + 1));
    if (parts[1] != kAny && (!is_kind(pattern.kind) || (pattern.group && !is_name(*pattern.group))))
      return wrong(text, kForm);
  }
  if (parts.size() > 2) {
    if (!is_name(parts[2])) return wrong(text, kForm);
    pattern.name = parts[2];
  }
  return pattern;
}

Result<LookupPattern> LookupPattern::parse_secrets(std::string_view text) {
  constexpr std::string_view kForm = "NAMESPACE or NAMESPACE/NAME";
  const std::vector<std::string_view> parts = split(text, '/');
  if (text.size() > kLongest || parts.empty() || parts.size() > 2 || !is_namespace(parts[0]))
    return wrong(text, kForm);
  LookupPattern pattern;
  pattern.ns = parts[0];
  pattern.kind = "Secret";
  pattern.group = "";
  if (parts.size() > 1) {
    if (!is_name(parts[1])) return wrong(text, kForm);
    pattern.name = parts[1];
  }
  return pattern;
}

bool LookupPattern::covers(const apimachinery::GroupKind& other, std::string_view other_ns,
                           std::string_view other_name, std::string_view release_namespace) const {
  const std::string_view place = ns == kOwnNamespace ? release_namespace : std::string_view(ns);
  if (ns != kAny && (other_ns.empty() || place != other_ns)) return false;
  if (kind != kAny && kind != other.kind) return false;
  if (group && *group != other.group) return false;
  return name == kAny || name == other_name;
}

std::string lookup_pattern_for(const apimachinery::GroupKind& kind, std::string_view ns,
                               std::string_view name) {
  std::string text = fmt::format("{}/{}", ns.empty() ? LookupPattern::kAny : ns, kind.kind);
  if (!kind.group.empty()) text += "." + kind.group;
  if (!name.empty()) text += fmt::format("/{}", name);
  return text;
}

}  // namespace mist::package
