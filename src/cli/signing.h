#pragma once
// Keys and signatures for commands: the key that a flag names, with its password; what is known of a
// package's signatures, as text and JSON. One thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "encoding/value.h"
#include "package/renderer.h"
#include "registry/oci_documents.h"
#include "registry/oci_signatures.h"
#include "registry/oci_trust.h"
#include "trust/minisign.h"

namespace mist::cli {

/// Of commands that publish. A bare --sign says as little about who signs as a bare `mistctl sign`.
inline constexpr Flag kSignFlag{
    .name = "sign",
    .type = FlagType::Text,
    .value = "KEY",
    .help =
        "Sign it, and provenance that goes along, with the private key in that file, as mistctl sign does",
    .completion = Completion::File,
    .no_value = "--sign FILE signs with a key, --keyless with an identity"};

/// Usage: both --sign and --keyless are given.
Status check_one_signer(const Invocation& invocation);

/// The private key in `file`. Its password, where it has one, is asked for, or taken from MIST_KEY_PASSWORD
/// or COSIGN_PASSWORD; never from an argument, which others see. Errors: of the file, Invalid (no key, a
/// wrong password), Usage (nobody can answer).
Result<crypto::PrivateKey> read_signing_key(const Invocation& invocation, Machine& machine,
                                            const std::string& file);

/// The same of a file of minisign's.
Result<trust::MinisignKey> read_minisign_key(const Invocation& invocation, Machine& machine,
                                             const std::string& file);

/// Signs what was pushed or named, and says so.
Result<registry::SignReport> sign_reference(Machine& machine, registry::OciClient& client,
                                            const oci::Reference& reference, const crypto::PrivateKey& key,
                                            std::map<std::string, std::string> annotations = {});

/// The same by an identity: attaches a bundle.
struct IdentityReport {
  oci::Reference signed_reference;  ///< with the digest that was signed
  crypto::Digest manifest;          ///< that holds the bundle
  bool was_there = false;           ///< signed by that identity before: nothing was sent
};
Result<IdentityReport> sign_reference(Machine& machine, registry::OciClient& client,
                                      const oci::Reference& reference,
                                      const registry::StatementSigner& signer,
                                      std::map<std::string, std::string> annotations = {});
/// Says who signed it.
void say_signed(Machine& machine, const trust::Identity& identity, bool was_there);

/// As `signatures` of schemas/cli/verify.schema.json.
encoding::Value signatures_value(const std::vector<trust::Proof>& proofs);

/// The findings about a package's signatures when it was fetched; nothing: it is of no registry, or the
/// policy ignores its signatures.
Result<std::optional<registry::Verdict>> recorded_signatures(Machine& machine, const package::Source& source);

/// A document that hangs on an artifact, and what its signature proves.
struct ExaminedDocument {
  registry::AttachedDocument document;
  std::vector<trust::Proof> proofs;  ///< empty: it isn't signed
};

/// All of the manifest that `reference` names by its digest. Keys have the names that the trust policy gives
/// them. Errors: of registry::list_documents, of the policy.
Result<std::vector<ExaminedDocument>> examined_documents(Machine& machine, registry::OciSource& source,
                                                         const oci::Reference& reference);
/// As `documents` of schemas/cli/inspect-package.schema.json.
encoding::Value documents_value(const std::vector<ExaminedDocument>& documents);
/// "sbom application/vnd.cyclonedx+json sha256:…, not signed".
std::string document_text(const ExaminedDocument& document);

}  // namespace mist::cli
