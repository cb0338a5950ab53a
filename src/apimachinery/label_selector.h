#pragma once
// Label selectors as the API server evaluates them on a LIST or WATCH. Pure; any thread.

#include <string_view>

#include "encoding/value.h"

namespace mist::apimachinery {

/// Whether a selector like `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<1` selects the object. A requirement
/// that can't be read is met: the server has refused the selector, or knows better.
bool selects(std::string_view selector, const encoding::Value& object);

}  // namespace mist::apimachinery
