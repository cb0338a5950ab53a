#pragma once
// A process that was stopped with its lock may have sent a DELETE that arrives only after the lock was taken
// over. It names the version of the object that its sender had seen, so the server refuses it once the object
// was written again. What the new holder finds as wanted it would not write: here it is told to, where a run
// that did not end meant to delete it. Pure; any thread.

#include "action/environment.h"
#include "apply/plan.h"

namespace mist::action {

/// Makes updates of the unchanged objects of the plan that an unfinished revision, or an uninstall that did
/// not end, would have deleted. For who took over the lock of a holder that had fallen silent.
void write_what_may_be_deleted_late(const ReleaseState& state, apply::Plan& plan);

}  // namespace mist::action
