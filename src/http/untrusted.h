#pragma once
// The error of a server whose TLS certificate isn't trusted: with other roots, it may be. Nothing was sent to
// it by the connection that failed; if an earlier one may have brought it the request, maybe_acted_on() the
// error (transport.h). Any thread.

#include "base/error.h"

namespace mist::http {

/// The fact of that error.
struct Untrusted {};

inline bool is_untrusted(const Error& failure) { return failure.detail<Untrusted>() != nullptr; }

}  // namespace mist::http
