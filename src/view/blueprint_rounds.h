#pragma once
// What a simulation of a blueprint did, for people: round by round, with what it did and why what is blocked
// is blocked. Pure; any thread.

#include <string>

#include "reconcile/scenario.h"

namespace mist::view {

std::string played_text(const reconcile::Played& played, bool color);

}  // namespace mist::view
