#include "package/subcharts.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

using encoding::Value;

constexpr std::string_view kFolder = "charts/";

const Value* dependencies_of(const Value& document) {
  const Value* const list = document.find("dependencies");
  return list != nullptr && list->is_array() ? list : nullptr;
}

Value parsed_or_null(const Files& files, const std::string& path) {
  const auto found = files.find(path);
  if (found == files.end()) return Value();
  return encoding::parse_yaml(found->second).value_or(Value());
}

// "charts/db/Chart.yaml" and no deeper one.
bool is_chart_file(const std::string& path) {
  if (!path.starts_with(kFolder) || !path.ends_with("/Chart.yaml")) return false;
  return std::ranges::count(path, '/') == 2;
}

bool is_archive(const std::string& path) {
  return path.starts_with(kFolder) && path.ends_with(".tgz") && std::ranges::count(path, '/') == 1;
}

}  // namespace

std::vector<std::string> missing_subcharts(const Files& files) {
  const Value chart = parsed_or_null(files, "Chart.yaml");
  const Value requirements = parsed_or_null(files, "requirements.yaml");
  const Value* list = dependencies_of(requirements);
  if (list == nullptr) list = dependencies_of(chart);
  if (list == nullptr) return {};
  std::set<std::string, std::less<>> there;
  std::vector<std::string> archives;
  for (const auto& [path, text] : files) {
    if (is_chart_file(path)) there.emplace(parsed_or_null(files, path).string_at("name"));
    if (is_archive(path)) archives.push_back(path);
  }
  const auto is_of = [](const std::string& archive, std::string_view name) {
    return archive.starts_with(fmt::format("{}{}-", kFolder, name));
  };
  std::vector<std::string> missing;
  for (const Value& each : list->as_array()) {
    const std::string_view name = each.string_at("name");
    const bool could_be = std::ranges::any_of(archives, [&](const std::string& archive) {
      return is_of(archive, name) || std::ranges::none_of(list->as_array(), [&](const Value& other) {
               return is_of(archive, other.string_at("name"));
             });
    });
    const bool known =
        name.empty() || there.contains(name) || could_be || std::ranges::find(missing, name) != missing.end();
    if (!known) missing.emplace_back(name);
  }
  return missing;
}

Error lacks_subcharts(const std::string& reference, const std::vector<std::string>& names) {
  const bool here = reference.starts_with('/') || reference.starts_with('.');
  return error(ErrorKind::Invalid, "{} depends on charts that are not in its charts/: {}",
               escape_controls(reference), escape_controls(join(names, ", ")))
      .with_hint(here ? "mistctl dependency build " + shell_word(reference)
                      : "copy the chart to this machine, and run mistctl dependency build there");
}

}  // namespace mist::package
