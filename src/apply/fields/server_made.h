#pragma once
// Changes by the server to an object that we applied: defaults, the forms in which it stores values, changes
// by admission. Each is a difference between what was sent and what came back. It is kept with the object in
// the inventory, so that the same difference, with the same wanted and the same live value, is known at the
// next plan; a value that somebody changed later still differs, and so does a new wanted value.
//
// Changes by admission may end: then the wanted value has to be written at last. So where nothing else is
// written, a known difference is kept and marked, and the server is asked how it changes the object now
// (settle.h). Pure; any thread.

#include <vector>

#include "apply/fields/difference.h"
#include "apply/inventory.h"
#include "apply/owner.h"

namespace mist::apply {

/// `differences` between what was applied and the server's answer to that; never the labels by which the
/// object is the release's.
std::vector<ServerMade> server_made(const std::vector<FieldDifference>& differences);

/// Removes the differences that are `made`, if others are left that are written anyway; else marks them.
void leave_out(std::vector<FieldDifference>& differences, const std::vector<ServerMade>& made);

}  // namespace mist::apply
