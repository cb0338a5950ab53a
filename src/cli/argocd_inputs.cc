#include "cli/argocd_inputs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "encoding/json.h"
#include "encoding/schema.h"
#include "encoding/set_path.h"
#include "view/packages.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr int kDeepest = 5;  // keys of a name; deeper inputs are for values files
constexpr std::array kOwnNames{kArgoPackage, kArgoValues, kArgoSet};
// The release gives them to packages that aren't charts.
constexpr std::array<std::string_view, 2> kGivenNames{"name", "namespace"};

bool is_scalar(const Value& value) { return value.is_string() || value.is_number() || value.is_bool(); }

ArgoItem item_of(const Value& scalar) {
  if (scalar.is_bool()) return ArgoItem::Boolean;
  return scalar.is_number() ? ArgoItem::Number : ArgoItem::Text;
}

// The type that a schema names, the first one besides "null" of several; empty: none.
std::string_view type_of_schema(const Value* schema) {
  const Value* const type = schema == nullptr ? nullptr : schema->find("type");
  if (type == nullptr) return {};
  if (type->is_string()) return type->as_string();
  if (!type->is_array()) return {};
  for (const Value& each : type->as_array())
    if (each.is_string() && each.as_string() != "null") return each.as_string();
  return {};
}

// Nothing: values of that type are no single texts.
std::optional<ArgoItem> item_of_type(std::string_view type) {
  if (type == "string") return ArgoItem::Text;
  if (type == "integer" || type == "number") return ArgoItem::Number;
  if (type == "boolean") return ArgoItem::Boolean;
  return std::nullopt;
}

// Of values in a list or a map; nothing: they aren't all scalars of one type, or nobody says what they are.
std::optional<ArgoItem> item_of_all(const std::vector<const Value*>& values) {
  std::optional<ArgoItem> item;
  for (const Value* each : values) {
    if (!is_scalar(*each)) return std::nullopt;
    if (item && *item != item_of(*each)) return ArgoItem::Any;
    item = item_of(*each);
  }
  return item;
}

const Value* member(const Value* object, std::string_view key) {
  return object == nullptr ? nullptr : object->find(key);
}

bool is_required(const Value* schema, const std::string& key) {
  const Value* const required = member(schema, "required");
  return required != nullptr && required->is_array() &&
         std::ranges::find(required->as_array(), Value(key)) != required->as_array().end();
}

class Inputs {
 public:
  explicit Inputs(bool chart) : chart_(chart) {}

  void add_members(const Value* schema, const Value* values, const std::vector<encoding::PathStep>& path) {
    std::vector<std::string> keys;
    std::set<std::string> seen;
    for (const Value* each : {member(schema, "properties"), values}) {
      if (each == nullptr || !each->is_object()) continue;
      for (const Value::Member& one : each->as_object())
        if (seen.insert(one.key).second) keys.push_back(one.key);
    }
    for (const std::string& key : keys) {
      if (path.empty() && std::ranges::find(kOwnNames, key) != kOwnNames.end()) continue;
      const Value* const own_schema = member(member(schema, "properties"), key);
      const Value* const value = member(values, key);
      if (path.empty() && !chart_ && value == nullptr &&
          std::ranges::find(kGivenNames, key) != kGivenNames.end())
        continue;
      std::vector<encoding::PathStep> own_path = path;
      own_path.emplace_back(key);
      add(own_schema, value, own_path, value == nullptr && is_required(schema, key));
    }
  }

  std::vector<ArgoInput> take() { return std::move(inputs_); }

