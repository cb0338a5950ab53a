#include "registry/chart_lock.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::registry {
namespace {

using encoding::Value;

Error wrong_in(std::string_view place, std::string_view what) {
  return error(ErrorKind::Invalid, "{}: {}", place, what);
}

// Helm's sanitizeString: white space becomes blanks, control characters go.
std::string sanitized(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    if (c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r')
      clean.push_back(' ');
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      clean.push_back(c);
  }
  return clean;
}

class ChartFieldReader {
 public:
  explicit ChartFieldReader(std::string place) : place_(std::move(place)) {}

  Result<std::string> text(const Value& object, std::string_view key) const {
    const Value* const found = object.find(key);
    if (found == nullptr || found->is_null()) return std::string();
    if (found->is_string()) return found->as_string();
    return wrong_in(place_, fmt::format("{} must be a text, is {}", key, encoding::kind_name(found->kind())))
        .with_hint("put it in quotes");
  }

  Result<std::vector<ChartDependency>> dependencies(const Value& document) const {
    std::vector<ChartDependency> all;
    const Value* const list = document.find("dependencies");
    if (list == nullptr || list->is_null()) return all;
    if (!list->is_array()) return wrong_in(place_, "dependencies must be a list");
    for (const Value& each : list->as_array()) {
      MIST_TRY(ChartDependency one, dependency(each));
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  Result<ChartDependency> dependency(const Value& object) const {
    if (!object.is_object()) return wrong_in(place_, "each of the dependencies must have members");
    ChartDependency one;
    constexpr std::array kTexts{
        std::pair{"name", &ChartDependency::name}, std::pair{"version", &ChartDependency::version},
        std::pair{"repository", &ChartDependency::repository},
        std::pair{"condition", &ChartDependency::condition}, std::pair{"alias", &ChartDependency::alias}};
    for (const auto& [key, member] : kTexts) {
      MIST_TRY(one.*member, text(object, key));
    }
    if (const Value* const tags = object.find("tags"); tags != nullptr && !tags->is_null()) {
      const bool texts = tags->is_array() && std::ranges::all_of(tags->as_array(), &Value::is_string);
      if (!texts) return wrong_in(place_, fmt::format("tags of {} must be a list of texts", one.name));
      for (const Value& tag : tags->as_array()) one.tags.push_back(tag.as_string());
    }
    if (const Value* const enabled = object.find("enabled"); enabled != nullptr && enabled->is_bool())
      one.enabled = enabled->as_bool();
    if (const Value* const values = object.find("import-values"); values != nullptr && values->is_array())
      one.import_values = *values;
    return one;
  }

  std::string place_;
};

// It becomes part of paths and URLs.
Status check_chart_name(const ChartDependency& dependency, std::string_view place) {
  const std::string& name = dependency.name;
  if (name.empty()) return wrong_in(place, "a dependency has no name");
  const bool fine = !name.starts_with('.') && name.find_first_of("/\\:@?#% ") == std::string::npos;
  if (!fine)
    return wrong_in(place, fmt::format("\"{}\" can't be the name of a chart", escape_controls(name)));
  return {};
}

Status check_dependencies(std::vector<ChartDependency>& dependencies, std::string_view place) {
  std::set<std::string> keys;
  for (ChartDependency& each : dependencies) {
    for (const auto member : {&ChartDependency::name, &ChartDependency::version, &ChartDependency::repository,
                              &ChartDependency::condition})
      each.*member = sanitized(each.*member);
    for (std::string& tag : each.tags) tag = sanitized(tag);
    MIST_TRY_VOID(check_chart_name(each, place));
    const std::string& key = each.alias.empty() ? each.name : each.alias;
    if (!keys.insert(key).second)
      return wrong_in(place, fmt::format("two dependencies have the name or alias {}", escape_controls(key)))
          .with_hint("give one of them an alias");
  }
  return {};
}

// The fields in the order of Helm's struct, the empty ones left out where its tags say so.
Value as_helm_has_it(const ChartDependency& dependency) {
  Value object = Value::object();
  object.set("name", dependency.name);
  if (!dependency.version.empty()) object.set("version", dependency.version);
  object.set("repository", dependency.repository);
  if (!dependency.condition.empty()) object.set("condition", dependency.condition);
  if (!dependency.tags.empty())
    object.set("tags", Value(Value::Array(dependency.tags.begin(), dependency.tags.end())));
  if (dependency.enabled) object.set("enabled", true);
  if (!dependency.import_values.empty()) {
    Value values = dependency.import_values;
    values.sort_keys();
    object.set("import-values", std::move(values));
  }
  if (!dependency.alias.empty()) object.set("alias", dependency.alias);
  return object;
}

Value as_helm_has_them(const std::vector<ChartDependency>& dependencies) {
  Value::Array list;
  for (const ChartDependency& each : dependencies) list.push_back(as_helm_has_it(each));
  return Value(std::move(list));
}

// encoding/json escapes what HTML would take for its own, and JavaScript's line ends.
std::string go_json(const Value& value) {
  constexpr std::array kEscapes{std::pair{"<", "\\u003c"}, std::pair{">", "\\u003e"},
                                std::pair{"&", "\\u0026"}, std::pair{"\u2028", "\\u2028"},
                                std::pair{"\u2029", "\\u2029"}};
  std::string text = encoding::to_json(value);
  for (const auto& [from, to] : kEscapes) {
    const std::string_view what = from;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      text.replace(at, what.size(), to);
  }
  return text;
}

std::string hash_of(const Value& value) { return crypto::sha256(go_json(value)).str(); }

std::string lock_digest(const std::vector<ChartDependency>& wanted,
                        const std::vector<ChartDependency>& locked) {
  return hash_of(Value::array({as_helm_has_them(wanted), as_helm_has_them(locked)}));
}

}  // namespace

Result<ChartManifest> read_chart_manifest(std::string_view chart,
                                          const std::optional<std::string>& requirements,
                                          std::string_view place) {
  const std::string file = fmt::format("{} of {}", kChartFile, place);
  MIST_TRY(const Value document, encoding::parse_yaml(chart).in(fmt::format("while reading {}", file)));
  if (!document.is_object()) return wrong_in(file, "it has no members");
  const ChartFieldReader reader(file);
  ChartManifest manifest;
  MIST_TRY(manifest.name, reader.text(document, "name"));
  MIST_TRY(manifest.version, reader.text(document, "version"));
  MIST_TRY(const std::string api, reader.text(document, "apiVersion"));
  manifest.original = api.empty() || api == "v1";
  if (manifest.name.empty() || manifest.version.empty()) return wrong_in(file, "name or version is missing");
  MIST_TRY_VOID(check_chart_name({manifest.name, {}, {}}, file));
  MIST_TRY(manifest.dependencies, reader.dependencies(document));
  std::string of = file;
  if (requirements) {
    of = fmt::format("{} of {}", kRequirementsFile, place);
    MIST_TRY(const Value more, encoding::parse_yaml(*requirements).in(fmt::format("while reading {}", of)));
    if (more.find("dependencies") != nullptr) {
      MIST_TRY(manifest.dependencies, ChartFieldReader(of).dependencies(more));
    }
  }
  MIST_TRY_VOID(check_dependencies(manifest.dependencies, of));
  return manifest;
}

Result<ChartLock> ChartLock::parse(std::string_view text, std::string_view place) {
  MIST_TRY(const Value document, encoding::parse_yaml(text).in(fmt::format("while reading {}", place)));
  const ChartFieldReader reader{std::string(place)};
  ChartLock lock;
  MIST_TRY(lock.dependencies, reader.dependencies(document));
  MIST_TRY(lock.digest, reader.text(document, "digest"));
  MIST_TRY(lock.generated, reader.text(document, "generated"));
  for (const ChartDependency& each : lock.dependencies) MIST_TRY_VOID(check_chart_name(each, place));
  return lock;
}

std::string ChartLock::to_text() const {
  Value::Array list;
  for (const ChartDependency& each : dependencies) {
    Value one = as_helm_has_it(each);
    one.sort_keys();
    list.push_back(std::move(one));
  }
  return encoding::to_yaml(Value::object(
      {{"dependencies", Value(std::move(list))}, {"digest", digest}, {"generated", generated}}));
}

ChartLock lock_of(const std::vector<ChartDependency>& wanted, std::vector<ChartDependency> locked,
                  WallTime now) {
  std::string digest = lock_digest(wanted, locked);
  return {std::move(locked), std::move(digest), format_micro_time(now)};
}

bool is_in_step(const ChartLock& lock, const ChartManifest& chart,
                const std::vector<ChartDependency>& resolved) {
  if (lock.digest == lock_digest(resolved, lock.dependencies)) return true;
  // Helm 2 hashed what was asked for alone.
  return chart.original &&
         lock.digest == hash_of(Value::object({{"dependencies", as_helm_has_them(chart.dependencies)}}));
}

}  // namespace mist::registry
