#pragma once
// The words of Helm's hook annotations, for lint.h. Pure; any thread.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/chart_hooks.h"

namespace mist::package {

inline constexpr std::array kHookAnnotations{
    apimachinery::kHookAnnotation, apimachinery::kHookDeleteAnnotation, apimachinery::kHookLogAnnotation,
    apimachinery::kHookWeightAnnotation};

/// One sentence for each word of such an annotation that Helm doesn't know.
std::vector<std::string> wrong_hook_words(std::string_view annotation, std::string_view text);

}  // namespace mist::package
