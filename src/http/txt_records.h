#pragma once
// TXT records of the DNS, by which the owner of a domain says something. Blocking, for some seconds at most;
// any thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::http {

/// NotFound: there is none of that name. Retryable: nobody answered.
using TxtResolver = std::function<Result<std::vector<std::string>>(const std::string& name)>;

/// That asks the system's name servers, or `server`, "192.0.2.1:53", if it isn't empty. Invalid: that is no
/// IPv4 address with a port.
Result<TxtResolver> txt_resolver(const std::string& server);

/// The texts in the answer of a name server (RFC 1035, 4). The sender may lie. Pure. Invalid.
Result<std::vector<std::string>> txt_records_in(std::string_view answer);

}  // namespace mist::http
