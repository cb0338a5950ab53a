#pragma once
// base64url without padding (RFC 4648, section 5), as JSON Web Tokens and WebAuthn have it. Pure; any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::encoding {

/// Invalid: it is none.
Result<std::string> base64url_decode(std::string_view text);
std::string base64url_encode(std::string_view bytes);

}  // namespace mist::encoding
