#pragma once
// The error of a request whose deadline came while it waited for a connection: nothing of it was sent. Any
// thread.

#include "base/error.h"

namespace mist::http {

/// The fact of that error.
struct Unstarted {};

inline bool is_unstarted(const Error& failure) { return failure.detail<Unstarted>() != nullptr; }

}  // namespace mist::http
