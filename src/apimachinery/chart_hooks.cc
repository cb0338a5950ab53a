#include "apimachinery/chart_hooks.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace mist::apimachinery {

const HookEvent* find_hook_event(std::string_view word) {
  const auto* const found = std::ranges::find(kHookEvents, word, &HookEvent::name);
  return found == kHookEvents.end() ? nullptr : found;
}

std::vector<std::string> hook_words(std::string_view list) {
  std::vector<std::string> words;
  for (const std::string_view part : split(list, ',')) words.push_back(lower_case(trim(part)));
  return words;
}

std::optional<int> parse_hook_weight(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int weight = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return weight;
}

}  // namespace mist::apimachinery
