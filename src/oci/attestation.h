#pragma once
// Attestations as data: in-toto statements (https://in-toto.io/Statement/v1) by themselves, in a DSSE
// envelope, or in a Sigstore bundle. A bundle with a certain predicate is a signature (signature.h); others
// say other things of an artifact. All that is read here is a claim: nothing is verified. Pure; any thread.

#include <string>
#include <string_view>

#include "crypto/signing.h"
#include "oci/signature.h"

namespace mist::oci {

inline constexpr std::string_view kStatementType = "application/vnd.in-toto+json";
inline constexpr std::string_view kSignPredicate = "https://sigstore.dev/cosign/sign/v1";
/// Of a bundle's manifest: its statement's predicate.
inline constexpr std::string_view kPredicateAnnotation = "dev.sigstore.bundle.predicateType";
/// Beside a signature: the key that made it, in PEM.
inline constexpr std::string_view kKeyAnnotation = "dev.mistletoe/public-key";

struct Attestation {
  SignatureClaim claim;   ///< its `signature` is empty if nobody signed it
  std::string predicate;  ///< the type of the statement's; empty: it can't be read
};

/// A bundle, a DSSE envelope, or a statement by itself.
Attestation read_attestation(std::string_view document);
/// The same, of a bundle alone.
Attestation read_bundle(std::string_view bundle);

/// `statement` (JSON), signed, as a bundle.
std::string signed_bundle(std::string_view statement, const crypto::PrivateKey& key);

}  // namespace mist::oci
