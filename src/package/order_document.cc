#include "package/order_document.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace mist::package {

using apimachinery::RenderedObject;
using encoding::Value;

namespace {

constexpr std::string_view kKind = "MistOrder";
constexpr std::string_view kVersion = "mistletoe.dev/v1";
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kAnnotations{
    {{"after", "mistletoe.dev/after"}, {"before", "mistletoe.dev/before"}}};
constexpr std::string_view kEntryForm =
    "write - object: KIND/NAME with after: or before: below it, as the annotations mistletoe.dev/after and "
    "mistletoe.dev/before have them";

Error wrong(const Value& place, std::string message, std::string hint) {
  return error(ErrorKind::Invalid, "{}", message)
      .with_hint(std::move(hint))
      .at({.file = {}, .line = place.position().line, .column = place.position().column, .excerpt = {}});
}

Status refuse_unknown(const Value& map, std::initializer_list<std::string_view> known,
                      std::string_view what) {
  for (const Value::Member& member : map.as_object()) {
    if (std::ranges::find(known, member.key) != known.end()) continue;
    const std::string_view near = nearest(member.key, std::vector<std::string_view>(known));
    return wrong(member.value, fmt::format("{} has no member {}", what, escape_controls(member.key)),
                 near.empty() ? std::string(kEntryForm) : fmt::format("did you mean {}?", near));
  }
  return {};
}

// KIND[.GROUP]/[NAMESPACE/]NAME, the kind without case.
Result<apimachinery::ObjectName> parse_name(const Value& value) {
  const auto refuse = [&] {
    return wrong(value, "\"object\" must be KIND/NAME, KIND.GROUP/NAME or KIND/NAMESPACE/NAME",
                 std::string(kEntryForm));
  };
  if (!value.is_string()) return refuse();
  const std::vector<std::string_view> parts = split(value.as_string(), '/');
  if (parts.size() < 2 || parts.size() > 3 ||
      std::ranges::any_of(parts, [](auto part) { return part.empty(); }))
    return refuse();
  apimachinery::ObjectName name;
  const auto dot = parts[0].find('.');
  name.kind = parts[0].substr(0, dot);
  if (dot != std::string_view::npos) name.group = parts[0].substr(dot + 1);
  if (parts.size() == 3) name.ns = parts[1];
  name.name = parts.back();
  return name;
}

std::string spelled(const RenderedObject& rendered) {
  const auto& object = rendered.object;
  return object.ns().empty() ? fmt::format("{}/{}", object.gvk().kind, object.name())
                             : fmt::format("{}/{}/{}", object.gvk().kind, object.ns(), object.name());
}

// A target, or a list of them.
Result<std::string> targets_of(const Value& value, std::string_view member) {
  const auto refuse = [&](const Value& place) {
    return wrong(place, fmt::format("\"{}\" must be a target or a list of targets", member),
                 "a target is KIND/NAME, with @ready, @present or @absent behind it (docs/order.md)");
  };
  if (value.is_string() && !trim(value.as_string()).empty()) return value.as_string();
  if (!value.is_array() || value.empty()) return refuse(value);
  std::vector<std::string> targets;
  for (const Value& item : value.as_array()) {
    if (!item.is_string() || trim(item.as_string()).empty()) return refuse(item);
    targets.push_back(item.as_string());
  }
  return join(targets, ", ");
}

}  // namespace

bool is_order_document(const Value& document) {
  return document.string_at("kind") == kKind &&
         document.string_at("apiVersion").starts_with("mistletoe.dev/");
}

OrderDeclarations::OrderDeclarations(std::vector<RenderedObject>& objects) : objects_(objects) {
  for (std::size_t i = 0; i < objects.size(); ++i) names_.add(objects[i].object, i);
}

Result<std::size_t> OrderDeclarations::find(const Value& value) const {
  MIST_TRY(const apimachinery::ObjectName name, parse_name(value));
  const std::vector<std::size_t> found = names_.find(name);
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return wrong(
        value,
        fmt::format("\"{}\" is ambiguous: {} and {} are rendered", escape_controls(value.as_string()),
                    objects_[found[0]].object.key().display(), objects_[found[1]].object.key().display()),
        "write KIND.GROUP/NAME or KIND/NAMESPACE/NAME");
  std::vector<std::string> names;
  for (const RenderedObject& rendered : objects_) names.push_back(spelled(rendered));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near(nearest(value.as_string(), views));
  return wrong(value, fmt::format("the package renders no {}", escape_controls(value.as_string())),
               near.empty() ? std::string(kEntryForm) : fmt::format("did you mean {}?", near));
}

Status OrderDeclarations::declare(const Value& entry) {
  if (!entry.is_object()) return wrong(entry, "an entry of edges is not an object", std::string(kEntryForm));
  MIST_TRY_VOID(refuse_unknown(entry, {"object", "after", "before"}, "an entry of edges"));
  const Value* const name = entry.find("object");
  if (name == nullptr || entry.size() < 2)
    return wrong(entry, "an entry of edges needs \"object\", and \"after\" or \"before\"",
                 std::string(kEntryForm));
  MIST_TRY(const std::size_t object, find(*name));
  for (const auto& [member, annotation] : kAnnotations) {
    const Value* const value = entry.find(member);
    if (value == nullptr) continue;
    MIST_TRY(const std::string targets, targets_of(*value, member));
    std::string& all = targets_[{object, annotation}];
    all += all.empty() ? targets : ", " + targets;
  }
  return {};
}

Status OrderDeclarations::add(const Value& document) {
  if (document.string_at("apiVersion") != kVersion)
    return wrong(document,
                 fmt::format("a {} of the version {}, which this mistctl doesn't know", kKind,
                             escape_controls(document.string_at("apiVersion"))),
                 fmt::format("write apiVersion: {}", kVersion));
  MIST_TRY_VOID(refuse_unknown(document, {"apiVersion", "kind", "edges"}, kKind));
  const Value* const edges = document.find("edges");
  if (edges == nullptr || !edges->is_array())
    return wrong(edges == nullptr ? document : *edges, "edges must be a list", std::string(kEntryForm));
  for (const Value& entry : edges->as_array()) MIST_TRY_VOID(declare(entry));
  return {};
}

void OrderDeclarations::write() {
  for (auto& [place, targets] : targets_) {
    auto& object = objects_[place.first].object;
    const std::string_view already = object.annotation(place.second);
    object.set_annotation(place.second, already.empty() ? targets : fmt::format("{}, {}", already, targets));
  }
  targets_.clear();
}

}  // namespace mist::package
