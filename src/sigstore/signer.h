#pragma once
// KeylessSigner: signs statements without a key of one's own. A new key lives as long as this object; an
// authority issues a certificate for it to whom the identity token names; every signature gets timestamps and
// entries in transparency logs. All of it is verified under the trust root, as everybody else will verify it,
// before anything leaves this object. One thread.

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/random.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "sigstore/identity_token.h"
#include "sigstore/services.h"
#include "sigstore/signing_config.h"
#include "trust/keyless.h"
#include "trust/trust_root.h"

namespace mist::sigstore {

class KeylessSigner {
 public:
  struct Dependencies {
    http::Transport& transport;
    const Clock& clock;
    Random& random;
  };

  /// Gets the certificate. Errors: Forbidden (refused), Invalid (an entry of Rekor 2 without a timestamp that
  /// the trust root knows; a certificate that it doesn't accept), of SigningServices.
  static Result<KeylessSigner> open(Dependencies dependencies, ChosenServices services,
                                    std::shared_ptr<const trust::TrustRoot> root, const IdentityToken& token,
                                    const Context& context);

  const trust::Identity& identity() const { return identity_; }
  const trust::TrustRoot& root() const { return *root_; }

  /// A bundle that trust::verify_keyless accepts. Errors: Invalid (it would not be accepted: which part, and
  /// why), of SigningServices.
  Result<std::string> sign(std::string_view statement, const Context& context) const;

 private:
  KeylessSigner(Dependencies dependencies, ChosenServices services,
                std::shared_ptr<const trust::TrustRoot> root, crypto::PrivateKey key,
                trust::Identity identity, IssuedChain issued)
      : dependencies_(dependencies),
        services_(std::move(services)),
        root_(std::move(root)),
        key_(std::move(key)),
        identity_(std::move(identity)),
        issued_(std::move(issued)) {}
  Error unaccepted(const Error& why) const;

  Dependencies dependencies_;
  ChosenServices services_;
  std::shared_ptr<const trust::TrustRoot> root_;
  crypto::PrivateKey key_;
  trust::Identity identity_;
  IssuedChain issued_;
};

}  // namespace mist::sigstore
