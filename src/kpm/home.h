#pragma once
// $KPM_HOME: which archives there are, what they hold, and the Kubes that were unpacked from them.
//
//   config.yaml        archives: [{name, url}], {name, url, service: true} for a central service
//   .archives/<name>/  the snapshot of one (registry/snapshot_store.h), or what a service said (service.h);
//                      address: of what. The rest of another archive of that name counts as nothing
//   .archives/<name>.lock     held by who updates or removes it
//   .archives/<name>.removed  what a killed archive-remove left; the next one removes it
//   NAME-VERSION/      unpacked by install, never changed again
//   NAME/              a working copy, made by get; only its user changes it
//   .copies/NAME.yaml  what get made it from: {archive, version, digest}
//   .lock              held while any of the others is written
//
// An archive is a git repository of packages/<name>/, and of packages/<name>/<version>/ where it keeps
// several; or a service that collects Kubes of many repositories. A Kube has manifests/, or it has a module,
// package.wasm, which says the same name and version of itself as K3.yaml. Any thread, many processes.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "http/transport.h"
#include "kpm/changes.h"
#include "kpm/dependencies.h"
#include "kpm/k3.h"
#include "kpm/service.h"
#include "registry/git.h"
#include "registry/package_files.h"
#include "registry/snapshot_store.h"

namespace mist::kpm {

struct Archive {
  std::string name;
  std::string url;  ///< may carry credentials: print it through config::redact_urls
  bool is_service = false;
};

/// A Kube of an archive.
struct Listed {
  std::string archive;
  std::string directory;  ///< "packages/etcd"; of a service: empty
  K3 k3;
  std::string digest = {};       ///< of a service: that of its bytes
  bool yanked = false;           ///< only for those who name exactly this version
  std::string yank_reason = {};  ///< empty: none was given
};

/// An archive that gave nothing.
struct Unread {
  std::string archive;
  Error why;
};

struct Catalog {
  std::vector<Listed> kubes;  ///< by archive, then name and version
  /// Of Kubes whose K3.yaml can't be read, which are left out. Each has the detail BrokenKube.
  std::vector<Error> problems;
  std::vector<Archive> archives = {};
  std::vector<Unread> unread = {};
};

struct Kube {
  K3 k3;
  Path directory;
  Path package;  ///< what renders it: the directory, or the module in it
  bool is_working_copy = false;
  std::string service = {};  ///< the URL of the service whose version it is; empty: it is of none

  bool is_module() const { return package != directory; }
};

/// A working copy beside the version that it was made from.
struct Comparison {
  Path copy, original;
  std::vector<FileChange> changes;
};

class Home {
 public:
  /// Asked for when a service is spoken to.
  using MakeTransport = std::function<std::unique_ptr<http::Transport>()>;
  /// Whether the server of an archive may be asked; its error is that of whatever isn't here then.
  using MayAsk = std::function<Status(const Archive&)>;
  /// `root` absolute. The others outlive this. Without `may_ask`, every server may be asked.
  Home(FileSystem& files, ProcessRunner& processes, MakeTransport transport, Path root, MayAsk may_ask = {})
      : files_(files),
        git_(processes),
        transport_(std::move(transport)),
        root_(std::move(root)),
        may_ask_(std::move(may_ask)) {}

  const Path& root() const { return root_; }

  /// Errors: Invalid, with file and line.
  Result<std::vector<Archive>> archives() const;
  /// The network isn't asked. Errors: Invalid (name, address), Conflict (the name is taken), of MayAsk.
  Status add_archive(const Archive& archive, const Context& context);
  /// And what was read from it; unpacked Kubes stay. NotFound.
  Status remove_archive(const std::string& name, const Context& context);

  /// Fetches an archive: of a git repository all Kubes, of a service its index. Failed or killed, its last
  /// state stays. The result is why contents of some Kubes are missing, if they are: the next update
  /// continues there, and reading one fetches it. Errors: Conflict (nothing was written: another process has
  /// removed it, or given its name another address), of MayAsk, of SnapshotStore::update.
  Result<std::optional<Error>> update(const Archive& archive, const Context& context);
  /// The packages in all archives, as of the last update. An archive that can't be read, or never was, keeps
  /// nobody from the others; it is an error when those have nothing: NotFound (never updated), of git.
  /// NotFound also when none is configured.
  Result<Catalog> catalog(const Context& context) const;

  /// `wanted` is [ARCHIVE/]NAME[:VERSION]; without a version the newest release, or where there is none, the
  /// newest prerelease. NotFound, with the nearest name, or why all versions were yanked; Invalid, with the
  /// place of the fault, when its K3.yaml can't be read; the error of the archive that it names; Conflict
  /// when several archives have it.
  static Result<Listed> choose(const Catalog& catalog, std::string_view wanted);

