#pragma once
// Where values that don't fit a package were written: the line of a file, or the flag. Pure; any thread.

#include <span>

#include "base/error.h"
#include "package/values.h"

namespace mist::package {

/// An error of values that don't fit (encoding::ValueFaults) with the place of each behind its line; the
/// first that stands in a file is where it is. Others are returned as they are. What no input wrote (a
/// default, a value of an earlier revision) has no place.
Error with_value_places(Error failure, std::span<const ValuesInput> inputs);

}  // namespace mist::package
