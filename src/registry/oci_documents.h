#pragma once
// Documents that hang on artifacts in OCI registries (oci/document.h): attached, listed and read, wherever
// cosign, oras or mistctl put them. Any thread.

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "oci/document.h"
#include "oci/reference.h"
#include "oci/signature.h"
#include "registry/oci_store.h"

namespace mist::registry {

/// A document of an artifact, whose contents nobody has verified.
struct AttachedDocument {
  oci::DocumentKind kind = oci::DocumentKind::Attestation;
  oci::Descriptor document;  ///< its bytes
  crypto::Digest manifest;   ///< that holds it
  std::string tag;           ///< cosign's, that leads to the manifest; empty: the manifest is a referrer
  std::string predicate;     ///< the type of a statement's; empty: it is none, or can't be read
  /// Of a statement: what is signed, and how. Its `signature` is empty if nobody signed it.
  std::optional<oci::SignatureClaim> claim;
};

/// All of a manifest's, in a fixed order. A referrer that can't be read, or is about another manifest, is
/// left out. Three or four requests, and up to two for each document. Errors: Invalid (more than
/// oci::kMaxSignatures), of OciSource.
Result<std::vector<AttachedDocument>> list_documents(OciSource& source, const oci::Repository& repository,
                                                     const crypto::Digest& manifest, const Context& context);

/// Adds `added` to the index that stands for the referrers of a manifest where the registry has no API for
/// them (distribution specification, "Pushing Manifests with Subject"). Errors: Invalid (the tag is no
/// index), Conflict (others write it at the same time, again and again), Retryable (the registry loses it),
/// of OciTarget.
Status add_to_referrers_tag(OciTarget& target, const oci::Repository& repository,
                            const crypto::Digest& subject, std::vector<oci::Descriptor> added,
                            const Context& context);

/// Sends a document's artifact, which refers to `subject`. True: exactly that one was there. Errors: of
/// OciTarget, add_to_referrers_tag.
Result<bool> attach_document(OciTarget& target, const oci::Repository& repository,
                             const crypto::Digest& subject, const oci::Artifact& artifact,
                             const Context& context);

}  // namespace mist::registry
