#pragma once
// A simulation of a blueprint, for people: round by round, with its actions and why blocked objects are
// blocked. Pure; any thread.

#include <string>

#include "reconcile/scenario.h"

namespace mist::view {

std::string played_text(const reconcile::Played& played, bool color);

}  // namespace mist::view
