#include "blueprint/go_pattern.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace mist::blueprint {
namespace {

constexpr std::uint64_t kCountedTo = 1'000'000;

struct Repeat {
  std::uint64_t count;
  std::size_t length;
};

std::optional<std::uint64_t> count_in(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    count = std::min(kCountedTo, count * 10 + static_cast<std::uint64_t>(c - '0'));
  }
  return count;
}

// "{2}", "{2,}", "{2,5}". nullopt: it stands for itself.
std::optional<Repeat> repeat_at(std::string_view text) {
  const auto close = text.find('}');
  if (!text.starts_with('{') || close == std::string_view::npos) return std::nullopt;
  const std::string_view counts = text.substr(1, close - 1);
  const auto comma = counts.find(',');
  const auto least = count_in(counts.substr(0, comma));
  if (!least) return std::nullopt;
  if (comma == std::string_view::npos || comma + 1 == counts.size()) return Repeat{*least, close + 1};
  const auto most = count_in(counts.substr(comma + 1));
  return most ? std::optional(Repeat{*most, close + 1}) : std::nullopt;
}

// Behind the class of characters that begins there.
std::size_t end_of_class(std::string_view pattern, std::size_t at) {
  ++at;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']') {
    const auto named = pattern.substr(at, 2) == "[:" ? pattern.find(":]", at + 2) : std::string_view::npos;
    if (named != std::string_view::npos)
      at = named + 2;
    else
      at += pattern[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, pattern.size());
}

}  // namespace

std::uint64_t most_repeats(std::string_view pattern) {
  std::vector<std::uint64_t> groups{1};  // the most within each that is open
  std::uint64_t last = 1, most = 1;      // of what a count would repeat; of all
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (const auto repeat = repeat_at(pattern.substr(at))) {
      last = std::min(kCountedTo, last * std::max<std::uint64_t>(1, repeat->count));
      at += repeat->length;
    } else if (c == ')') {
      last = groups.back();
      if (groups.size() > 1) groups.pop_back();
      ++at;
    } else if (c == '[') {
      last = 1;
      at = end_of_class(pattern, at);
    } else {
      if (c != '?' && c != '*' && c != '+') last = 1;
      if (c == '(') groups.push_back(1);
      at += c == '\\' ? 2 : 1;
    }
    groups.back() = std::max(groups.back(), last);
    most = std::max(most, last);
  }
  return most;
}

}  // namespace mist::blueprint
