#pragma once
// Signatures in OCI registries: where cosign puts them, in both of its forms (oci/signature.h). Any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "oci/reference.h"
#include "oci/signature.h"
#include "registry/oci_client.h"
#include "registry/statement_signer.h"

namespace mist::registry {

/// All signatures of a manifest, verified or not. Two requests, three of registries without the referrers
/// API, and one for each signature. Errors: Invalid (more than a bound; a signature manifest that can't be
/// read), of OciClient.
Result<std::vector<oci::SignatureClaim>> read_signatures(OciSource& client, const oci::Repository& repository,
                                                         const crypto::Digest& manifest,
                                                         const Context& context);

struct SignReport {
  oci::Reference signed_reference;  ///< with the digest that was signed
  std::string tag;                  ///< where the signature is
  std::string key;                  ///< the fingerprint of the key
  bool was_there = false;           ///< signed with that key before: nothing was sent
};

struct SignOptions {
  WallTime now;
  std::map<std::string, std::string> annotations = {};
};

/// Signs what `reference` names (a tag or a digest, no range) and adds the signature to those that are there.
/// Errors: Conflict (others keep writing signatures at the same time), Retryable (the registry loses it), as
/// read_signatures.
Result<SignReport> sign_artifact(OciClient& client, const oci::Reference& reference,
                                 const crypto::PrivateKey& key, const SignOptions& options,
                                 const Context& context);

/// A signature as a bundle, which is attached to its manifest.
struct SignatureBundle {
  crypto::Digest manifest;                     ///< that holds it
  std::optional<oci::Artifact> artifact = {};  ///< to be attached; nothing: the signer's is there
};

struct BundleOptions {
  std::map<std::string, std::string> annotations = {};
  bool is_new = false;  ///< the manifest isn't in the registry yet, so nothing is looked for there
};

/// Signs `subject` unless a signature of that signer is there. Sends nothing: attach_document does. Errors:
/// of the signer, as read_signatures.
Result<SignatureBundle> sign_as_bundle(OciSource& client, const oci::Repository& repository,
                                       const oci::Descriptor& subject, const StatementSigner& signer,
                                       const BundleOptions& options, const Context& context);

}  // namespace mist::registry
