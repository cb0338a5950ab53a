#include "kpm/k3.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::kpm {
namespace {

using encoding::Value;

// `values` are the defaults of the templates; the engine reads them.
constexpr std::array<std::string_view, 8> kMembers{"name",    "version",     "home",         "description",
                                                   "details", "maintainers", "dependencies", "values"};
constexpr std::array<std::string_view, 3> kMaintainerMembers{"name", "email", "url"};
constexpr std::array<std::string_view, 3> kDependencyMembers{"name", "version", "repo"};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<K3> read() const {
    MIST_TRY(const Value document, encoding::parse_yaml(text_, {.strict = true, .file = file_}));
    if (!document.is_object()) return wrong(document, "K3.yaml must be an object with name and version");
    MIST_TRY_VOID(check_members(document, kMembers));
    K3 k3;
    MIST_TRY(k3.name, required(document, "name"));
    if (!is_dns1123_label(k3.name))
      return wrong(*document.find("name"), "the name must be lower case letters, digits and '-'");
    MIST_TRY(k3.version, version_of(document));
    MIST_TRY(k3.home, optional(document, "home"));
    MIST_TRY(k3.description, optional(document, "description"));
    if (k3.description.find('\n') != std::string::npos)
      return wrong(*document.find("description"), "the description must be one line")
          .with_hint("the rest fits in details");
    MIST_TRY(k3.details, optional(document, "details"));
    MIST_TRY_VOID(read_maintainers(document, k3));
    MIST_TRY_VOID(read_dependencies(document, k3));
    if (const Value* const values = document.find("values"); values != nullptr && !values->is_object())
      return wrong(*values, "values must be an object");
    return k3;
  }

 private:
  Error wrong(const Value& value, std::string_view message) const {
    const auto [line, column] = value.position();
    SourceLocation where{.file = file_, .line = line, .column = column, .excerpt = {}};
    const auto lines = split(text_, '\n');
    if (line > 0 && line <= lines.size()) where.excerpt = lines[line - 1];
    return error(ErrorKind::Invalid, "{}", escape_controls(message)).at(std::move(where));
  }

  Status check_members(const Value& object, std::span<const std::string_view> known) const {
    for (const auto& [key, value] : object.as_object()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      Error failure = wrong(value, fmt::format("there is no member {}", key));
      const std::string_view suggestion = nearest(key, known);
      if (!suggestion.empty()) failure.hint = fmt::format("did you mean {}?", suggestion);
      return failure;
    }
    return {};
  }

  Result<std::string> optional(const Value& object, std::string_view key) const {
    const Value* const value = object.find(key);
    if (value == nullptr || value->is_null()) return std::string();
    if (!value->is_string())
      return wrong(*value, fmt::format("{} must be text, not {}", key, encoding::kind_name(value->kind())))
          .with_hint("put it between quotes");
    return std::string(trim(value->as_string()));
  }

  Result<std::string> required(const Value& object, std::string_view key) const {
    MIST_TRY(std::string text, optional(object, key));
    if (text.empty()) return wrong(object, fmt::format("{} is missing", key));
    return text;
  }

  Result<encoding::SemVer> version_of(const Value& document) const {
    MIST_TRY(const std::string text, required(document, "version"));
    auto version = encoding::SemVer::parse(text);
    if (version.ok()) return version;
    Error failure = wrong(*document.find("version"),
                          fmt::format("{} is not a SemVer 2 version, such as 1.0.3 or 2.2.0-beta3", text));
    if (text.starts_with('v')) failure.hint = fmt::format("write {}, without the v", text.substr(1));
    return failure;
  }

  Result<const Value::Array*> list(const Value& document, std::string_view key) const {
    static const Value::Array kNone;
    const Value* const value = document.find(key);
    if (value == nullptr || value->is_null()) return &kNone;
    if (!value->is_array()) return wrong(*value, fmt::format("{} must be a list", key));
    return &value->as_array();
  }

  Status read_maintainers(const Value& document, K3& k3) const {
    MIST_TRY(const Value::Array* const list, this->list(document, "maintainers"));
    for (const Value& each : *list) {
      if (each.is_string()) {
        k3.maintainers.push_back(each.as_string());
        continue;
      }
      if (!each.is_object()) return wrong(each, "a maintainer is text, or an object with name and email");
      MIST_TRY_VOID(check_members(each, kMaintainerMembers));
      MIST_TRY(std::string text, required(each, "name"));
      MIST_TRY(std::string address, optional(each, "email"));
      if (address.empty()) {
        MIST_TRY(address, optional(each, "url"));
      }
      k3.maintainers.push_back(address.empty() ? text : fmt::format("{} <{}>", text, address));
    }
    return {};
  }

  Status read_dependencies(const Value& document, K3& k3) const {
    MIST_TRY(const Value::Array* const list, this->list(document, "dependencies"));
    for (const Value& each : *list) {
      if (!each.is_object()) return wrong(each, "a dependency is an object with name and version");
      MIST_TRY_VOID(check_members(each, kDependencyMembers));
      MIST_TRY(std::string name, required(each, "name"));
      if (!is_dns1123_label(name))
        return wrong(*each.find("name"), fmt::format("{} can't be the name of a Kube", name));
      MIST_TRY(std::string text, optional(each, "version"));
      auto range = encoding::SemVerRange::parse(text.empty() ? "*" : text);
      if (!range.ok()) {
        Error failure = wrong(*each.find("version"), range.error().message);
        failure.hint = "for example: 1.9 < x <= 1.10, or ^1.9";
        return failure;
      }
      MIST_TRY(std::string repo, optional(each, "repo"));
      k3.dependencies.push_back({std::move(name), *std::move(range), std::move(repo)});
    }
    return {};
  }

  std::string_view text_;
  const std::string& file_;
};

}  // namespace

bool is_preferred(const encoding::SemVer& version, const encoding::SemVer& over) {
  const bool is_release = version.prerelease.empty();
  return is_release == over.prerelease.empty() ? over < version : is_release;
}

std::string k3_text(const K3& k3) {
  Value document = Value::object({{"name", Value(k3.name)}, {"version", Value(k3.version.to_string())}});
  for (const auto& [key, text] : {std::pair("home", k3.home), std::pair("description", k3.description),
                                  std::pair("details", k3.details)})
    if (!text.empty()) document.set(key, Value(text));
  if (!k3.maintainers.empty())
    document.set("maintainers", Value(Value::Array(k3.maintainers.begin(), k3.maintainers.end())));
  Value dependencies{Value::Array{}};
  for (const Dependency& each : k3.dependencies) {
    Value entry = Value::object({{"name", Value(each.name)}, {"version", Value(each.range.text())}});
    if (!each.repo.empty()) entry.set("repo", Value(each.repo));
    dependencies.push_back(std::move(entry));
  }
  if (!dependencies.empty()) document.set("dependencies", std::move(dependencies));
  return encoding::to_yaml(document);
}

Result<K3> parse_k3(std::string_view text, const std::string& file) { return Reader(text, file).read(); }

}  // namespace mist::kpm