 private:
  void add(const Value* schema, const Value* value, const std::vector<encoding::PathStep>& path,
           bool required) {
    if (value != nullptr && value->is_null()) value = nullptr;
    const Value* const properties = member(schema, "properties");
    const bool declares = properties != nullptr && properties->is_object() && !properties->empty();
    const Value* const others = member(schema, "additionalProperties");
    const bool is_map = others != nullptr && others->is_object() && !declares;
    const bool is_default_object = value != nullptr && value->is_object() && !value->empty();
    if (declares || (is_default_object && !is_map)) {
      if (path.size() < kDeepest) add_members(schema, value, path);
      return;
    }
    std::optional<ArgoCollection> collection;
    std::optional<ArgoItem> item;
    std::string_view type = type_of_schema(schema);
    if (type.empty() && value != nullptr)
      type = value->is_object() ? "object" : value->is_array() ? "array" : "";
    if (type == "array") {
      collection = ArgoCollection::List;
      item = item_of_type(type_of_schema(member(schema, "items")));
      if (!item && member(member(schema, "items"), "type") == nullptr) item = items_of_list(value);
    } else if (type == "object") {
      collection = ArgoCollection::Map;
      item = item_of_type(type_of_schema(others));
      if (!item && member(others, "type") == nullptr) item = items_of_map(value);
    } else if (type.empty()) {
      // A reference says elsewhere what it is.
      if (value != nullptr || member(schema, "$ref") == nullptr) collection = ArgoCollection::One;
      item = value == nullptr ? ArgoItem::Any : item_of(*value);
    } else {
      collection = ArgoCollection::One;
      item = item_of_type(type);
    }
    if (!collection || !item) return;
    // A default of another form than the schema's is an error that the package's author is told of.
    const bool fits = value != nullptr && (*collection == ArgoCollection::One    ? is_scalar(*value)
                                           : *collection == ArgoCollection::List ? value->is_array()
                                                                                 : value->is_object());
    ArgoInput input;
    input.name = encoding::to_string(path);
    if (schema != nullptr) {
      input.title = schema->string_at("title");
      input.description = schema->string_at("description");
    }
    input.required = required;
    input.collection = *collection;
    input.item = *item;
    if (fits) input.fallback = *value;
    inputs_.push_back(std::move(input));
  }

  static std::optional<ArgoItem> items_of_list(const Value* value) {
    std::vector<const Value*> items;
    if (value != nullptr && value->is_array())
      for (const Value& each : value->as_array()) items.push_back(&each);
    return item_of_all(items);
  }
  static std::optional<ArgoItem> items_of_map(const Value* value) {
    std::vector<const Value*> items;
    if (value != nullptr && value->is_object())
      for (const Value::Member& each : value->as_object()) items.push_back(&each.value);
    return item_of_all(items);
  }

  const bool chart_;
  std::vector<ArgoInput> inputs_;
};

std::string text_of(const Value& scalar) {
  return scalar.is_string() ? scalar.as_string() : encoding::to_json(scalar);
}

std::string_view name_of(ArgoItem item) {
  switch (item) {
    case ArgoItem::Number:
      return "number";
    case ArgoItem::Boolean:
      return "boolean";
    case ArgoItem::Any:
    case ArgoItem::Text:
      break;
  }
  return "string";
}

std::string_view name_of(ArgoCollection collection) {
  switch (collection) {
    case ArgoCollection::List:
      return "array";
    case ArgoCollection::Map:
      return "map";
    case ArgoCollection::One:
      break;
  }
  return "string";
}

Value texts_of(const Value& fallback) {
  if (is_scalar(fallback)) return text_of(fallback);
  Value texts = fallback.is_array() ? Value::array() : Value::object();
  if (fallback.is_array())
    for (const Value& each : fallback.as_array()) texts.push_back(text_of(each));
  else
    for (const Value::Member& each : fallback.as_object()) texts.set(each.key, text_of(each.value));
  return texts;
}

}  // namespace

std::vector<ArgoInput> argo_inputs(const package::Metadata& metadata, bool chart) {
  Value values = metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
  if (const Value own = view::starting_values(metadata); own.is_object()) encoding::merge_into(values, own);
  Inputs inputs(chart);
  inputs.add_members(metadata.inputs.is_object() ? &metadata.inputs : nullptr, &values, {});
  return inputs.take();
}

Value to_announcement(const ArgoInput& input) {
  Value announcement = Value::object({{"name", input.name}});
  if (!input.title.empty()) announcement.set("title", input.title);
  if (!input.description.empty()) announcement.set("tooltip", input.description);
  if (input.required) announcement.set("required", true);
  announcement.set("itemType", name_of(input.item));
  announcement.set("collectionType", name_of(input.collection));
  if (!input.fallback.is_null()) announcement.set(name_of(input.collection), texts_of(input.fallback));
  return announcement;
}

Value static_announcements() {
  const auto announcement = [](std::string_view name, std::string_view title, std::string_view tooltip,
                               ArgoCollection collection) {
    return to_announcement({.name = std::string(name),
                            .title = std::string(title),
                            .description = std::string(tooltip),
                            .collection = collection,
                            .item = ArgoItem::Text,
                            .fallback = {}});
  };
  return Value::array(
      {announcement(kArgoPackage, "Package",
                    "Package to render instead of the Application's directory: a path in the repository that "
                    "begins with ./ or ../, or a reference that the plugin's administrator allows",
                    ArgoCollection::One),
       announcement(kArgoValues, "Values files",
                    "Files in the repository, relative to the Application's directory; later files win",
                    ArgoCollection::List),
       announcement(kArgoSet, "Values", "Single values, as with --set: image.tag is 1.2",
                    ArgoCollection::Map)});
}

}  // namespace mist::cli
