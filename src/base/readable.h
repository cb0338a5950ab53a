#pragma once
// Waiting for a descriptor that somebody else writes to, such as standard input. Any thread.

#include "base/context.h"
#include "base/result.h"

namespace mist {

/// Returns when `fd` can be read without waiting, or is at its end. Errors: of `context`, if that ends first;
/// Internal.
Status wait_readable(int fd, const Context& context);

}  // namespace mist
