#include "registry/helm_ignore.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace mist::registry {
namespace {

constexpr std::array<std::string_view, 4> kOurs{"Chart.yaml", ".helmignore", "mistletoe.yaml", "tests"};

// As Go's filepath.Match: "*" and "?" stop at slashes, and nothing is special about a leading point.
bool matches(const std::string& pattern, std::string_view text) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), FNM_PATHNAME) == 0;
}

}  // namespace

HelmIgnore HelmIgnore::parse(std::string_view text) {
  HelmIgnore result;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const std::string_view line : split(text, '\n')) {
    std::string_view rule = trim(line);
    if (rule.empty() || rule.starts_with('#')) continue;
    if (rule.find("**") != rule.npos) return {};
    Rule parsed;
    parsed.negated = rule.starts_with('!');
    if (parsed.negated) rule.remove_prefix(1);
    parsed.only_directories = rule.ends_with('/');
    if (parsed.only_directories) rule.remove_suffix(1);
    parsed.whole_path = rule.find('/') != rule.npos;
    if (rule.starts_with('/')) rule.remove_prefix(1);
    parsed.pattern = rule;
    result.rules_.push_back(std::move(parsed));
  }
  result.rules_.push_back({.pattern = "templates/.?*", .whole_path = true});
  return result;
}

bool HelmIgnore::leaves_out(std::string_view path, bool is_directory) const {
  const std::string_view top = path.substr(0, path.find('/'));
  if (std::ranges::find(kOurs, top) != kOurs.end()) return false;
  const std::string_view last = path.substr(path.rfind('/') + 1);
  for (const Rule& rule : rules_) {
    const bool matched = matches(rule.pattern, rule.whole_path ? path : last);
    // Helm reads "!x" as "leave out all but x".
    if (rule.negated) {
      if ((rule.only_directories && !is_directory) || !matched) return true;
    } else if (matched && (is_directory || !rule.only_directories)) {
      return true;
    }
  }
  return false;
}

}  // namespace mist::registry
