#pragma once
// ChartJudge: whether a packed chart may be used, by the trust policy or by a keyring, wherever the chart
// came from: a chart repository that is configured or one that is named by its address, an OCI registry, a
// file. Any thread.

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "http/transport.h"
#include "registry/chart_repository.h"
#include "registry/chart_trust.h"
#include "registry/configured_registries.h"
#include "registry/fetched.h"
#include "registry/known_packages.h"
#include "registry/oci_session.h"
#include "registry/oci_trust.h"
#include "trust/policy.h"

namespace mist::registry {

class ChartJudge {
 public:
  /// All outlive this.
  ChartJudge(const FileSystem& files, const Clock& clock, const ConfiguredRegistries& configured,
             const KnownPackages& known, OciSession& oci, OciTrust& trust);

  /// By the policy, for the repository at the address `url`: a rule may have that address, or any name that
  /// the repository has here. Errors: of check_chart_trust; of Configuration.
  Status check(std::string_view url, RegistryRef chart, const PackageContent& content,
               const crypto::Digest& digest, const ReadProvenance& read, const Context& context) const;
  /// As Registries::checked_archive.
  Result<std::string> checked_archive(DownloadedChart chart, http::Transport& transport,
                                      std::shared_ptr<const trust::Keyring> keyring,
                                      const Context& context) const;
  /// The signatures of a packed chart, as far as `keyring` is concerned: of its provenance file, wherever the
  /// package came from. The policy isn't asked, and nothing is remembered. Errors: Invalid (no packed chart),
  /// as Registries::fetch.
  Result<ChartVerdict> verify(const Fetched& package, std::shared_ptr<const trust::Keyring> keyring,
                              const Context& context) const;
  /// As Registries::provenance.
  Result<ProvenanceFile> provenance(const Fetched& package, const Context& context) const;

 private:
  // The address of a chart repository as rules have it, and the names that it has here.
  Result<std::vector<std::string>> names_of(std::string_view url) const;
  // By its provenance file; nothing is recorded.
  Result<ChartVerdict> judged_by(const trust::Rule& rule, const trust::Subject& subject,
                                 const trust::ChartArchive& archive, const ReadProvenance& read,
                                 KeepText keep, const Context& context) const;

  const FileSystem& files_;
  const Clock& clock_;
  const ConfiguredRegistries& configured_;
  const KnownPackages& known_;
  OciSession& oci_;
  OciTrust& trust_;
};

}  // namespace mist::registry
