#pragma once
// Signers of statements about artifacts: a key, or an identity (sigstore/signer.h). Plain values; the thread
// rule is that of what the functions hold.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "oci/attestation.h"
#include "oci/manifest.h"
#include "oci/signature.h"
#include "trust/keyless.h"

namespace mist::registry {

struct StatementSigner {
  /// The statement, signed, as a bundle. Errors: of the signer.
  std::function<Result<std::string>(std::string_view statement, const Context&)> sign;
  /// Whether a claim about the same was signed by the same signer, and that can be verified.
  std::function<bool(const oci::SignatureClaim&)> made;
  std::string key = {};  ///< its fingerprint; empty: an identity signs
  std::optional<trust::Identity> identity = {};
  oci::Annotations annotations = {};  ///< of a bundle's manifest
};

StatementSigner key_signer(const crypto::PrivateKey& key);

}  // namespace mist::registry
