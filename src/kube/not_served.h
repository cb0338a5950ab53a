#pragma once
// The error of a request for objects of a kind that the server doesn't serve, whatever discovery said: its
// definition is gone, or isn't served yet. Else than for an object that isn't there, the 404 is of the path.
// The client that met it has forgotten what discovery said. Any thread.

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace mist::kube {

inline constexpr std::string_view kNotServedFrame = "while asking for a kind that the server doesn't serve";

inline bool is_not_served(const Error& failure) {
  return std::ranges::find(failure.frames, kNotServedFrame) != failure.frames.end();
}

/// Whether a failed request says that the object isn't there, and not that nobody serves its path.
inline bool is_absent(const Error& failure) {
  return failure.kind == ErrorKind::NotFound && !is_not_served(failure);
}

}  // namespace mist::kube
