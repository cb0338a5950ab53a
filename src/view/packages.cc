#include "view/packages.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/schema.h"
#include "encoding/yaml.h"
#include "view/table.h"

namespace mist::view {

using encoding::Value;

namespace {

std::string type_of(const Value& schema) {
  const Value* type = schema.find("type");
  std::string text = type == nullptr ? "any" : type->is_string() ? type->as_string() : "several";
  if (const Value* choices = schema.find("enum"); choices != nullptr && choices->is_array())
    text = fmt::format("one of {}", choices->size());
  if (type != nullptr && type->is_string() && type->as_string() == "array") {
    if (const Value* items = schema.find("items")) text = "list of " + type_of(*items);
  }
  return text;
}

// `value` is what the package's own file of values has for it; null: nothing.
std::string default_text(const Value& schema, const Value* value) {
  const Value* fallback = schema.find("default");
  if (fallback == nullptr) fallback = value;
  if (fallback == nullptr || (fallback->is_object() && fallback->size() > 0)) return "";
  std::string text = encoding::to_yaml(*fallback);
  while (text.ends_with('\n')) text.pop_back();
  return text.find('\n') == std::string::npos ? text : "…";
}

void add_inputs(const Value& schema, const Value* values, const std::string& prefix, int depth,
                Table& table) {
  const Value* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object() || depth > 4) return;
  const Value* required = schema.find("required");
  for (const Value::Member& property : properties->as_object()) {
    const bool needed =
        required != nullptr && required->is_array() &&
        std::ranges::find(required->as_array(), Value(property.key)) != required->as_array().end();
    const Value* const value =
        values != nullptr && values->is_object() ? values->find(property.key) : nullptr;
    table.add({{prefix + property.key},
               {type_of(property.value) + (needed ? ", required" : "")},
               {default_text(property.value, value)},
               {std::string(property.value.string_at("description"))}});
    add_inputs(property.value, value, prefix + property.key + ".", depth + 1, table);
  }
}

// Without the schema's.
Value default_values(const package::Metadata& metadata) {
  if (metadata.values_file.empty()) return metadata.defaults;
  // What is wrong with it, rendering says.
  return encoding::parse_yaml(metadata.values_file, {}).value_or(metadata.defaults);
}

}  // namespace

Value package_value(const package::Source& source, const package::Inspection& inspection) {
  Value value = inspection.metadata.to_value();
  return Value::object(
      {{"reference", source.reference},
       {"digest", source.digest},
       {"format", inspection.format},
       {"engine", inspection.engine.empty()
                      ? Value()
                      : Value::object({{"name", inspection.engine}, {"digest", inspection.engine_digest}})},
       {"bytes", inspection.bytes},
       {"metadata", std::move(value)},
       {"ignored",
        Value(Value::Array(inspection.metadata.ignored.begin(), inspection.metadata.ignored.end()))}});
}

std::string package_text(const package::Source& source, const package::Inspection& inspection, bool color) {
  const package::Metadata& metadata = inspection.metadata;
  std::string out;
  const auto line = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) out += fmt::format("{:<13}{}\n", name, escape_controls(text));
  };
  line("Name", metadata.name);
  line("Version", metadata.version);
  line("Description", metadata.description);
  line("Home", metadata.home);
  line("Maintainers", join(metadata.maintainers, ", "));
  line("Reference", source.reference);
  line("Digest", source.digest);
  line("Format", fmt::format("{}, {} bytes", inspection.format, inspection.bytes));
  if (!inspection.engine.empty())
    line("Engine", fmt::format("{} {}", inspection.engine, inspection.engine_digest));
  for (const auto& [key, text] : metadata.labels) line("Label", fmt::format("{}={}", key, text));
  for (const package::Dependency& dependency : metadata.dependencies)
    line("Depends on", fmt::format("{} {} as {}", dependency.package, dependency.version, dependency.name));
  line("Reads", join(metadata.needs_cluster_read, ", "));
  line("Requires", join(metadata.required_features, ", "));
  line("Ignored", join(metadata.ignored, ", "));
  if (metadata.inputs.is_null()) {
    line("Inputs", "the package does not say");
    return out;
  }
  Table table({"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"});
  const Value defaults = default_values(metadata);
  add_inputs(metadata.inputs, &defaults, "", 0, table);
  return out + "\n" + (table.empty() ? "The package takes no inputs.\n" : table.render(color));
}

Value starting_values(const package::Metadata& metadata) {
  Value values = default_values(metadata);
  if (values.is_object()) return values;
  return metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
}

}  // namespace mist::view
