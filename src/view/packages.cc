#include "view/packages.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/schema.h"
#include "encoding/set_path.h"
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

// Null: there is none.
std::string default_text(const Value* value) {
  if (value == nullptr || (value->is_object() && value->size() > 0)) return "";
  std::string text = encoding::to_yaml(*value);
  while (text.ends_with('\n')) text.pop_back();
  return text.find('\n') == std::string::npos ? text : "…";
}

// Inputs that the release itself gives, so that nobody has to.
struct GivenInput {
  std::string_view name, words;
};
constexpr std::array kGivenInputs{GivenInput{"name", "(the release's name)"},
                                  GivenInput{"namespace", "(the release's namespace)"}};

class InputTable {
 public:
  // `values`: what the package has without its user, schema's defaults included.
  InputTable(const Value& values, bool given) : values_(values), given_(given) {}

  void add(const Value& schema) { add(schema, &values_, "", 0); }
  Table take() { return std::move(table_); }

 private:
  // Nothing has to be given for what there is already.
  static bool is_needed(const Value& schema, const std::string& key, const Value* value) {
    const Value* const required = schema.find("required");
    return value == nullptr && required != nullptr && required->is_array() &&
           std::ranges::find(required->as_array(), Value(key)) != required->as_array().end();
  }

  void add(const Value& schema, const Value* values, const std::string& prefix, int depth) {
    const Value* properties = schema.find("properties");
    if (properties == nullptr || !properties->is_object() || depth > 4) return;
    for (const Value::Member& property : properties->as_object()) {
      const Value* const value =
          values != nullptr && values->is_object() ? values->find(property.key) : nullptr;
      const auto* const given = given_ && depth == 0
                                    ? std::ranges::find(kGivenInputs, property.key, &GivenInput::name)
                                    : kGivenInputs.end();
      const bool is_given = given != kGivenInputs.end() && value == nullptr;
      const bool needed = !is_given && is_needed(schema, property.key, value);
      table_.add({{prefix + property.key},
                  {type_of(property.value) + (needed ? ", required" : "")},
                  {is_given ? std::string(given->words) : default_text(value)},
                  {std::string(property.value.string_at("description"))}});
      add(property.value, value, prefix + property.key + ".", depth + 1);
    }
  }

  const Value& values_;
  const bool given_;  // by the release: name and namespace
  Table table_{{"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"}};
};

// Without the schema's.
// Of a module that names it, whether it is here too.
std::string engine_text(const package::Inspection& inspection) {
  const std::string named = fmt::format("{} {}", inspection.engine, inspection.engine_digest);
  if (inspection.engine_here == inspection.engine_digest) return named;
  return inspection.engine_here.empty()
             ? named + ", which this mistctl doesn't have"
             : fmt::format("{}, and this mistctl has {}", named, inspection.engine_here);
}

Value default_values(const package::Metadata& metadata) {
  if (metadata.values_file.empty()) return metadata.defaults;
  // Rendering reports problems of this file.
  return encoding::parse_yaml(metadata.values_file, {}).value_or(metadata.defaults);
}

}  // namespace

Value package_value(const package::Source& source, const package::Inspection& inspection) {
  Value value = inspection.metadata.to_value();
  return Value::object(
      {{"reference", source.reference},
       {"digest", source.digest},
       {"format", inspection.format},
       {"engine", inspection.engine.empty() ? Value()
                                            : Value::object({{"name", inspection.engine},
                                                             {"digest", inspection.engine_digest},
                                                             {"here", inspection.engine_here.empty()
                                                                          ? Value()
                                                                          : Value(inspection.engine_here)}})},
       {"bytes", inspection.bytes},
       {"metadata", std::move(value)},
       {"ignored",
        Value(Value::Array(inspection.metadata.ignored.begin(), inspection.metadata.ignored.end()))}});
}

std::string package_text(const package::Source& source, const package::Inspection& inspection,
                         const PackageEvidence& evidence, bool color) {
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
  line("Signed by", evidence.signers);
  for (const std::string& document : evidence.documents) line("Attached", document);
  line("Format", fmt::format("{}, {} bytes", inspection.format, inspection.bytes));
  if (!inspection.engine.empty()) line("Engine", engine_text(inspection));
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
  Value values = encoding::schema_defaults(metadata.inputs);
  if (const Value own = default_values(metadata); own.is_object()) encoding::merge_into(values, own);
  const std::string_view engine = inspection.engine.empty() ? metadata.engine : inspection.engine;
  InputTable inputs(values, !package::has_chart_values(package::find_engine(engine)));
  inputs.add(metadata.inputs);
  const Table table = inputs.take();
  return out + "\n" + (table.empty() ? "The package takes no inputs.\n" : table.render(color));
}

std::vector<InputKey> input_keys(const package::Metadata& metadata, std::string_view typed) {
  // Down to the mapping that the last key is in.
  const Value* schema = &metadata.inputs;
  Value values = metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
  if (const Value own = default_values(metadata); own.is_object()) encoding::merge_into(values, own);
  const Value* value = &values;
  std::vector<encoding::PathStep> steps;
  const auto dot = typed.rfind('.');
  if (dot != std::string_view::npos && dot > 0) {
    const auto path = encoding::parse_set_path(typed.substr(0, dot));
    if (!path.ok()) return {};
    for (const encoding::PathStep& step : *path) {
      const auto* const key = std::get_if<std::string>(&step);
      schema = key == nullptr ? nullptr : schema->at_path({"properties", *key});
      if (schema == nullptr) return {};
      value = value != nullptr && value->is_object() ? value->find(*key) : nullptr;
    }
    steps = *path;
  }
  std::vector<InputKey> keys;
  const Value* const properties = schema->is_object() ? schema->find("properties") : nullptr;
  if (properties == nullptr || !properties->is_object()) return keys;
  for (const Value::Member& property : properties->as_object()) {
    steps.emplace_back(property.key);
    const Value* const inner = property.value.find("properties");
    const bool is_mapping = inner != nullptr && inner->is_object() && !inner->empty();
    std::string about(property.value.string_at("description"));
    if (about.empty() && !is_mapping) {
      about = default_text(value != nullptr && value->is_object() ? value->find(property.key) : nullptr);
      about = fmt::format("{}{}", type_of(property.value), about.empty() ? "" : fmt::format(", {}", about));
    }
    keys.push_back({encoding::to_string(steps) + (is_mapping ? "." : "="), std::move(about)});
    steps.pop_back();
  }
  return keys;
}

Value starting_values(const package::Metadata& metadata) {
  Value values = default_values(metadata);
  if (values.is_object()) return values;
  return metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
}

}  // namespace mist::view
