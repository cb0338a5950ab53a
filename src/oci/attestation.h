#pragma once
// Attestations as data: in-toto statements (https://in-toto.io/Statement/v1) by themselves, in a DSSE
// envelope, or in a Sigstore bundle. A bundle with a certain predicate is a signature (signature.h); others
// say other things of an artifact. All that is read here is a claim: nothing is verified. Pure; any thread.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/signing.h"
#include "encoding/value.h"
#include "oci/manifest.h"
#include "oci/signature.h"

namespace mist::oci {

inline constexpr std::string_view kStatementType = "application/vnd.in-toto+json";
inline constexpr std::string_view kSignPredicate = "https://sigstore.dev/cosign/sign/v1";
/// Of a bundle's manifest: its statement's predicate.
inline constexpr std::string_view kPredicateAnnotation = "dev.sigstore.bundle.predicateType";
/// The annotations of a bundle's manifest by which cosign finds it, with `more`.
Annotations bundle_annotations(std::string_view predicate, Annotations more = {});
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

/// The statement of a signature, as cosign makes it. The same bytes for the same signature.
std::string signature_statement(const crypto::Digest& manifest,
                                const std::map<std::string, std::string>& annotations);

/// The bytes that a signature of a statement is made of (DSSE, "Pre-Authentication Encoding").
std::string statement_message(std::string_view statement);
/// The DSSE envelope.
encoding::Value statement_envelope(std::string_view statement, std::string_view signature);

/// `statement` (JSON), signed, as a bundle.
std::string signed_bundle(std::string_view statement, const crypto::PrivateKey& key);

/// The proofs of a signature without a key of one's own.
struct KeylessMaterial {
  std::string certificate;               ///< DER
  std::vector<encoding::Value> entries;  ///< of transparency logs, as bundles have them
  std::vector<std::string> timestamps;   ///< responses of authorities, DER
};
/// The same with a certificate. `signature`: of statement_message.
std::string keyless_bundle(std::string_view statement, std::string_view signature,
                           const KeylessMaterial& material);

}  // namespace mist::oci
