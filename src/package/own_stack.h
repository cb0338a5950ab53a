#pragma once
// Threads for guests that another guest waits for: a stack of their own, and the processor time that they
// took. Any thread.

#include <cstddef>
#include <functional>

#include "base/clock.h"
#include "base/result.h"

namespace mist::package {

/// Processor time of the calling thread.
Duration thread_time();

/// Runs `work` on a thread that has room for a guest with `guest_bytes` of stack and for the host's own
/// calls, and waits for its end. An exception of it is thrown here. Internal: no thread could be made, and
/// nothing ran.
Status on_own_stack(std::size_t guest_bytes, const std::function<void()>& work);

}  // namespace mist::package
