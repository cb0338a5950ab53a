#pragma once
// The error of an exchange in which the server sent nothing for Request::idle_timeout: it hangs, and asked
// again, it may take that long again. Any thread.

#include "base/error.h"

namespace mist::http {

/// The fact of that error.
struct Silent {};

inline bool is_silent(const Error& failure) { return failure.detail<Silent>() != nullptr; }

}  // namespace mist::http
