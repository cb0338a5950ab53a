#pragma once
// The addresses of a host, from the system's resolver. Blocking, without a time limit of its own (resolv.conf
// has one); any thread.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mist::http {

using Resolver = std::function<Result<std::vector<std::string>>(const std::string& host)>;

/// IPv4 and IPv6 addresses as text, in the system's order, each once. Retryable: there are none.
Result<std::vector<std::string>> resolve_host(const std::string& host);

}  // namespace mist::http
