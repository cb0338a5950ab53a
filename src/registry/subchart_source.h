#pragma once
// Where the charts that a chart depends on come from: directories (file://), chart repositories, OCI
// registries, git. Says which version of one is the newest that is wanted, and fetches it packed. Each
// repository is asked once. Any thread.
//
//   file://../common             a directory, relative to the chart
//   https://charts.example.com   a chart repository; @stable and alias:stable are its name for Helm
//   oci://registry.example/team  the chart's name follows: oci://registry.example/team/db
//   git+https://…//charts/db?ref=v1   the chart's directory in a repository (Helm knows no such thing)

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/once_map.h"
#include "http/transport.h"
#include "registry/chart_archive.h"
#include "registry/chart_repository.h"
#include "registry/helm_repositories.h"
#include "registry/registry.h"
#include "trust/policy.h"

namespace mist::registry {

struct PackedSubchart {
  std::string file;     ///< in charts/: "db-1.2.3.tgz", as Helm names it
  std::string archive;  ///< its bytes; as they came, if it came packed
  std::string version;  ///< of its Chart.yaml
};

class SubchartSource {
 public:
  struct Dependencies {
    Registries& registries;
    std::function<std::unique_ptr<http::Transport>()> transport;  ///< asked for when a repository is needed
    std::vector<HelmRepository> repositories = {};
    PlainHttp plain = PlainHttp::ThisMachine;
    /// Charts of chart repositories and OCI registries must be signed by a key of it; null: the trust policy
    /// alone says.
    std::shared_ptr<const trust::Keyring> keyring = {};
  };
  /// `chart` is the directory of the chart that asks.
  SubchartSource(Dependencies dependencies, Path chart);

  /// With the URL in place of a repository's name. NotFound: this machine has no such name; Invalid: nothing
  /// that a repository may be.
  Result<ChartDependency> resolved(ChartDependency wanted) const;

  // These take a dependency that has been resolved, and has a repository. Errors: NotFound (no such chart or
  // version), Invalid (no chart, another one, no range), of Registries and ChartIndex.

  /// The newest version in the range.
  Result<std::string> newest(const ChartDependency& wanted, const Context& context);
  /// The chart in the version that a lock says. Also Forbidden and Conflict: it isn't signed as it must be.
  Result<PackedSubchart> fetch(const ChartDependency& locked, const Context& context);

  /// A chart of a chart repository as mirrors keep it, in the version that a lock says, else in the newest
  /// one of the range. Nothing: it is of something else. Errors: as fetch.
  Result<std::optional<AddressCopy>> copy_of(const ChartDependency& locked, const Context& context);

 private:
  bool is_directory(const ChartDependency& dependency) const;
  Result<const ChartFiles*> directory(const ChartDependency& dependency, const Context& context);
  Result<const ChartIndex*> index(const std::string& repository, const Context& context);
  Result<std::string> newest_tag(const ChartDependency& wanted, const Context& context);
  // Refuses an archive that isn't the wanted one. `artifact`: that it is in, with its digest.
  using CheckArchive = std::function<Status(const std::string& archive, const Fetched& artifact)>;
  struct RepositoryArchive {
    std::string bytes;
    ReadProvenance provenance;
  };
  Result<Fetched> fetched_from_oci(const PackageRef& reference, const MayKeep& may_keep,
                                   const Context& context);
  Result<std::string> from_oci(const oci::Reference& reference, const CheckArchive& check,
                               const Context& context);
  // Where an entry of an index leads.
  Result<oci::Reference> oci_reference(const ChartServer& server, const ChartVersion& version) const;
  Result<RepositoryArchive> from_repository(const ChartIndex& index, const ChartVersion& version,
                                            const Context& context);
  http::Transport& web();

  Dependencies dependencies_;
  Path chart_;
  std::once_flag web_made_;
  std::unique_ptr<http::Transport> web_;
  OnceMap<std::string, ChartFiles> directories_;  // by repository
  OnceMap<std::string, ChartIndex> indexes_;      // by repository
};

/// True if the version is in the range, by Helm's rules; an empty range takes all. Invalid: no range.
Result<bool> fits_as_helm(const std::string& range, std::string_view version);

}  // namespace mist::registry
