#pragma once
// The words of Helm's hook annotations, for lint.h. Pure; any thread.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace mist::package {

inline constexpr std::array<std::string_view, 4> kHookAnnotations{
    "helm.sh/hook", "helm.sh/hook-delete-policy", "helm.sh/hook-output-log-policy", "helm.sh/hook-weight"};

/// One sentence for each word of such an annotation that Helm doesn't know.
std::vector<std::string> wrong_hook_words(std::string_view annotation, std::string_view text);

}  // namespace mist::package
