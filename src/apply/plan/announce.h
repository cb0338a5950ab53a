#pragma once
// A plan as progress tells it (base/event.h): in words, without values. Pure; any thread.

#include <string>
#include <vector>

#include "apply/plan/plan.h"
#include "base/event.h"

namespace mist::apply {

/// Every object with what will be done to it, why, which fields differ and where they were written, and what
/// it waits for. Values are left out: a field of a Secret may be among them.
PlanAnnounced announcement(const Plan& plan, const Owner& release, std::string operation);

/// The same for deletions alone.
PlanAnnounced announcement(const std::vector<PlannedAction>& removals, const Owner& release,
                           std::string operation);

}  // namespace mist::apply
