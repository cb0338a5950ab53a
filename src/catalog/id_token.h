#pragma once
// ID tokens of OpenID Connect: JSON Web Tokens (RFC 7519) that an issuer signed, and the keys (RFC 7517) that
// it publishes. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "encoding/value.h"

namespace mist::catalog {

struct IssuerKey {
  std::string id = {};         ///< "kid"; may be empty
  std::string algorithm = {};  ///< the one that it is for: "RS256" or "ES256"
  crypto::PublicKey key;
};
/// Those of a JWK Set that sign with RS256 or ES256; others are left out, symmetric ones above all.
std::vector<IssuerKey> issuer_keys(const encoding::Value& set);

struct ExpectedToken {
  std::string issuer = {}, client_id = {}, nonce = {};
  WallTime now{};
};
struct Identity {
  std::string issuer = {}, subject = {};
  std::string name = {};  ///< "preferred_username": what the issuer calls somebody; proves nothing
};
/// Whom the token names. The algorithm is that of the key, never what the token says alone. Forbidden: it
/// isn't what was expected, or not signed by one of the keys. NotFound: it names a key that isn't among them.
Result<Identity> verify_id_token(std::string_view token, const std::vector<IssuerKey>& keys,
                                 const ExpectedToken& expected);

}  // namespace mist::catalog
