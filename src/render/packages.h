#pragma once
// From a reference to a package that can be rendered: fetched, pinned, and complete with what it names
// elsewhere and with the packages that it calls. One thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/remote_bases.h"
#include "http/transport.h"
#include "package/renderer.h"
#include "package/values.h"
#include "registry/registry.h"
#include "render/dependencies.h"
#include "trust/policy.h"
#include "trust/proof.h"

namespace mist::render {

/// The detail of an error about what a package names itself, remote bases or dependencies: the package was
/// fetched.
struct NamedElsewhere {};

class Packages final : private PackageFinder {
 public:
  /// Everything impure; what it refers to outlives the packages.
  struct Dependencies {
    registry::Registries::Dependencies registries;
    /// Asked for when a kustomization names a file by its URL, or a chart.
    std::function<std::unique_ptr<http::Transport>()> transport;
    package::RendererOptions engines;  ///< of the engine that says what a kustomization names
    formats::RemoteBases remote_bases = formats::RemoteBases::Public;
    bool locked = false;  ///< DependencyRules::locked of what is fetched
    /// Must have signed the chart that is fetched by name, beside what the policy says; null: nothing more.
    std::shared_ptr<const trust::Keyring> keyring = {};
    /// The revision that the release runs now: the same version with other bytes is a
    /// Conflict (deployed_version.h), and nothing of them is remembered. Null: that doesn't matter.
    const release::PackageInfo* deployed = nullptr;
  };
  explicit Packages(Dependencies dependencies);

  /// `reference`: of a registry (oci:// too), or a path that begins with ./, ../ or /. `engine`: what renders
  /// a directory, instead of what its files tell; empty: that. Errors: those of Registries, of
  /// formats::fetch_remote_bases and of resolve_dependencies.
  Result<package::Source> fetch(std::string_view reference, std::string engine, const Context& context) {
    MIST_TRY(const registry::PackageRef parsed, registries_.parse(reference));
    return fetch(parsed, std::move(engine), nullptr, context);
  }
  /// From now on, `copied` gets copies for mirrors of what kustomizations name elsewhere, as
  /// formats::RemoteDependencies::copied does.
  void keep_copies(
      std::function<void(const std::string& what, std::optional<registry::AddressCopy> copy)> copied) {
    copied_ = std::move(copied);
  }
  /// The proofs by which `Dependencies::keyring` signed the chart that was fetched last.
  const std::vector<trust::Proof>& verified() const { return verified_; }
  /// The same for a release, which keeps the versions of what its package calls. Conflict too when a
  /// version's bytes changed, or those of a commit.
  Result<package::Source> fetch_recorded(const release::PackageInfo& recorded, std::string engine,
                                         const Context& context);
  /// The dependencies that `source` would have, for its lock; `directory` as in solve_dependencies.
  Result<Resolution> solve(const package::Source& source, const std::string& directory,
                           const DependencyRules& rules, const Context& context) {
    return solve_dependencies(source, directory, rules, *this, context);
  }
  /// The remote bases of the package's kustomizations, as a lock has them: those in `known`, and the rest as
  /// it is today. Empty: nothing. Errors: as fetch; with `locked`, Conflict where `known` isn't all of it.
  Result<std::vector<resolve::LockedRemote>> remotes(std::string_view reference,
                                                     const resolve::LockFile& known, bool locked,
                                                     const Context& context);
  Result<std::vector<resolve::LockedRemote>> remotes(const registry::PackageRef& parsed,
                                                     const resolve::LockFile& known, bool locked,
                                                     const Context& context);
  /// A package that the one which was resolved last depends on: its server may be limited to public
  /// addresses. Errors: those of Registries.
  Result<registry::PackageRef> parse_dependency(const std::string& reference) const;
  /// Where the tag of a locked package's version is now.
  enum class Tag : std::uint8_t { AsLocked, Moved, Gone };
  /// AsLocked too where the lock names no manifest. Asks the registry. Errors: those of Registries.
  Result<Tag> tag_of(const resolve::LockedPackage& locked, const Context& context);
  /// The registry in git whose local copy says which versions of the package there are, "team" of "team/web";
  /// empty: it is of another kind. Errors: of a configuration that can't be read.
  Result<std::string> local_copy_of(const std::string& package) const;
  /// As PackageFinder has them.
  Result<std::vector<std::string>> versions(const std::string& package, const Context& context) override;
  Result<std::vector<std::string>> newest_versions(const std::string& package,
                                                   const Context& context) override;

 private:
  Result<package::Source> fetch(const registry::PackageRef& reference, std::string engine,
                                const std::vector<release::CalledPackage>* recorded, const Context& context);
  // A package as it is, which may lack what it names elsewhere; and where it comes from.
  struct Found {
    package::Source source;
    bool is_local = false;
    std::string origin;
  };
  Result<Found> found(registry::Fetched fetched, const registry::PackageRef& reference, std::string engine);
  Result<Found> read(const registry::PackageRef& reference, std::string engine, const Context& context,
                     const registry::MayKeep& may_keep = {});
  Result<Found> read_verified(const registry::PackageRef& reference, std::string engine,
                              const Context& context);
  Result<package::Source> find(const registry::PackageRef& reference, std::string engine, bool locked,
                               const Context& context);
  Result<package::Source> completed(Found found, bool locked, const Context& context);
  std::set<std::string> trust_only(std::set<std::string> hosts) override;
  Result<package::Source> find(const std::string& reference, const Context& context) override;
  Result<package::Source> find_locked(const std::string& reference, const resolve::Origin& locked,
                                      const Context& context) override;
  Result<package::Source> find_with_digest(const registry::PackageRef& parsed, const std::string& digest,
                                           const Context& context);
  Result<package::Source> find_moved(const std::string& reference, const Context& context) override;
  Result<std::vector<resolve::LockedRemote>> complete(Found& found, const resolve::LockFile* lock,
                                                      bool locked, const Context& context);

  Dependencies dependencies_;
  registry::Registries registries_;
  std::vector<trust::Proof> verified_;
  std::function<void(const std::string&, std::optional<registry::AddressCopy>)> copied_;
  std::optional<std::set<std::string>> trusted_hosts_;  // as trust_only has them; nothing: all
};

/// The values of that package: those of charts are Helm's. Invalid with line and column; `events` get the
/// warnings.
Result<encoding::Value> values_for(const package::Source& source,
                                   std::span<const package::ValuesInput> inputs, EventSink& events);

}  // namespace mist::render
