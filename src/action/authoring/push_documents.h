#pragma once
// Documents about a package (package_documents.h) beside it in an OCI registry. One thread.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "action/authoring/package_documents.h"
#include "base/context.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "registry/oci_client.h"
#include "registry/oci_documents.h"

namespace mist::action {

struct DocumentOptions {
  std::set<oci::DocumentKind> kinds;      ///< Sbom, Provenance
  std::optional<crypto::PrivateKey> key;  ///< that signs the provenance
  std::vector<PackagePart> parts;         ///< package_parts() of it
  std::optional<registry::SourceCommit> commit;
  std::string tool_version;  ///< of mistctl
};

struct PushedDocument {
  oci::DocumentKind kind = oci::DocumentKind::Sbom;
  crypto::Digest manifest;  ///< that refers to the package
  std::string type;         ///< its artifactType
  std::string key;          ///< the fingerprint of the key that signed it; empty: it isn't signed
  bool was_there = false;   ///< the same, before: nothing was sent
};

/// Sends the documents of what was pushed. `pushed`: with its digest. One that the same key signed before is
/// not sent again. Errors: of OciClient, registry::attach_document.
Result<std::vector<PushedDocument>> push_documents(registry::OciClient& client, const oci::Reference& pushed,
                                                   const DocumentOptions& options, const Context& context);

}  // namespace mist::action
