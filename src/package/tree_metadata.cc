#include "package/tree_metadata.h"

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

const std::string* file_of(const Files& files, std::string_view name) {
  const auto found = files.find(std::string(name));
  return found == files.end() ? nullptr : &found->second;
}

Result<Value> parse(const std::string& text, std::string_view file) {
  encoding::YamlOptions options;
  options.file = file;
  return encoding::parse_yaml(text, options);
}

// Helm itself says what is wrong with a chart, and better: here only what is there is taken.
Value parsed_or_null(const std::string& text, std::string_view file) {
  return parse(text, file).value_or(Value());
}

// Chart.yaml and K3.yaml have these members in common.
Metadata described_in(const std::string& text, std::string_view file) {
  const Value chart = parsed_or_null(text, file);
  Metadata metadata;
  if (!chart.is_object()) return metadata;
  metadata.name = chart.string_at("name");
  metadata.version = chart.string_at("version");
  metadata.description = chart.string_at("description");
  metadata.home = chart.string_at("home");
  const Value* const maintainers = chart.find("maintainers");
  if (maintainers != nullptr && maintainers->is_array()) {
    for (const Value& each : maintainers->as_array()) {
      if (each.is_string()) metadata.maintainers.push_back(each.as_string());
      if (!each.is_object() || each.string_at("name").empty()) continue;
      const std::string_view email = each.string_at("email");
      metadata.maintainers.push_back(email.empty() ? std::string(each.string_at("name"))
                                                   : fmt::format("{} <{}>", each.string_at("name"), email));
    }
  }
  return metadata;
}

// The defaults that engines lay under the user's values: K3.yaml's, over them those of values.yaml.
Result<Value> defaults_of(const Files& files) {
  Value defaults;
  if (const std::string* const text = file_of(files, kKpmFile)) {
    MIST_TRY(const Value document, parse(*text, kKpmFile));
    const Value* const values = document.is_object() ? document.find("values") : nullptr;
    if (values != nullptr && values->is_object()) defaults = *values;
  }
  if (const std::string* const text = file_of(files, kValuesFile)) {
    MIST_TRY(Value values, parse(*text, kValuesFile));
    if (!values.is_object()) return defaults;
    if (!defaults.is_object()) return values;
    encoding::merge_into(defaults, values);
  }
  return defaults;
}

}  // namespace

Result<std::optional<Metadata>> declared_metadata(const Files& files) {
  const std::string* const text = file_of(files, kPackageFile);
  if (text == nullptr) return std::optional<Metadata>();
  MIST_TRY(const Value document, parse(*text, kPackageFile));
  if (!document.is_object() || document.string_at("kind") != "MistPackage") return std::optional<Metadata>();
  MIST_TRY(Metadata metadata, Metadata::parse(document, kPackageFile));
  return std::optional(std::move(metadata));
}

Result<Metadata> tree_metadata(const Files& files, const EngineKind* engine, std::string_view name,
                               std::string_view version) {
  MIST_TRY(std::optional<Metadata> declared, declared_metadata(files));
  const bool is_chart = has_chart_values(engine);
  Metadata metadata;
  if (declared) {
    metadata = *std::move(declared);
  } else if (const std::string* const chart = file_of(files, kChartFile); chart != nullptr && is_chart) {
    metadata = described_in(*chart, kChartFile);
  } else if (const std::string* const k3 = file_of(files, kKpmFile); k3 != nullptr && !is_chart) {
    metadata = described_in(*k3, kKpmFile);
  }
  if (metadata.name.empty()) metadata.name = name;
  if (metadata.version.empty()) metadata.version = version;
  if (const std::string* const schema = file_of(files, kSchemaFile);
      schema != nullptr && engine != nullptr && metadata.inputs.is_null()) {
    if (is_chart) {
      metadata.inputs = parsed_or_null(*schema, kSchemaFile);
    } else {
      MIST_TRY(metadata.inputs, parse(*schema, kSchemaFile));
    }
  }
  const std::string* const values = file_of(files, kValuesFile);
  const bool reads_them = is_chart || (engine != nullptr && engine->values == EngineValues::Input);
  if (values != nullptr && reads_them && is_valid_utf8(*values)) metadata.values_file = *values;
  if (engine != nullptr && engine->values == EngineValues::Input) {
    MIST_TRY(metadata.defaults, defaults_of(files));
  }
  return metadata;
}

}  // namespace mist::package
