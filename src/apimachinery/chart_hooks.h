#pragma once
// Hooks of Helm charts as their annotations write them: the names, their words and how those are read. How
// hooks are run is decided by apply/plan/hooks.h. Pure; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mist::apimachinery {

inline constexpr std::string_view kHookAnnotation = "helm.sh/hook";
inline constexpr std::string_view kHookWeightAnnotation = "helm.sh/hook-weight";
inline constexpr std::string_view kHookDeleteAnnotation = "helm.sh/hook-delete-policy";
inline constexpr std::string_view kHookLogAnnotation = "helm.sh/hook-output-log-policy";

/// The action on a release, as far as its hooks care.
enum class HookVerb : std::uint8_t { None, Install, Upgrade, Rollback, Uninstall };
enum class HookPhase : std::uint8_t { None, Before, After };

struct HookEvent {
  std::string_view name;
  HookVerb verb;
  HookPhase phase;  ///< None: a test
};
inline constexpr std::array kHookEvents{
    HookEvent{"pre-install", HookVerb::Install, HookPhase::Before},
    HookEvent{"post-install", HookVerb::Install, HookPhase::After},
    HookEvent{"pre-upgrade", HookVerb::Upgrade, HookPhase::Before},
    HookEvent{"post-upgrade", HookVerb::Upgrade, HookPhase::After},
    HookEvent{"pre-rollback", HookVerb::Rollback, HookPhase::Before},
    HookEvent{"post-rollback", HookVerb::Rollback, HookPhase::After},
    HookEvent{"pre-delete", HookVerb::Uninstall, HookPhase::Before},
    HookEvent{"post-delete", HookVerb::Uninstall, HookPhase::After},
    HookEvent{"test", HookVerb::None, HookPhase::None},
    HookEvent{"test-success", HookVerb::None, HookPhase::None},
};
/// Null: Helm knows no such event.
const HookEvent* find_hook_event(std::string_view word);

// Words of both policies; deleting knows kBeforeCreation too.
inline constexpr std::string_view kHookSucceeded = "hook-succeeded";
inline constexpr std::string_view kHookFailed = "hook-failed";
inline constexpr std::string_view kBeforeCreation = "before-hook-creation";

/// "Pre-Install, post-upgrade" → "pre-install" and "post-upgrade", as Helm reads the lists in all but the
/// weight.
std::vector<std::string> hook_words(std::string_view list);

/// As Go's strconv.Atoi; nothing: no whole number, which Helm takes for 0.
std::optional<int> parse_hook_weight(std::string_view text);

}  // namespace mist::apimachinery
