#include "package/lint_hooks.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/text.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 10> kHookEvents{
    "pre-install", "post-install", "pre-upgrade",   "post-upgrade", "pre-delete",
    "post-delete", "pre-rollback", "post-rollback", "test",         "test-success"};
constexpr std::array<std::string_view, 3> kDeletePolicies{"before-hook-creation", "hook-succeeded",
                                                          "hook-failed"};
constexpr std::array<std::string_view, 2> kLogPolicies{"hook-succeeded", "hook-failed"};

std::span<const std::string_view> words_for(std::string_view annotation) {
  if (annotation == "helm.sh/hook") return kHookEvents;
  if (annotation == "helm.sh/hook-output-log-policy") return kLogPolicies;
  return kDeletePolicies;
}

bool is_whole_number(std::string_view text) {
  int number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<std::string> wrong_hook_words(std::string_view annotation, std::string_view text) {
  if (text.empty()) return {};
  if (annotation == "helm.sh/hook-weight") {
    if (is_whole_number(text)) return {};
    return {fmt::format("{} is \"{}\", no whole number", annotation, text)};
  }
  const std::span<const std::string_view> known = words_for(annotation);
  std::vector<std::string> wrong;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trim(part);
    if (std::ranges::find(known, word) != known.end()) continue;
    const std::string_view near = nearest(word, known);
    wrong.push_back(fmt::format("{} has \"{}\", which Helm doesn't know{}", annotation, word,
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  return wrong;
}

}  // namespace mist::package