  /// The Kube that fits all `needs`, which are of that name: the newest release, as above. Where several
  /// archives have one, that of which a need names the address (its repo). NotFound, with the detail
  /// BrokenKube where the K3.yaml of one that may fit can't be read; Conflict when several are left; Invalid
  /// when an archive that a need names couldn't be read: what another one has under that name may be
  /// something else.
  static Result<Listed> choose_for(const Catalog& catalog, const std::string& name,
                                   std::span<const Dependency> needs);

  /// The newest version before `of` that nobody yanked, by SemVer's order; of `archive`, or where that is
  /// empty, of all. nullopt: there is none. Conflict when several archives have one.
  static Result<std::optional<Listed>> version_before(const Catalog& catalog, const K3& of,
                                                      std::string_view archive = {});

  /// The Kube in a directory of its author. Errors: NotFound, those of parse_k3.
  Result<Kube> in_directory(const Path& directory) const;
  /// The working copy of that name; nullopt: there is none. Invalid: of its K3.yaml.
  Result<std::optional<Kube>> working_copy(const std::string& name) const;
  /// Its files. Errors: of git; Conflict: its archive was updated since, and has another Kube in its place;
  /// Invalid: of a module that says it is something else, or of a service that delivers something else.
  Result<registry::PackageTree> tree_of(const Listed& listed, const Context& context) const;
  /// NAME-VERSION/, written if it isn't there. Conflict when other bytes are there, and as tree_of.
  Result<Kube> unpack(const Listed& listed, const Context& context);
  /// Makes NAME/, and unpacks what it is made from. Conflict when there is one, and as unpack.
  Result<Kube> get(const Listed& listed, const Context& context);

  /// Names of the working copies, sorted.
  Result<std::vector<std::string>> working_copies() const;
  /// Compares a working copy with the version that it was made from: `wanted` is NAME, or NAME:VERSION for
  /// another version. A version that isn't unpacked any more is taken from the archives again. Errors:
  /// Invalid (no name of a working copy), NotFound (no working copy; no archive has the version), Conflict
  /// (the unpacked version isn't what get found); of git.
  Result<Comparison> compare(std::string_view wanted, std::size_t context_lines, const Context& context);

  /// The K3.yaml in `directory`. Errors: NotFound, Invalid.
  Result<K3> read_k3(const Path& directory) const;

 private:
  Kube kube_in(K3 k3, Path directory, bool is_working_copy) const;
  Result<registry::PackageTree> fetched_tree(const Listed& listed, const Context& context) const;
  Path read_from(const std::string& archive) const { return root_ / ".archives" / archive; }
  Result<FileLock> lock_archive(const std::string& name, const Context& context) const;
  // Whether what was read is of this address.
  Result<bool> is_of(const Archive& archive) const;
  Status check_address(const Archive& archive) const;
  // With the archive's lock. Conflict: it was removed, or its name has another address, since it was read.
  Status check_is_configured(const Archive& archive) const;
  // The directory of the archive, for its address and no other. Under its lock, as forget.
  Status bind(const Archive& archive);
  Status forget(const std::string& archive);
  Result<registry::SnapshotStore> store(const Archive& archive) const;
  Service service(const Archive& archive) const;
  std::unique_ptr<http::Transport> transport_to(const Archive& archive) const;
  Status check_may_ask(const Archive& archive) const { return may_ask_ ? may_ask_(archive) : Status(); }
  Status change_archives(const std::function<Status(std::vector<Archive>&)>& change, const Context& context);
  Status add_kubes(const Archive& archive, Catalog& catalog, const Context& context) const;
  Status add_kubes_of_service(const Archive& archive, Catalog& catalog) const;
  // Of every change in `root_` but updates, which have locks of their own.
  Result<FileLock> lock(const Context& context) const;
  // NAME-VERSION/, which is written only under the lock.
  Result<Kube> keep(const Listed& listed, const registry::PackageTree& tree);
  Status check_no_copy(const std::string& name) const;
  Status write_tree(const registry::PackageTree& tree, const Path& target);
  // The version that get made a working copy from.
  struct Origin {
    std::string archive = {};  // empty: unknown
    encoding::SemVer version;
    std::string digest = {};  // empty: unknown
  };
  Path origin_file(const std::string& name) const { return root_ / ".copies" / (name + ".yaml"); }
  Status write_origin(const Listed& listed, const std::string& digest);
  Result<Origin> origin_of(const std::string& name) const;
  Error no_working_copy(const std::string& name) const;
  Error no_original(const std::string& name, const std::string& version) const;
  Result<Path> original(const std::string& name, const Origin& origin, const Context& context);

  FileSystem& files_;
  registry::Git git_;
  MakeTransport transport_;
  Path root_;
  MayAsk may_ask_;
};

}  // namespace mist::kpm
