#include "apply/fields/field_place.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/text.h"
#include "kube/api_failure.h"

namespace mist::apply {
namespace {

using encoding::Value;

// The next step of a path, which loses it: "name", or what stands in brackets.
struct Step {
  std::string_view text;
  bool bracket = false;
};

std::optional<Step> next_step(std::string_view& path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  if (path.empty()) return std::nullopt;
  if (path.front() != '[') {
    const Step step{path.substr(0, path.find_first_of(".["))};
    path.remove_prefix(step.text.size());
    return step;
  }
  bool quoted = false;
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (path[i] == '"') quoted = !quoted;
    if (path[i] != ']' || quoted) continue;
    const Step step{path.substr(1, i - 1), true};
    path.remove_prefix(i + 1);
    return step;
  }
  return std::nullopt;
}

std::string_view unquoted(std::string_view text) {
  return text.size() >= 2 && text.starts_with('"') && text.ends_with('"') ? text.substr(1, text.size() - 2)
                                                                          : text;
}

// "name="web"", "containerPort=80,protocol="TCP"": a value of a set has no key.
bool is_item(const Value& item, std::string_view keys) {
  return std::ranges::all_of(split(keys, ','), [&](std::string_view key) {
    const auto equals = key.find('=');
    if (equals == std::string_view::npos) return false;
    const Value* const value = item.find(trim(key.substr(0, equals)));
    const std::string_view wanted = unquoted(key.substr(equals + 1));
    if (value == nullptr) return false;
    return value->is_string() ? value->as_string() == wanted
                              : value->is_int() && std::to_string(value->as_int()) == wanted;
  });
}

const Value* item_of(const Value& list, std::string_view text) {
  std::size_t index = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (failed == std::errc() && end == text.data() + text.size())
    return index < list.size() ? &list.as_array()[index] : nullptr;
  for (const Value& item : list.as_array())
    if (item.is_object() && is_item(item, text)) return &item;
  return nullptr;
}

const Value* follow(const Value& value, const Step& step) {
  if (value.is_object()) return value.find(step.bracket ? unquoted(step.text) : step.text);
  return value.is_array() && step.bracket ? item_of(value, step.text) : nullptr;
}

}  // namespace

const Value& value_on_path(const Value& object, std::string_view path) {
  const Value* at = &object;
  while (const std::optional<Step> step = next_step(path)) {
    const Value* const next = follow(*at, *step);
    if (next == nullptr) break;
    at = next;
  }
  return *at;
}

SourceLocation place_of_field(const apimachinery::RenderedObject& rendered, std::string_view path) {
  const Value& object = rendered.object.value();
  const Value& value = value_on_path(object, path);
  return &value == &object ? rendered.place() : rendered.place(value.position());
}

Error at_refused_field(Error failure, const apimachinery::RenderedObject& rendered) {
  if (!failure.where) failure.where = place_of_field(rendered, kube::refused_field(failure));
  return failure;
}

}  // namespace mist::apply
