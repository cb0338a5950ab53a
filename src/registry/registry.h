#pragma once
// The one door to packages from everywhere: configured registries (git or a directory), OCI registries, git
// URLs, local paths. A package that was read once in an exact version needs no network and no git process
// again, and its bytes can't change unnoticed (pin_store.h).
//
// Any thread, many processes at once. `main` builds one; a test builds one with a fake ProcessRunner.

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "config/config.h"
#include "config/paths.h"
#include "registry/address_copies.h"
#include "registry/chart_repository.h"
#include "registry/fetched.h"
#include "registry/new_signers.h"
#include "registry/oci_session.h"
#include "registry/recorded_signers.h"
#include "registry/reference.h"
#include "registry/registry_view.h"
#include "trust/provenance.h"

namespace mist::registry {

/// The outcome of an update.
struct UpdateReport {
  std::string registry;
  std::string before;        ///< commit, empty: first snapshot, or no git registry
  std::string after;         ///< commit, empty: no git registry
  std::size_t packages = 0;  ///< packages now there
  std::size_t versions = 0;  ///< versions now there, of all packages
  std::size_t accepted = 0;  ///< versions whose changed bytes were accepted
};

struct PackageVersions {
  std::string path;
  std::vector<std::string> versions;  ///< ascending; SemVer order where they are SemVer
};

class Registries {
 public:
  struct Dependencies {
    FileSystem& files;
    ProcessRunner& processes;
    EventSink& events;
    config::Paths paths;
    const Clock& clock;
    OciAccess oci = {};
    Mirrors mirrors = Mirrors::Use;
    trust::CheckProvenance check_provenance = {};  ///< none: where a keyring is required, nothing can be used
    /// A directory on this machine is somebody else's package, unpacked: nothing around it belongs to it.
    bool is_unpacked = false;
    /// Remember: for whoever renders packages.
    NewSigners signers = NewSigners::Leave;
    /// Of the release that packages are fetched for, beside what this machine remembers.
    RecordedSigners recorded = {};
  };

  explicit Registries(Dependencies dependencies);
  Registries(const Registries&) = delete;
  Registries& operator=(const Registries&) = delete;
  ~Registries();

  /// PackageRef::parse with better hints: looks whether a file of that name exists, and which registries are
  /// configured. Reads the file system, never the network.
  Result<PackageRef> parse(std::string_view text) const;

  /// The package. A version that isn't in the local snapshot is looked for once more after an update. Errors:
  /// NotFound (registry, package or version; names what there is and what is nearest), Conflict (these bytes
  /// aren't what that version or `@sha256:` says; both digests named), Invalid (no package, links, too
  /// large), Retryable, Forbidden, Timeout (the remote), Cancelled. `engine` is what will render it, if the
  /// user said so: it decides what belongs to a directory. `may_keep` is asked before a version is known by
  /// its bytes; its errors are those of the call.
  Result<Fetched> fetch(const PackageRef& reference, const Context& context, std::string_view engine = {},
                        MayKeep may_keep = {});
  /// The package that a version in an OCI registry had under this manifest, wherever its tag points now, and
  /// if it is gone. Of other registries as fetch. NotFound also where the registry has no such manifest.
  Result<Fetched> fetch_manifest(const PackageRef& reference, const crypto::Digest& manifest,
                                 const Context& context);
  /// As fetch, with the signatures of a packed chart, as far as `keyring` is concerned: of its provenance
  /// file, wherever the package comes from. Nothing is remembered of bytes that it didn't sign, so the
  /// version may have the right ones the next time. `may_keep` is asked of those that it signed. Errors:
  /// Invalid (no packed chart), as fetch.
  Result<VerifiedPackage> fetch_verified(const PackageRef& reference,
                                         std::shared_ptr<const trust::Keyring> keyring,
                                         const Context& context, std::string_view engine = {},
                                         MayKeep may_keep = {});
  /// The same, whatever the trust policy says of a chart in a chart repository: for whoever judges it then.
  Result<VerifiedPackage> fetch_to_verify(const PackageRef& reference,
                                          std::shared_ptr<const trust::Keyring> keyring,
                                          const Context& context);
  /// As fetch, but a version in an OCI registry may have other bytes now: they are the known ones from now
  /// on.
  Result<Fetched> fetch_moved(const PackageRef& reference, const Context& context);
  /// The signers of a package that was fetched, for the record of a release: OciTrust::signers_of. Nothing,
  /// too: it is of no OCI registry.
  Result<std::optional<UsedSigners>> signers_of(const PackageRef& fetched);
  /// Succeeds unless `raw`, the manifest that the tag of `tagged` has now, is of a version that had other
  /// bytes when it was first used here. Keeps nothing. Errors: Conflict, as fetch.
  Status check_bytes(const oci::Reference& tagged, const RawManifest& raw, const Context& context);
  /// From now on the version has the bytes of `raw`, the manifest that the tag of `tagged` has in `source`.
  /// Of a version that was never used here nothing is kept. Errors: as fetch.
  Status accept_bytes(OciSource& source, const oci::Reference& tagged, const RawManifest& raw,
                      const Context& context);
  /// Helm's provenance file of a packed chart that was fetched, whoever signed it: nobody holds the chart
  /// against it here. Errors: Invalid (no packed chart; a package in git has none), as fetch.
  Result<ProvenanceFile> provenance(const Fetched& package, const Context& context);
  /// The archive of a chart that was downloaded by its repository's address, if it is the chart and version
  /// of its index, and may be used: by the policy, under that address and the names that the repository has
  /// here, and if a key of `keyring` signed it, unless that is null. Errors: Forbidden, Conflict, Invalid (no
  /// chart, or another one; a policy that can't be read), of fetch_remote_file.
  Result<std::string> checked_archive(DownloadedChart chart, http::Transport& transport,
                                      std::shared_ptr<const trust::Keyring> keyring, const Context& context);
  /// A package in git or a catalog, or a chart in a chart repository, as mirrors keep it (address_copies.h).
  /// Nothing: it is of another kind, or on this machine. Errors: as fetch.
  Result<std::optional<AddressCopy>> copy_of(const PackageRef& reference, const Context& context);
  /// The same of the index of a configured registry, by which packages are found: of git as the local copy
  /// has it, of others as it is now. Nothing: it has none, or copies of such registries don't exist. Errors:
  /// NotFound (no such registry), as update.
  Result<std::optional<AddressCopy>> copy_of_index(const std::string& registry, const Context& context);
  /// Mirrors of what is in no OCI registry. Lives as long as this.
  const AddressCopies& copies() const;
  /// The reference in terms of an OCI registry, by its name or address; nothing: it is of another kind.
  Result<std::optional<oci::Reference>> oci_reference(const PackageRef& reference) const;

