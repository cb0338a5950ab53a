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

/// Not what only one run is allowed: to leave fields, to keep what was adopted.
encoding::Value recorded_options(const apply::AllowedChanges& allowed);
/// The reverse. Of null: nothing is allowed.
apply::AllowedChanges allowed_by(const encoding::Value& recorded);
/// Adds what `more` allows, except a take-over.
void allow_also(apply::AllowedChanges& allowed, const apply::AllowedChanges& more);
void allow_also(apply::PruneRules& rules, const apply::PruneRules& more);

/// The hooks that a revision ran: in the options of a revision.
inline constexpr std::string_view kHooks = "hooks";
inline constexpr std::string_view kForceCrds = "forceCrds";
/// It was waited until all is ready; a Job only until it begins, if kWaitForJobs is false. Absent: not
/// waited.
inline constexpr std::string_view kWait = "wait";
inline constexpr std::string_view kWaitForJobs = "waitForJobs";
apply::HookVerb recorded_hooks(const encoding::Value& recorded);
/// Of an uninstall under way: none of its hooks run; which of its hooks have ended.
inline constexpr std::string_view kNoHooks = "noHooks";
inline constexpr std::string_view kBeforeEnded = "preDeleteEnded";
inline constexpr std::string_view kAfterEnded = "postDeleteEnded";

}  // namespace mist::action
