#pragma once
// Files with keys for signing: PEM as OpenSSL writes it, encrypted or not, and cosign's own form
// (`cosign generate-key-pair`: scrypt, and NaCl's secretbox). Any thread.

#include <functional>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "crypto/signing.h"

namespace mist::trust {

/// Asks for the password of a key; called once at most, and only if the key is encrypted.
using AskPassword = std::function<Result<SecretString>()>;

/// Errors: Invalid (no private key, a wrong password), of `ask`.
Result<crypto::PrivateKey> read_private_key(std::string_view text, const AskPassword& ask);

/// A new P-256 key as cosign keeps it, encrypted with `password`.
struct NewKey {
  std::string private_file;  ///< "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----"
  std::string public_file;
};
NewKey make_key(const SecretString& password, Random& random);

}  // namespace mist::trust