  /// The kustomization in `path` of a git repository, for a base that another kustomization names. Errors:
  /// Invalid (an address or ref that git may not see, no kustomization there, a submodule without an
  /// address), as fetch.
  Result<FetchedBase> fetch_base(const BaseReference& base, const Context& context);

  /// Ascending. Reads the snapshot; the network only when there is none yet. Errors: NotFound and as fetch.
  Result<std::vector<std::string>> list_versions(const std::string& registry, const std::string& path,
                                                 const Context& context);
  /// The same, to choose a new version among: of a chart repository or a catalog as it is now, though asked
  /// once by each of these objects; of git as the local copy has it, as for a range. While the server is
  /// away, with a warning, as it was.
  Result<std::vector<std::string>> newest_versions(const std::string& registry, const std::string& path,
                                                   const Context& context);
  /// The tags of an OCI repository that are whole versions, newest first. Asks the registry. Errors: NotFound
  /// (all that are versions are like "1.4"), of OciClient::tags.
  Result<std::vector<std::string>> list_versions(const oci::Repository& repository, const Context& context);
  /// Every package of a registry, ascending by path. Same rules.
  Result<std::vector<PackageVersions>> list_packages(const std::string& registry, const Context& context);

  /// A file beside the packages of a registry in git or a directory, such as its index. As
  /// RegistryView::file.
  Result<RegistryFile> read_file(const std::string& registry, const std::string& path,
                                 const std::string& known, const Context& context);

  /// The configured registries in order. URLs are as configured: print them through config::redact_urls.
  Result<std::vector<config::Registry>> list() const;
  /// The hosts, without ports, that the configuration names: of registries, and of those that have mirrors.
  /// Errors: of a configuration that can't be read.
  Result<std::set<std::string>> configured_hosts() const;
  /// Writes the configuration; the network isn't asked. Errors: Invalid (URL), Conflict (name), as edit.
  Status add(const config::Registry& registry, const Context& context);
  /// For who writes to OCI registries; made with the first call. Lives as long as this. Invalid: this program
  /// has no access to them.
  Result<OciClient*> oci_client();
  /// For who only reads packages: mirrors first, as the configuration says. The same. Invalid also for a
  /// configuration that can't be read.
  Result<OciSource*> oci_source();

  /// Also forgets snapshot and pins. Errors: NotFound, as edit.
  Status remove(const std::string& name, const Context& context);
  /// Brings the snapshot of a git registry up to date. Failed or killed, the last good one stays. Errors:
  /// Conflict when a version that was used before has other bytes now (unless accepted); as fetch.
  Result<UpdateReport> update(const std::string& name, const Context& context,
                              ChangedVersions changed = ChangedVersions::Refuse);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// `registry add NAME -g URL`: one remote "default", as the original writes it.
config::Registry registry_with_git(std::string name, std::string url);
config::Registry registry_with_directory(std::string name, std::string path);
config::Registry registry_with_oci(std::string name, std::string url);
config::Registry registry_with_helm(std::string name, std::string url);
config::Registry registry_with_catalog(std::string name, std::string url);

}  // namespace mist::registry
