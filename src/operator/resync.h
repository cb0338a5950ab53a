#pragma once
// When everything is looked at again although no watch told of a change: what a watch has lost, or what
// depends on something that nobody watches, is found then. Pure; any thread.

#include "base/clock.h"
#include "operator/observer.h"

namespace mist::operator_ {

/// Between two such looks there is this much time, and up to a tenth more.
inline constexpr Duration kResync = std::chrono::hours(10);

/// How long after a look the next one is due at the latest. The part above kResync depends on the item's
/// name, so that those that began together aren't looked at together.
Duration resync_pause(const Item& item);

}  // namespace mist::operator_
