#pragma once
// A bounded pool for blocking work: `parallel_for(items, 32, [&](Item& item) -> Status {…})`.

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace mist {

/// Calls `work(i)` for i in [0, count) on at most `workers` threads (the caller's is one of them; fewer
/// where the system has no more) and waits
/// for all of them. After the first error no new call begins; the error with the smallest index is returned.
Status parallel_for(std::size_t count, std::size_t workers, const std::function<Status(std::size_t)>& work);

}  // namespace mist
