#pragma once
// Takes credentials out of what people and logs see: the userinfo of URLs, and values of query parameters and
// of keys that are named like a secret. Pure; any thread.

#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::config {

/// `text` with every URL in it made safe: "https://user:pw@host/x?token=t" gives
/// "https://***@host/x?token=***". The plain user name of ssh ("ssh://git@host", "git@host:x") stays, its
/// password doesn't.
std::string redact_urls(std::string_view text);

/// `text` with the URLs in it as they are to be kept for another time: "https://user:pw@host/x?token=t" gives
/// "https://host/x", "ssh://git:pw@host/x" gives "ssh://git@host/x". A later user of them has to get the
/// credentials elsewhere.
std::string without_credentials(std::string_view text);

/// The same as redact_urls for every string in `value`; strings at keys such as "password" or "token" become
/// "***".
encoding::Value redact(encoding::Value value);

}  // namespace mist::config
