#pragma once
// Whether a packed chart may be used, by Helm's provenance file: beside the archive in a chart repository or
// on this machine, a layer of its own in an OCI registry. Where a rule requires it, its text is kept, so that
// it can be held against another keyring without the network. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "http/transport.h"
#include "oci/reference.h"
#include "registry/chart_repository.h"
#include "registry/oci_client.h"
#include "registry/package_files.h"
#include "registry/reference.h"
#include "trust/memory.h"
#include "trust/policy.h"
#include "trust/proof.h"
#include "trust/provenance.h"

namespace mist::registry {

class OciTrust;

/// Beside the archive of a chart on this machine: NAME-VERSION.tgz.prov.
Path provenance_file_of(const Path& archive);

/// Of a chart in a chart repository. Errors: of fetch_remote_file.
Result<ProvenanceFile> read_provenance(http::Transport& transport, const ChartServer& server,
                                       const ChartVersion& version, const Context& context);

/// A chart of a chart repository as a package. `place`: what it is called in messages. Errors: Invalid.
Result<PackageContent> packed_chart(const std::string& name, std::string archive, const std::string& place);

/// The facts of a packed chart that its provenance file is held against. `place`: what it is called in
/// messages. Errors: Invalid (no packed chart).
Result<trust::ChartArchive> chart_archive(const PackageContent& content, const std::string& place);
/// The same of a chart repository, where the name is the chart's, whatever the file was called when it was
/// packed.
Result<trust::ChartArchive> repository_chart(const PackageContent& content, const std::string& place);

/// The chart of a manifest of an OCI registry, and its provenance layer. Nothing: it is no chart. Errors:
/// Invalid, of OciClient.
struct OciChart {
  std::optional<trust::ChartArchive> archive;  ///< nothing where there is no such layer
  ProvenanceFile provenance;
};
Result<std::optional<OciChart>> read_oci_chart(OciSource& client, const oci::Repository& repository,
                                               const crypto::Digest& manifest, const Context& context);

/// The signatures of a chart as far as they were looked at.
struct ChartProofs {
  std::vector<trust::Proof> proofs;
  std::string missing;  ///< where no provenance file is; empty: there is one
};

/// Whether the text of a provenance file stays on this machine: that of a file that is here need not.
enum class KeepText : bool { No, Yes };

/// The proof that the chart's provenance file gives: of the text that was kept of it, and where that proves
/// nothing of the one that `read` gives. Errors: of `read`, of CheckProvenance, Conflict (what was kept was
/// altered).
Result<ChartProofs> prove_chart(OciTrust& trust, const trust::Subject& subject,
                                const trust::ChartArchive& archive, const trust::Keyring& keyring,
                                const ReadProvenance& read, KeepText keep, const Context& context);

/// Succeeds if the chart of a chart repository may be used. A proof that is recorded needs no file.
/// Errors: Forbidden (the policy requires another signature), Invalid (the policy can't be read), as
/// prove_chart.
Status check_chart_trust(OciTrust& trust, const RegistryRef& reference, const PackageContent& content,
                         const crypto::Digest& digest, const ReadProvenance& read, const Context& context);

/// The name that such a chart has in the memory of this machine. With the version: what was proved of these
/// bytes under one name doesn't vouch for another one.
trust::Subject chart_subject(const RegistryRef& reference, const crypto::Digest& digest);

}  // namespace mist::registry
