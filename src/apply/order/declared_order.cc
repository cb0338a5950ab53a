#include "apply/order/declared_order.h"

#include <array>

#include "base/text.h"

namespace mist::apply {
namespace {

constexpr std::string_view kForm =
    "write KIND/NAME, KIND.GROUP/NAME or KIND/NAMESPACE/NAME, with @ready, @present or @absent behind it, "
    "and a ? "
    "if it may be missing; outside: in front of it if it is not part of the release";

constexpr std::array<std::pair<std::string_view, EdgePredicate>, 3> kPredicates{
    {{"ready", EdgePredicate::Ready},
     {"present", EdgePredicate::Present},
     {"absent", EdgePredicate::Absent}}};

Error malformed(std::string_view text, std::string_view why) {
  return error(ErrorKind::Invalid, "\"{}\" names no object: {}", escape_controls(text), why)
      .with_hint(std::string(kForm));
}

Result<DeclaredTarget> parse_target(std::string_view text) {
  DeclaredTarget target;
  target.text = text;
  std::string_view rest = text;
  constexpr std::string_view kOutside = "outside:";
  if (rest.starts_with(kOutside)) {
    target.outside = true;
    rest.remove_prefix(kOutside.size());
  }
  if (rest.ends_with('?')) {
    target.optional = true;
    rest.remove_suffix(1);
  }
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view word = rest.substr(at + 1);
    bool known = false;
    for (const auto& [name, predicate] : kPredicates) {
      if (name != word) continue;
      target.predicate = predicate;
      known = true;
    }
    if (!known) return malformed(text, fmt::format("there is no \"@{}\"", escape_controls(word)));
    rest = rest.substr(0, at);
  }
  const std::vector<std::string_view> parts = split(rest, '/');
  if (parts.size() < 2 || parts.size() > 3)
    return malformed(text, parts.size() < 2 ? "it has no /" : "it has too many /");
  for (const std::string_view part : parts) {
    if (part.empty()) return malformed(text, "a part of it is empty");
    if (part.find_first_of(" \t\r\n") != std::string_view::npos)
      return malformed(text, "targets are separated by commas");
  }
  const auto dot = parts[0].find('.');
  target.kind = parts[0].substr(0, dot);
  if (dot != std::string_view::npos) target.group = parts[0].substr(dot + 1);
  if (target.kind.empty() || (target.group && target.group->empty()))
    return malformed(text, "a part of it is empty");
  if (parts.size() == 3) target.ns = parts[1];
  target.name = parts.back();
  return target;
}

}  // namespace

Result<std::vector<DeclaredTarget>> parse_targets(std::string_view annotation) {
  std::vector<DeclaredTarget> targets;
  for (const std::string_view part : split(annotation, ',')) {
    const std::string_view text = trim(part);
    if (text.empty()) continue;  // a comma at the end
    MIST_TRY(DeclaredTarget target, parse_target(text));
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace mist::apply
