#pragma once
// Remote bases of Kustomize directories, and charts of repositories. The engine has no network: it says what
// its kustomizations name elsewhere, and this fetches that into the package, again and again until nothing is
// missing. So the package is complete before it is rendered, and its digest covers what was fetched. One
// thread.

#include <functional>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "config/config.h"
#include "encoding/value.h"
#include "http/transport.h"
#include "package/source.h"
#include "registry/registry.h"
#include "resolve/lock_file.h"

namespace mist::formats {

/// Where a package may have its remote bases: files, repositories and charts that its kustomizations name.
/// Public: at public addresses and on the server that it comes from; a package on this machine names what it
/// likes, and on the servers that it names, bases name others. None: nowhere, whoever names them.
using config::RemoteBases;

/// As package::Renderer::missing.
using FindMissing = std::function<Result<encoding::Value>(const package::Source&, const Context&)>;

struct RemoteDependencies {
  registry::Registries& registries;
  FindMissing missing;
  /// Asked for when a kustomization names a file by its URL, or a chart.
  std::function<std::unique_ptr<http::Transport>()> transport;
  /// The package is one of this machine's files, whose repositories it may name.
  bool is_local = false;
  std::string origin = {};  ///< where else it comes from, as an address: its server may be named
  RemoteBases allowed = RemoteBases::Public;
  /// Commits and digests of what is fetched; what isn't in it is as it is today.
  const resolve::LockFile* lock = nullptr;
  bool locked = false;  ///< exactly what is in `lock`, or an error
  /// Gets the copy for mirrors of each thing that was fetched, `what` being its name in a lock. Nothing: it
  /// is on this machine. Empty: nobody wants them.
  std::function<void(const std::string& what, std::optional<registry::AddressCopy> copy)> copied = {};
};

/// True if a kustomization of the package names something that may be elsewhere. Reads, runs nothing.
bool may_have_remote_bases(const package::Source& source);

/// Adds everything that `source` lacks, and corrects its digest. Files of its own at the place of fetched
/// ones are removed first, and so are the engine's options `remotes` and `charts`. Returns what was fetched,
/// as a lock has it. Errors: those of fetching, with what was to be fetched; Forbidden (where `allowed`
/// doesn't); Invalid (a repository without that kustomization, too many of them, more than a package may be);
/// Conflict (the lock has other bytes; with `locked`, it lacks something or has too much). Rendering reports
/// other problems.
Result<std::vector<resolve::LockedRemote>> fetch_remote_bases(const RemoteDependencies& dependencies,
                                                              package::Source& source,
                                                              const Context& context);

}  // namespace mist::formats
