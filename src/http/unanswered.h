#pragma once
// The error of an exchange in which nothing came from the server, not even the head of an answer. Any thread.

#include "base/error.h"

namespace mist::http {

/// The fact of that error.
struct Unanswered {};

inline bool is_unanswered(const Error& failure) { return failure.detail<Unanswered>() != nullptr; }

}  // namespace mist::http
