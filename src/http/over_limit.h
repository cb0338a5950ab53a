#pragma once
// The error of an answer that is larger than Request::response_limit: asked for less, the server may answer.
// Any thread.

#include "base/error.h"

namespace mist::http {

/// The fact of that error.
struct OverLimit {};

inline bool is_over_limit(const Error& failure) { return failure.detail<OverLimit>() != nullptr; }

}  // namespace mist::http
