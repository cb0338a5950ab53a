#include "package/lint_hooks.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace mist::package {
namespace {

using apimachinery::kHookFailed;
using apimachinery::kHookSucceeded;

std::vector<std::string_view> words_for(std::string_view annotation) {
  if (annotation == apimachinery::kHookLogAnnotation) return {kHookSucceeded, kHookFailed};
  if (annotation == apimachinery::kHookDeleteAnnotation)
    return {apimachinery::kBeforeCreation, kHookSucceeded, kHookFailed};
  std::vector<std::string_view> events;
  for (const apimachinery::HookEvent& event : apimachinery::kHookEvents) events.push_back(event.name);
  return events;
}

}  // namespace

std::vector<std::string> wrong_hook_words(std::string_view annotation, std::string_view text) {
  if (text.empty()) return {};
  if (annotation == apimachinery::kHookWeightAnnotation) {
    if (apimachinery::parse_hook_weight(text)) return {};
    return {fmt::format("{} is \"{}\", no whole number", annotation, text)};
  }
  const std::vector<std::string_view> known = words_for(annotation);
  std::vector<std::string> wrong;
  for (const std::string& word : apimachinery::hook_words(text)) {
    if (std::ranges::find(known, word) != known.end()) continue;
    const std::string_view near = nearest(word, known);
    wrong.push_back(fmt::format("{} has \"{}\", which Helm doesn't know{}", annotation, word,
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  return wrong;
}

}  // namespace mist::package
