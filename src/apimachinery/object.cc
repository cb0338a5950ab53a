#include "apimachinery/object.h"

#include <algorithm>
#include <iterator>

namespace mist::apimachinery {

using encoding::Value;

std::string ObjectKey::display() const {
  // An object that the server names, or that has no name (a review), is shown as its kind only.
  if (name.empty() && ns.empty()) return group_kind.kind;
  std::string text = group_kind.kind + " ";
  if (!ns.empty()) text += ns + "/";
  return text + name;
}

namespace {

Error invalid_at(const Value& value, std::string message) {
  Error failure = error(ErrorKind::Invalid, "{}", message);
  if (value.position().line != 0)
    failure.where = SourceLocation{
        .file = {}, .line = value.position().line, .column = value.position().column, .excerpt = {}};
  return failure;
}

// "an integer", "a string", "null".
std::string kind_words(Value::Kind kind) {
  if (kind == Value::Kind::Null) return "null";
  const std::string_view name = encoding::kind_name(kind);
  const bool vowel = std::string_view("aeiou").find(name.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", name);
}

// metadata.labels and metadata.annotations are maps of strings; anything else the API server refuses late and
// darkly.
Status check_string_map(const Value& metadata, std::string_view field, std::string_view kind) {
  const Value* map = metadata.find(field);
  if (map == nullptr || map->is_null()) return {};
  if (!map->is_object())
    return invalid_at(*map, fmt::format("metadata.{} of the {} must be a mapping, it is {}", field, kind,
                                        kind_words(map->kind())));
  for (const Value::Member& member : map->as_object()) {
    if (!member.value.is_string() && !member.value.is_null())
      return invalid_at(
          member.value,
          fmt::format("metadata.{}.{} of the {} must be a string, it is {}{}", field, member.key, kind,
                      kind_words(member.value.kind()),
                      member.value.is_object() || member.value.is_array() ? "" : ": put it in quotes"));
  }
  return {};
}

}  // namespace

Result<Object> Object::from_value(Value value) {
  if (!value.is_object())
    return invalid_at(
        value, fmt::format("a Kubernetes object must be a mapping, this is {}", kind_words(value.kind())));
  const std::string_view kind = value.string_at("kind");
  if (kind.empty()) return invalid_at(value, "an object has no kind");
  auto gvk = GroupVersionKind::parse(value.string_at("apiVersion"), kind);
  if (!gvk) return invalid_at(value, gvk.error().message);
  const Value* metadata = value.find("metadata");
  if (metadata == nullptr || !metadata->is_object())
    return invalid_at(value, fmt::format("a {} has no metadata", kind));
  const Value* name = metadata->find("name");
  if (name == nullptr || !name->is_string() || name->as_string().empty()) {
    if (metadata->find("generateName") != nullptr)
      return invalid_at(
          *metadata,
          fmt::format("a {} has generateName but no name: what a release owns needs a fixed name", kind));
    // Most of them are a release's name that a template has written without quotes.
    if (name != nullptr && !name->is_string())
      return invalid_at(*name, fmt::format("metadata.name of a {} must be a string, it is {}", kind,
                                           kind_words(name->kind())))
          .with_hint(
              "put it in quotes in the package; without them YAML reads y, yes, on, n, no, off, true, false, "
              "null and digits as something else, so another release name helps too");
    return invalid_at(*metadata, fmt::format("a {} has no metadata.name", kind));
  }
  // IsValidPathSegmentName in apimachinery: in a URL they would mean another path.
  const auto is_path = [](std::string_view text) { return text == "." || text == ".."; };
  if (is_path(name->as_string()))
    return invalid_at(*name, fmt::format("metadata.name of a {} may not be '{}'", kind, name->as_string()));
  const Value* ns = metadata->find("namespace");
  if (ns != nullptr && ns->is_string() && is_path(ns->as_string()))
    return invalid_at(*ns, fmt::format("metadata.namespace of {} {} may not be '{}'", kind, name->as_string(),
                                       ns->as_string()));
  if (ns != nullptr && !ns->is_string() && !ns->is_null())
    return invalid_at(*ns,
                      fmt::format("metadata.namespace of {} {} must be a string", kind, name->as_string()));
  MIST_TRY_VOID(check_string_map(*metadata, "labels", kind));
  MIST_TRY_VOID(check_string_map(*metadata, "annotations", kind));
  return Object(*std::move(gvk), std::move(value));
}

bool is_terminating(const Value& live) {
  const Value* stamp = live.at_path({"metadata", "deletionTimestamp"});
  return stamp != nullptr && !stamp->is_null();
}

bool has_finalizers(const Value& live) {
  const Value* const all = live.at_path({"metadata", "finalizers"});
  return all != nullptr && all->is_array() && !all->empty();
}

ObjectKey Object::key() const { return {gvk_.group_kind(), std::string(ns()), std::string(name())}; }

Result<std::vector<Value>> flatten_lists(std::vector<Value> documents) {
  std::vector<Value> flat;
  for (Value& document : documents) {
    Value* items = document.find("items");
    const bool list = items != nullptr && items->is_array() && document.string_at("kind").ends_with("List");
    if (!list) {
      flat.push_back(std::move(document));
      continue;
    }
    MIST_TRY(std::vector<Value> inner, flatten_lists(std::move(items->as_array())));
    std::ranges::move(inner, std::back_inserter(flat));
  }
  return flat;
}

GroupKind defined_kind(const encoding::Value& definition) {
  return {std::string(definition.string_at({"spec", "group"})),
          std::string(definition.string_at({"spec", "names", "kind"}))};
}

}  // namespace mist::apimachinery
