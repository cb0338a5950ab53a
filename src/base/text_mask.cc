#include "base/text_mask.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mist {
namespace {

constexpr std::uint32_t kRoot = 0;  // no node has it as a child
constexpr std::string_view kNotShown = "(not shown: there are too many secrets to look for)";

// The patterns from `begin` to `end` begin with what leads to `node`, of `depth` bytes.
struct Range {
  std::uint32_t node = 0;
  std::size_t begin = 0, end = 0, depth = 0;
};

}  // namespace

TextMask::TextMask(std::vector<std::string> patterns) {
  std::erase(patterns, "");
  std::ranges::sort(patterns);
  patterns.erase(std::ranges::unique(patterns).begin(), patterns.end());
  const std::size_t bytes =
      std::accumulate(patterns.begin(), patterns.end(), std::size_t{0},
                      [](std::size_t sum, const std::string& each) { return sum + each.size(); });
  overfull_ = bytes > kMostBytes;
  if (patterns.empty() || overfull_) return;
  grow(patterns);
  link();
}

void TextMask::grow(const std::vector<std::string>& patterns) {
  nodes_.emplace_back();
  std::vector<Range> level{{kRoot, 0, patterns.size(), 0}}, next;
  for (; !level.empty(); level = std::exchange(next, {})) {
    for (const Range& range : level) {
      nodes_[range.node].first_child = static_cast<std::uint32_t>(nodes_.size());
      std::size_t at = range.begin;
      // Sorted: the one that ends here is the first.
      if (patterns[at].size() == range.depth) {
        nodes_[range.node].length = static_cast<std::uint32_t>(range.depth);
        ++at;
      }
      while (at < range.end) {
        const char byte = patterns[at][range.depth];
        const std::size_t begin = at;
        while (at < range.end && patterns[at][range.depth] == byte) ++at;
        next.push_back({static_cast<std::uint32_t>(nodes_.size()), begin, at, range.depth + 1});
        nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
        ++nodes_[range.node].children;
      }
    }
  }
}

void TextMask::link() {
  for (std::uint32_t parent = 0; parent < nodes_.size(); ++parent) {
    for (std::uint32_t i = 0; i < nodes_[parent].children; ++i) {
      const std::uint32_t node = nodes_[parent].first_child + i;
      std::uint32_t fail = kRoot;
      if (parent != kRoot) {
        for (fail = nodes_[parent].fail;; fail = nodes_[fail].fail) {
          if (const std::uint32_t found = child(fail, nodes_[node].byte); found != kRoot) {
            fail = found;
            break;
          }
          if (fail == kRoot) break;
        }
      }
      nodes_[node].fail = fail;
      nodes_[node].length = std::max(nodes_[node].length, nodes_[fail].length);
    }
  }
}

std::uint32_t TextMask::child(std::uint32_t node, unsigned char byte) const {
  const Node& at = nodes_[node];
  const auto begin = nodes_.begin() + at.first_child, end = begin + at.children;
  const auto found = std::lower_bound(
      begin, end, byte, [](const Node& each, unsigned char value) { return each.byte < value; });
  return found != end && found->byte == byte ? static_cast<std::uint32_t>(found - nodes_.begin()) : kRoot;
}

template <typename Each>
std::size_t TextMask::walk(std::string_view text, const Each& each) const {
  std::size_t steps = 0;
  std::uint32_t node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::uint32_t next = child(node, byte);
    for (++steps; next == kRoot && node != kRoot; ++steps) {
      node = nodes_[node].fail;
      next = child(node, byte);
    }
    node = next;
    if (const std::size_t length = nodes_[node].length; length > 0 && !each(i + 1, length)) break;
  }
  return steps;
}

bool TextMask::finds(std::string_view text) const {
  if (overfull_) return true;
  if (nodes_.empty()) return false;
  bool found = false;
  walk(text, [&](std::size_t, std::size_t) {
    found = true;
    return false;
  });
  return found;
}

std::string TextMask::masked(std::string text, std::string_view by) const {
  if (overfull_) return text.empty() ? text : std::string(kNotShown);
  if (nodes_.empty()) return text;
  struct Place {
    std::size_t begin, end;
  };
  std::vector<Place> places;
  walk(text, [&](std::size_t end, std::size_t length) {
    Place place{end - length, end};
    while (!places.empty() && place.begin < places.back().end) {
      place.begin = std::min(place.begin, places.back().begin);
      places.pop_back();
    }
    places.push_back(place);
    return true;
  });
  if (places.empty()) return text;
  std::string out;
  std::size_t copied = 0;
  for (const Place& place : places) {
    out += std::string_view(text).substr(copied, place.begin - copied);
    out += by;
    copied = place.end;
  }
  return out + text.substr(copied);
}

std::size_t TextMask::steps(std::string_view text) const {
  if (nodes_.empty()) return 0;
  return walk(text, [](std::size_t, std::size_t) { return true; });
}

}  // namespace mist
