#pragma once
// Where values that don't fit a package were written: the line of a file, or the flag. Pure; any thread.

#include <span>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "package/values.h"

namespace mist::package {

/// An error of values that don't fit (encoding::ValueFaults) with the place of each behind its line; the
/// first that stands in a file is where it is. Others are returned as they are. Values that no input wrote (a
/// default, a value of an earlier revision) have no place.
Error with_value_places(Error failure, std::span<const ValuesInput> inputs);

/// The same of whatever rendered with these inputs.
template <typename T>
Result<T> with_value_places(Result<T> rendered, std::span<const ValuesInput> inputs) {
  if (rendered.ok()) return rendered;
  return with_value_places(std::move(rendered).error(), inputs);
}

}  // namespace mist::package
