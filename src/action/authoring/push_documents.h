#pragma once
// Documents about a package (package_documents.h) beside it in an OCI registry. One thread.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "action/authoring/package_documents.h"
#include "base/context.h"
#include "base/result.h"
#include "oci/layout.h"
#include "registry/oci_client.h"
#include "registry/oci_documents.h"
#include "registry/statement_signer.h"

namespace mist::action {

struct DocumentOptions {
  std::set<oci::DocumentKind> kinds;                     ///< Sbom, Provenance
  std::optional<registry::StatementSigner> signer = {};  ///< of the provenance
  std::vector<PackagePart> parts;                        ///< package_parts() of it
  std::optional<registry::SourceCommit> commit;
  std::string tool_version;  ///< of mistctl
  bool is_new = false;       ///< the package isn't in the registry yet, so nothing is looked for there
};

struct PushedDocument {
  oci::DocumentKind kind = oci::DocumentKind::Sbom;
  crypto::Digest manifest;  ///< that refers to the package
  std::string type;         ///< its artifactType
  std::string key;          ///< the fingerprint of the key that signed it; empty: no key did
  std::optional<trust::Identity> identity = {};  ///< that signed it
  bool was_there = false;                        ///< the same, before: nothing was sent
};

/// A document that can be attached.
struct MadeDocument {
  PushedDocument about;
  std::optional<oci::Artifact> artifact;  ///< nothing: the same signer's is there
};

/// Makes and signs the documents of a package, before it is pushed or after. `pushed`: its reference with its
/// digest; `manifest`: of it. One that the same signer signed before is not signed again. Errors: of the
/// signer, of OciClient.
Result<std::vector<MadeDocument>> make_documents(registry::OciClient& client, const oci::Reference& pushed,
                                                 const std::string& manifest, const DocumentOptions& options,
                                                 const Context& context);

/// Sends them once the package is there. Errors: of OciClient, registry::attach_document.
Result<std::vector<PushedDocument>> attach_documents(registry::OciClient& client,
                                                     const oci::Reference& pushed,
                                                     std::vector<MadeDocument> documents,
                                                     const Context& context);

}  // namespace mist::action
