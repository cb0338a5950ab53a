// Rules on the files of a package, before anything is rendered.

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/text.h"
#include "encoding/schema.h"
#include "encoding/semver.h"
#include "encoding/yaml.h"
#include "package/lint.h"
#include "package/lint_hooks.h"
#include "package/subcharts.h"
#include "package/test_case.h"
#include "package/tree_metadata.h"

namespace mist::package {
namespace {

// Files whose text may name a value.
constexpr std::array<std::string_view, 10> kTemplateEndings{".yaml", ".yml",   ".json",   ".tpl", ".txt",
                                                            ".j2",   ".jinja", ".jinja2", ".hbs", ".tmpl"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

class FileLint {
 public:
  FileLint(const Files& files, const EngineKind* engine) : files_(files), engine_(engine) {}

  std::vector<Finding> run(ChartSchema schema) {
    const bool chart = has_chart_values(engine_);
    read_metadata(chart);
    if (engine_ != nullptr) values_ = parsed(kValuesFile, "defaults");
    if (engine_ != nullptr && !(chart && schema == ChartSchema::Ignored)) compare_with_schema();
    if (engine_ != nullptr) templates();
    return std::move(found_);
  }

 private:
  void add(std::string_view rule, std::string_view file, const Value* at, std::string message) {
    found_.push_back(
        finding(rule, std::string(file), at == nullptr ? 0 : at->position().line, std::move(message)));
  }

  const std::string* text_of(std::string_view name) const {
    const auto found = files_.find(std::string(name));
    return found == files_.end() ? nullptr : &found->second;
  }

  // Null if it isn't there, or can't be parsed: then that is the finding.
  Value parsed(std::string_view name, std::string_view rule) {
    const std::string* const text = text_of(name);
    if (text == nullptr) return nullptr;
    encoding::YamlOptions options;
    options.file = name;
    options.on_warning = [&](const SourceLocation& where, std::string words) {
      found_.push_back(finding("key", where.file, where.line, std::move(words)));
    };
    auto value = encoding::parse_yaml(*text, options);
    if (value.ok()) return *std::move(value);
    found_.push_back(finding_of(rule, value.error(), ""));
    return nullptr;
  }

  void read_metadata(bool chart) {
    const auto declared = declared_metadata(files_);
    if (!declared.ok()) {
      Finding bad = finding_of("metadata", declared.error(), "");
      if (bad.file.empty()) bad.file = kPackageFile;
      found_.push_back(std::move(bad));
    } else if (*declared) {
      version(kPackageFile, nullptr, (*declared)->version);
      if ((*declared)->description.empty())
        add("description", kPackageFile, nullptr, "spec.description is missing: nobody sees what it is");
      for (const std::string& unknown : (*declared)->ignored)
        add("metadata", kPackageFile, nullptr, fmt::format("{} is unknown, and ignored", unknown));
      inputs_ = (*declared)->inputs;
      inputs_file_ = kPackageFile;
    }
    if (chart) chart_file();
    if (declared.ok() && !*declared && text_of(kPackageFile) != nullptr)
      add("metadata", kPackageFile, nullptr,
          "it is ignored, with name, version and dependencies: it has no kind: MistPackage");
    else if (!chart && declared.ok() && !*declared && text_of(kKpmFile) == nullptr)
      add("no-metadata", {}, nullptr,
          fmt::format("there is no {}, so it has no version and no description", kPackageFile));
  }

  void version(std::string_view file, const Value* at, std::string_view text) {
    if (text.empty())
      add("version", file, at, "the version is missing");
    else if (!encoding::SemVer::parse(text).ok())
      add("version", file, at, fmt::format("the version \"{}\" is not a SemVer such as 1.2.3", text));
  }

  void chart_file() {
    const Value chart = parsed(kChartFile, "metadata");
    if (!chart.is_object()) return;
    const std::string_view api = chart.string_at("apiVersion");
    if (api != "v1" && api != "v2")
      add("metadata", kChartFile, chart.find("apiVersion"),
          fmt::format("apiVersion must be v2 (or v1), is \"{}\"", api));
    if (chart.string_at("name").empty())
      add("metadata", kChartFile, chart.find("name"), "the name is missing");
    const Value* const number = chart.find("version");
    if (number != nullptr && number->is_number())
      add("version", kChartFile, number, "the version is a number, no SemVer such as 1.2.3");
    else
      version(kChartFile, number, chart.string_at("version"));
    if (chart.string_at("description").empty())
      add("description", kChartFile, nullptr, "the description is missing");
    if (chart.string_at("icon").empty()) add("chart-icon", kChartFile, nullptr, "there is no icon");
    const std::string_view type = chart.string_at("type");
    library_ = type == "library";
    if (!type.empty() && type != "application" && !library_)
      add("metadata", kChartFile, chart.find("type"),
          fmt::format("type must be application or library, is \"{}\"", type));
    if (const Value* const app = chart.find("appVersion");
        app != nullptr && !app->is_string() && !app->is_null())
      add("metadata", kChartFile, app, "appVersion must be a text: put it in quotes");
    if (const Value* const people = chart.find("maintainers"); people != nullptr && people->is_array()) {
      for (const Value& each : people->as_array()) {
        if (each.string_at("name").empty()) add("metadata", kChartFile, &each, "a maintainer has no name");
      }
    }
    dependencies(chart);
  }

  void dependencies(const Value& chart) {
    const Value* const list = chart.find("dependencies");
    if (list == nullptr || !list->is_array()) return;
    const std::vector<std::string> missing = missing_subcharts(files_);
    for (const Value& each : list->as_array()) {
      const std::string name(each.string_at("name"));
      subcharts_.insert(name);
      subcharts_.emplace(each.string_at("alias"));
      if (each.find("tags") != nullptr) for_dependencies_.emplace("tags");
      for (const std::string_view condition : split(each.string_at("condition"), ','))
        for_dependencies_.emplace(trim(condition));
      if (std::ranges::find(missing, name) != missing.end())
        add("dependency", kChartFile, &each,
            fmt::format("the dependency {} isn't in charts/: mistctl dependency build fetches it", name));
    }
  }

  void compare_with_schema() {
    if (text_of(kSchemaFile) != nullptr && inputs_.is_null()) {
      inputs_ = parsed(kSchemaFile, "schema");
      inputs_file_ = kSchemaFile;
    }
    if (inputs_.is_null()) {
      if (values_.size() > 0)
        add("no-schema", kValuesFile, nullptr,
            fmt::format("no {} describes the values: typing errors in them go unnoticed", kSchemaFile));
      return;
    }
    const auto schema = encoding::Schema::compile(inputs_);
    if (!schema.ok()) {
      Finding bad = finding_of("schema", schema.error(), "");
      if (bad.file.empty()) bad.file = inputs_file_;
      found_.push_back(std::move(bad));
      return;
    }
    if (values_.is_object()) {
      for (const encoding::SchemaIssue& issue : schema->validate(values_))
        found_.push_back(finding("defaults", std::string(kValuesFile),
                                 encoding::line_at(values_, issue.fault()), issue.message));
      undescribed(values_, inputs_, "");
    } else if (text_of(kValuesFile) == nullptr) {
      // A value that the user has to give isn't wrong; a default that doesn't fit its own schema is.
      for (const encoding::SchemaIssue& issue : schema->validate(encoding::schema_defaults(inputs_))) {
        if (!issue.schema_path.ends_with("/required") && !issue.instance_path.empty())
          add("defaults", inputs_file_, nullptr, issue.message);
      }
    }
  }

  // A schema that forbids other members makes an issue of its own.
  void undescribed(const Value& values, const Value& schema, const std::string& path) {
    const Value* const properties = schema.find("properties");
    if (properties == nullptr || !properties->is_object() || !values.is_object()) return;
    const Value* const others = schema.find("additionalProperties");
    const bool closed = others != nullptr && others->is_bool() && !others->as_bool();
    const bool open = (others != nullptr && others->is_object()) ||
                      schema.find("patternProperties") != nullptr || schema.find("allOf") != nullptr ||
                      schema.find("$ref") != nullptr;
    for (const Value::Member& member : values.as_object()) {
      const std::string here = path.empty() ? member.key : fmt::format("{}.{}", path, member.key);
      if (const Value* const property = properties->find(member.key); property != nullptr)
        undescribed(member.value, *property, here);
      else if (!closed && !open && !subcharts_.contains(member.key) && member.key != "global")
        add("undescribed", kValuesFile, &member.value, fmt::format("{} isn't in the schema", here));
    }
  }

  // All that may use values, as one text.
  void templates() {
    for (const auto& [path, text] : files_) {
      const bool known = std::ranges::any_of(kTemplateEndings,
                                             [&](std::string_view ending) { return path.ends_with(ending); });
      const bool data = path == kValuesFile || path == kSchemaFile || path == kChartFile ||
                        path == kPackageFile || is_test_file(path) || path.starts_with("crds/");
      // Sub-charts see the values below their name, and `global`.
      if (known && !data) (path.starts_with("charts/") ? below_ : all_) += text + "\n";
    }
    if (values_.is_object()) unused(values_, "");
    if (!has_chart_values(engine_)) return;
    if (!library_) unused_defines();
    for (const auto& [path, text] : files_) {
      if (path.starts_with("templates/")) hooks(path, text);
    }
  }

  // `"helm.sh/hook": pre-install,post-upgrade`, as charts write it: a line of its own, without a template
  // inside.
  void hooks(const std::string& path, const std::string& text) {
    std::uint32_t line = 0;
    for (const std::string_view each : split(text, '\n')) {
      ++line;
      const std::string_view whole = trim(each);
      const auto colon = whole.find(": ");
      if (colon == whole.npos || whole.find("{{") != whole.npos) continue;
      const std::string_view key = unquoted(whole.substr(0, colon));
      if (std::ranges::find(kHookAnnotations, key) == kHookAnnotations.end()) continue;
      std::string_view value = whole.substr(colon + 2);
      value = unquoted(trim(value.substr(0, value.find(" #"))));
      for (std::string& wrong : wrong_hook_words(key, value))
        found_.push_back(finding("hook", path, line, std::move(wrong)));
    }
  }

  static std::string_view unquoted(std::string_view text) {
    const bool quoted =
        text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
  }

  // How the word stands in the templates: not at all, only before ".member", or by itself too.
  enum class Use : std::uint8_t { None, Members, Whole };
  static Use use_of(std::string_view text, std::string_view word) {
    Use use = Use::None;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
      const bool member = end + 1 < text.size() && text[end] == '.' && is_word(text[end + 1]);
      if (!member) return Use::Whole;
      use = Use::Members;
    }
    return use;
  }

  // A search for words: what is used by another name (a loop over all values) is taken for unused, hence only
  // worth a look.
  void unused(const Value& values, const std::string& path) {
    for (const Value::Member& member : values.as_object()) {
      const std::string here = path.empty() ? member.key : fmt::format("{}.{}", path, member.key);
      if (path.empty() && (member.key == "global" || subcharts_.contains(member.key))) continue;
      if (for_dependencies_.contains(here)) continue;
      const Use use = use_of(all_, member.key);
      const auto below = for_dependencies_.lower_bound(here + ".");
      const bool leads_to_condition = below != for_dependencies_.end() && below->starts_with(here + ".");
      if (use == Use::None && !leads_to_condition)
        add("unused-value", kValuesFile, &member.value, fmt::format("no template seems to use {}", here));
      else if (use != Use::Whole && member.value.is_object())
        unused(member.value, here);
    }
  }

  void unused_defines() {
    constexpr std::string_view kDefine = "define \"";
    const std::string everything = all_ + below_;
    for (const auto& [path, text] : files_) {
      if (!path.starts_with("templates/")) continue;
      std::uint32_t line = 0;
      for (const std::string_view each : split(text, '\n')) {
        ++line;
        const auto at = each.find(kDefine);
        if (at == each.npos) continue;
        const std::string_view rest = each.substr(at + kDefine.size());
        const std::string quoted = fmt::format("\"{}\"", rest.substr(0, rest.find('"')));
        std::size_t uses = 0;
        for (auto use = everything.find(quoted); use != everything.npos;
             use = everything.find(quoted, use + 1))
          if (!std::string_view(everything).substr(0, use).ends_with("define ")) ++uses;
        if (uses == 0)
          found_.push_back(
              finding("unused-template", path, line, fmt::format("nothing includes {}", quoted)));
      }
    }
  }

  const Files& files_;
  const EngineKind* engine_;
  std::vector<Finding> found_;
  Value inputs_;
  std::string_view inputs_file_;
  Value values_;
  std::string all_, below_;  // texts of templates, and of those of sub-charts
  std::set<std::string, std::less<>> subcharts_;
  std::set<std::string, std::less<>> for_dependencies_;  // values that say which sub-charts there are
  bool library_ = false;
};

}  // namespace

std::vector<Finding> lint_files(const Files& files, const EngineKind* engine, ChartSchema schema) {
  return FileLint(files, engine).run(schema);
}

}  // namespace mist::package
