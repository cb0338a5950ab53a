#pragma once
// Options that shape a result, as a revision or an uninstall under way records them: who goes on with its
// work has them too. Pure; any thread.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "apply/plan/plan.h"
#include "encoding/value.h"
#include "release/record.h"

namespace mist::action {

encoding::Value recorded_options(const apply::PlanRules& rules);

/// Whose hooks a revision ran: in the options of a revision.
inline constexpr std::string_view kHooks = "hooks";
inline constexpr std::string_view kForceCrds = "forceCrds";
/// The names of a chart's definitions that --skip-crds left as they were: they outlive deleteCrds.
inline constexpr std::string_view kLeftCrds = "leftCrds";
/// Managers whose fields were taken by name (--adopt-from).
inline constexpr std::string_view kAdoptFrom = "adoptFrom";
/// Empty if it isn't there.
std::set<std::string> recorded_names(const encoding::Value& recorded, std::string_view name);
std::set<std::string> recorded_left_crds(const encoding::Value& recorded);
apply::HookVerb recorded_hooks(const encoding::Value& recorded);
/// Of an uninstall under way: none of its hooks run; which of its hooks have ended.
inline constexpr std::string_view kNoHooks = "noHooks";
inline constexpr std::string_view kBeforeEnded = "preDeleteEnded";
inline constexpr std::string_view kAfterEnded = "postDeleteEnded";

/// nullopt: nothing was taken over.
std::optional<release::ReleaseId> recorded_take_over(const encoding::Value& recorded);

/// What was allowed then is allowed beside what is allowed now.
void apply_recorded(const encoding::Value& recorded, apply::PruneRules& rules);

}  // namespace mist::action
