#pragma once
// RegistryView: one registry of the configuration, whichever kind it is. Every kind of registry implements
// it; add the next one beside the two here and in `open_view`. An OCI registry is none: it is asked for one
// repository at a time. Any thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/config.h"
#include "config/paths.h"
#include "registry/chart_trust.h"
#include "registry/git.h"
#include "registry/layout.h"
#include "registry/oci_session.h"
#include "registry/package_files.h"
#include "registry/reference.h"
#include "registry/repository_health.h"

namespace mist::registry {

/// A package as a registry gave it out.
struct ReadPackage {
  PackageContent content;
  std::string object;  ///< Located::object; empty in a directory registry
  std::string origin;  ///< for people, without credentials
};

/// A file of a registry that is no package.
struct RegistryFile {
  std::string
      state;  ///< of what was looked at: a commit, a digest; empty: there is no such file in a directory
  bool is_known = false;             ///< the caller knows that state: nothing was read
  std::optional<std::string> bytes;  ///< nothing: known already, or there is no such file
};

/// One state of a registry that an update is about to show to everybody.
class RegistryState {
 public:
  virtual ~RegistryState() = default;
  /// Located::object of a version, cheap; empty when only reading tells. Errors: as PackageIndex::find.
  virtual Result<std::string> object_of(const RegistryRef& reference) const = 0;
  virtual Result<ReadPackage> read(const RegistryRef& reference) const = 0;
};

class RegistryView {
 public:
  virtual ~RegistryView() = default;

  using Accept = std::function<Status(const RegistryState&)>;

  /// True when what was read once may be taken from the cache without looking here again.
  virtual bool is_remote() const = 0;
  /// The reference with the version that a range stands for: the newest one that is here, and after an update
  /// where none is. Any other reference as it is. Errors: NotFound, as index and update.
  virtual Result<RegistryRef> exact(const RegistryRef& reference, const Context& context,
                                    const Accept& accept);
  /// The address of a chart repository, whose packages are signed as charts are (chart_trust.h); empty: it is
  /// none, and they are signed as files are (file_trust.h).
  virtual std::string_view chart_repository() const { return {}; }
  /// The provenance file of a version in a chart repository. Errors: as read.
  virtual Result<ProvenanceFile> provenance(const RegistryRef& /*reference*/, const Context& /*context*/,
                                            const Accept& /*accept*/) {
    return ProvenanceFile{};
  }
  /// Looks after an update too, where the version isn't here yet. `accept` as in update.
  virtual Result<ReadPackage> read(const RegistryRef& reference, const Context& context,
                                   const Accept& accept) = 0;
  /// The network only when there is no local state yet.
  virtual Result<PackageIndex> index(const Context& context, const Accept& accept) = 0;
  /// A file beside the packages, as it is in the local state; the network only when there is none yet.
  /// `known`: a state that isn't needed again.
  virtual Result<RegistryFile> file(const std::string& path, const std::string& known, const Context& context,
                                    const Accept& accept) = 0;
  /// The index as it is known without the network; empty when nothing is known.
  virtual PackageIndex known() const = 0;
  /// The versions of a package, ascending. Errors: NotFound (no such package), as index.
  virtual Result<std::vector<std::string>> versions(const std::string& registry, const std::string& path,
                                                    const Context& context, const Accept& accept);
  /// The same, to choose a new one among: of a state that is cheap to ask for as it is now, while its server
  /// answers.
  virtual Result<std::vector<std::string>> newest_versions(const std::string& registry,
                                                           const std::string& path, const Context& context,
                                                           const Accept& accept) {
    return versions(registry, path, context, accept);
  }
  /// The file with the signature of a package: that of `path` beside the packages. Nothing: there is none.
  virtual Result<std::optional<std::string>> signature(const RegistryRef& reference, const std::string& path,
                                                       const Context& context, const Accept& accept);

  struct Moved {
    std::string before, after;  ///< commits; empty: none, or no such thing
  };
  /// `accept` sees the new state first; when it fails, the old one stays.
  virtual Result<Moved> update(const Context& context, const Accept& accept) = 0;
  /// After a package that it led to was refused. Where a state may be had again at any time, it is asked for
  /// again before it is used again: what somebody else had put into it would outlive the repair. While the
  /// server is away, it will do.
  virtual void doubt_state() {}
};

/// The view of a configured registry, through its default remote. `web`: how chart repositories are reached;
/// `health`: those that failed aren't waited for again. Errors: Invalid (URL).
Result<std::unique_ptr<RegistryView>> open_view(const config::Registry& registry, const config::Paths& paths,
                                                FileSystem& files, const Git& git, EventSink& events,
                                                const OciAccess& web, RepositoryHealth& health);

/// The directory below Paths::registries() of one address (and ref) of a registry. `name` stays readable.
std::string snapshot_directory_name(const std::string& name, const std::string& address);
bool is_snapshot_directory_of(const std::string& name, std::string_view directory);

}  // namespace mist::registry
