#pragma once
// The facts that `-v` shows of each request. Never credentials, never bodies.

#include <functional>
#include <string>

#include "base/clock.h"

namespace mist::http {

struct RequestTrace {
  std::string method;
  std::string url;      ///< as loggable_url() gives it
  int status = 0;       ///< 0: no answer, see `problem`
  std::string problem;  ///< one line; empty when there is a status
  Duration duration{};  ///< of this attempt; for streams until they ended
  int attempt = 1;      ///< from 1
};

/// Called after each attempt on the thread that sent it; several at once.
using Tracer = std::function<void(const RequestTrace&)>;

}  // namespace mist::http
