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

// More of them tell an author nothing new.
constexpr std::size_t kMostFaults = 100;
constexpr std::size_t kMostNamed = 20;  // in one error

// Reads all of it whatever is wrong with a part: a wrong part is a fault, and counts as absent.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(text), lines_(split(text, '\n')), file_(file) {}

  K3 read() {
    K3 k3;
    auto document = encoding::parse_yaml(text_, {.strict = true, .file = file_});
    if (!document.ok()) {
      faults_.push_back(std::move(document).error());
    } else if (!document->is_object()) {
      wrong(*document, "K3.yaml must be an object with name and version");
    } else {
      read_members(*document, k3);
    }
    return k3;
  }

  /// In the order of their lines.
  std::vector<Error> take_faults() {
    std::ranges::stable_sort(faults_, {}, [](const Error& each) {
      return each.where ? std::pair(each.where->line, each.where->column) : std::pair(0U, 0U);
    });
    return std::move(faults_);
  }

 private:
  void read_members(const Value& document, K3& k3) {
    check_members(document, kMembers);
    k3.name = required(document, "name");
    if (!k3.name.empty() && !is_dns1123_label(k3.name))
      wrong(*document.find("name"), "the name must be lower case letters, digits and '-'");
    k3.version = version_of(document);
    k3.home = optional(document, "home");
    k3.description = optional(document, "description");
    if (k3.description.find('\n') != std::string::npos)
      wrong(*document.find("description"), "the description must be one line", "the rest fits in details");
    k3.details = optional(document, "details");
    read_maintainers(document, k3);
    read_dependencies(document, k3);
    if (const Value* const values = document.find("values"); values != nullptr && !values->is_object())
      wrong(*values, "values must be an object");
  }

  void wrong(const Value& value, std::string_view message, std::string hint = {}) {
    if (faults_.size() >= kMostFaults) return;
    const auto [line, column] = value.position();
    SourceLocation where{.file = file_, .line = line, .column = column, .excerpt = {}};
    if (line > 0 && line <= lines_.size()) where.excerpt = lines_[line - 1];
    faults_.push_back(error(ErrorKind::Invalid, "{}", escape_controls(message))
                          .at(std::move(where))
                          .with_hint(std::move(hint)));
  }

  void check_members(const Value& object, std::span<const std::string_view> known) {
    for (const auto& [key, value] : object.as_object()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      const std::string_view suggestion = nearest(key, known);
      wrong(value, fmt::format("there is no member {}", key),
            suggestion.empty() ? std::string() : fmt::format("did you mean {}?", suggestion));
    }
  }

  std::string text_of(const Value& value, std::string_view key) {
    if (value.is_null()) return {};
    if (value.is_string()) return std::string(trim(value.as_string()));
    wrong(value, fmt::format("{} must be text, not {}", key, encoding::kind_name(value.kind())),
          "put it between quotes");
    return {};
  }

  std::string optional(const Value& object, std::string_view key) {
    const Value* const value = object.find(key);
    return value == nullptr ? std::string() : text_of(*value, key);
  }

  // Empty: that is a fault.
  std::string required(const Value& object, std::string_view key) {
    const Value* const value = object.find(key);
    std::string text = value == nullptr ? std::string() : text_of(*value, key);
    const bool is_missing = value == nullptr || value->is_null() || value->is_string();
    if (text.empty() && is_missing) wrong(object, fmt::format("{} is missing", key));
    return text;
  }

  encoding::SemVer version_of(const Value& document) {
    const std::string text = required(document, "version");
    if (text.empty()) return {};
    auto version = encoding::SemVer::parse(text);
    if (version.ok()) return *std::move(version);
    const auto meant = encoding::SemVer::parse_lenient(text);
    wrong(*document.find("version"),
          fmt::format("{} is not a SemVer 2 version, such as 1.0.3 or 2.2.0-beta3", text),
          meant.ok() && text.starts_with('v') ? fmt::format("write {}, without the v", meant->to_string())
                                              : std::string());
    return {};
  }

  const Value::Array& list(const Value& document, std::string_view key) {
    static const Value::Array kNone;
    const Value* const value = document.find(key);
    if (value == nullptr || value->is_null()) return kNone;
    if (value->is_array()) return value->as_array();
    wrong(*value, fmt::format("{} must be a list", key));
    return kNone;
  }

  void read_maintainers(const Value& document, K3& k3) {
    for (const Value& each : list(document, "maintainers")) {
      if (each.is_string()) {
        k3.maintainers.push_back(each.as_string());
        continue;
      }
      if (!each.is_object()) {
        wrong(each, "a maintainer is text, or an object with name and email");
        continue;
      }
      check_members(each, kMaintainerMembers);
      const std::string text = required(each, "name");
      std::string address = optional(each, "email");
      const std::string url = optional(each, "url");
      if (address.empty()) address = url;
      k3.maintainers.push_back(address.empty() ? text : fmt::format("{} <{}>", text, address));
    }
  }

  void read_dependencies(const Value& document, K3& k3) {
    for (const Value& each : list(document, "dependencies")) {
      if (!each.is_object()) {
        wrong(each, "a dependency is an object with name and version");
        continue;
      }
      check_members(each, kDependencyMembers);
      std::string name = required(each, "name");
      if (!name.empty() && !is_dns1123_label(name))
        wrong(*each.find("name"), fmt::format("{} can't be the name of a Kube", name));
      const std::string text = optional(each, "version");
      auto range = encoding::SemVerRange::parse(text.empty() ? "*" : text);
      if (!range.ok())
        wrong(*each.find("version"), range.error().message, "for example: 1.9 < x <= 1.10, or ^1.9");
      std::string repo = optional(each, "repo");
      if (range.ok()) k3.dependencies.push_back({std::move(name), *std::move(range), std::move(repo)});
    }
  }

  std::string_view text_;
  std::vector<std::string_view> lines_;
  const std::string& file_;
  std::vector<Error> faults_;
};

// At the first one; the others stand below it.
Error all_of(std::vector<Error> faults, const std::string& file) {
  if (faults.size() == 1) return std::move(faults.front());
  std::vector<std::string> named;
  for (const Error& each : faults) {
    if (named.size() == kMostNamed) break;
    const std::string place = each.where ? each.where->text() : file;
    named.push_back(fmt::format("{}: {}{}{}", place, each.message, each.hint.empty() ? "" : "; ", each.hint));
  }
  if (faults.size() > named.size()) named.push_back(fmt::format("and {} more", faults.size() - named.size()));
  Error all = error(ErrorKind::Invalid, "{} has {} faults", escape_controls(file), faults.size())
                  .with_because(join(named, "\n"));
  all.where = faults.front().where;
  all.details.set(K3Faults{std::move(faults)});
  return all;
}

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

std::vector<Error> k3_faults(std::string_view text, const std::string& file) {
  Reader reader(text, file);
  (void)reader.read();
  return reader.take_faults();
}

Result<K3> parse_k3(std::string_view text, const std::string& file) {
  Reader reader(text, file);
  K3 k3 = reader.read();
  std::vector<Error> faults = reader.take_faults();
  if (!faults.empty()) return all_of(std::move(faults), file);
  return k3;
}

}  // namespace mist::kpm
