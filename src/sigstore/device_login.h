#pragma once
// Logging in with a device code (RFC 8628): a person confirms a short code in a browser, on whichever
// machine, and the issuer gives an identity token, which PKCE (RFC 7636) binds to this program. Tokens and
// codes of the program are credentials: no error and no log has any of them. Any thread.

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/random.h"
#include "base/result.h"
#include "http/transport.h"
#include "sigstore/identity_token.h"

namespace mist::sigstore {

/// For the person; safe to print.
struct DeviceCode {
  std::string page;    ///< where the code is typed in
  std::string code;    ///< "ABCD-EFGH"
  std::string direct;  ///< the page with the code in its address; empty: the issuer gives none
  Duration valid{};
};

struct LoginDependencies {
  http::Transport& transport;
  Clock& clock;
  Random& random;
  std::function<void(const DeviceCode&)> show;
};

/// Blocks until the person has confirmed or refused. `issuer`: its address, https or http to this machine.
/// `client`: what this program is known by there, for which the token is. Errors: Forbidden (refused),
/// Timeout (nobody confirmed it in time), Invalid (an issuer without such a login, answers that can't be
/// understood), Cancelled, of Transport.
Result<IdentityToken> log_in(const LoginDependencies& dependencies, const std::string& issuer,
                             std::string_view client, const Context& context);

}  // namespace mist::sigstore
