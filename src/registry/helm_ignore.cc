#include "registry/helm_ignore.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace mist::registry {
namespace {

constexpr std::array<std::string_view, 4> kOurs{"Chart.yaml", ".helmignore", "mistletoe.yaml", "tests"};
// More than any chart's, and little enough to hold ten thousand files against.
constexpr std::size_t kMostRules = 1000, kLongestRule = 256;

// Go's filepath.Match on Unix, which Helm uses. fnmatch isn't it: "[!a]" means something else there, and some
// patterns of a few stars take it longer than anybody waits.
class GoPattern {
 public:
  // Whether Go takes it for a pattern.
  static bool is_one(std::string_view pattern) {
    while (!pattern.empty())
      if (!take(pattern, std::nullopt)) return false;
    return true;
  }

  // `pattern` is one. As in Go: a star stops at slashes, and only the latest has to be tried again, since
  // what stood before it matched as early as it could.
  static bool matches(std::string_view pattern, std::string_view text) {
    std::optional<std::pair<std::string_view, std::string_view>>
        star;  // what follows it, and where it was tried last
    while (true) {
      if (pattern.starts_with('*')) {
        pattern.remove_prefix(1);
        star = {pattern, text};
        continue;
      }
      if (text.empty() && pattern.empty()) return true;
      if (!text.empty() && !pattern.empty()) {
        std::string_view rest = pattern;
        if (*take(rest, text.front())) {
          const bool is_any_of_some = pattern.front() == '?' || pattern.front() == '[';
          pattern = rest;
          text.remove_prefix(1);
          // A character may be several bytes.
          while (is_any_of_some && !text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80)
            text.remove_prefix(1);
          continue;
        }
      }
      if (!star || star->second.empty() || star->second.front() == '/') return false;
      star->second.remove_prefix(1);
      std::tie(pattern, text) = *star;
    }
  }

 private:
  // Takes what stands for one character off the pattern: whether `c` is such a one, nothing if it is
  // malformed. A star is passed over.
  static std::optional<bool> take(std::string_view& pattern, std::optional<char> c) {
    const char first = pattern.front();
    pattern.remove_prefix(1);
    switch (first) {
      case '*':
        return false;
      case '?':
        return c != '/';
      case '[':
        return take_class(pattern, c);
      case '\\':
        if (pattern.empty()) return std::nullopt;
        break;
      default:
        return c == first;
    }
    const char escaped = pattern.front();
    pattern.remove_prefix(1);
    return c == escaped;
  }

  static std::optional<bool> take_class(std::string_view& pattern, std::optional<char> c) {
    const bool negated = pattern.starts_with('^');
    if (negated) pattern.remove_prefix(1);
    bool in = false;
    for (std::size_t ranges = 0;; ++ranges) {
      if (pattern.starts_with(']') && ranges > 0) break;
      const auto low = take_bound(pattern);
      if (!low) return std::nullopt;
      auto high = low;
      if (pattern.starts_with('-')) {
        pattern.remove_prefix(1);
        high = take_bound(pattern);
        if (!high) return std::nullopt;
      }
      in = in || (c && static_cast<unsigned char>(*low) <= static_cast<unsigned char>(*c) &&
                  static_cast<unsigned char>(*c) <= static_cast<unsigned char>(*high));
    }
    pattern.remove_prefix(1);
    return in != negated;
  }

  // One end of a range. A class isn't over behind it.
  static std::optional<char> take_bound(std::string_view& pattern) {
    if (pattern.empty() || pattern.front() == '-' || pattern.front() == ']') return std::nullopt;
    if (pattern.front() == '\\') pattern.remove_prefix(1);
    if (pattern.size() < 2) return std::nullopt;
    const char bound = pattern.front();
    pattern.remove_prefix(1);
    return bound;
  }
};

}  // namespace

HelmIgnore HelmIgnore::parse(std::string_view text) {
  HelmIgnore result;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const std::string_view line : split(text, '\n')) {
    std::string_view rule = trim(line);
    if (rule.empty() || rule.starts_with('#')) continue;
    if (rule.find("**") != rule.npos || !GoPattern::is_one(rule)) return {};
    if (rule.size() > kLongestRule || result.rules_.size() == kMostRules) return {};
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
    // A rule that Helm can't use any more without its slash matches nothing.
    const bool matched =
        GoPattern::is_one(rule.pattern) && GoPattern::matches(rule.pattern, rule.whole_path ? path : last);
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
