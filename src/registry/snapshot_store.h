#pragma once
// SnapshotStore: the local picture of one ref of one git repository, under the cache directory.
//
//   <directory>/lock               held by who updates
//   <directory>/use                shared by who reads
//   <directory>/current            "<snapshot> <commit>": the only thing that ever changes, by rename
//   <directory>/snapshot-…/repo.git  bare, depth 1, without contents where the server can leave them out
//   <directory>/snapshot-…/tree      `git ls-tree -r -z` of the commit
//   <directory>/incoming-…         an update at work, or what a killed one left; the next update removes it
//
// An update fetches into a directory of its own and then switches `current`, so a failed or killed one leaves
// the last good state, and two at once are two in a row. Contents are read from git's object store by object
// id: there is no working tree that a path or a link could leave. Any thread, many processes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "registry/git.h"
#include "registry/layout.h"
#include "registry/package_files.h"

namespace mist::registry {

struct Snapshot {
  Path directory;
  std::string commit;
  /// While this or a copy of it is there, bound() leaves the snapshot. Null where the disk can't be written
  /// to.
  std::shared_ptr<const FileLock> use = nullptr;
};

class SnapshotStore {
 public:
  /// `ref` empty: the repository's HEAD.
  SnapshotStore(FileSystem& files, const Git& git, Path directory, GitUrl url, std::string ref);

  /// The last good one; nullopt before the first update, or when the cache was cleared.
  Result<std::optional<Snapshot>> current() const;

  struct Updated {
    Snapshot snapshot;
    std::string before;  ///< commit; empty: there was none
  };
  /// Asks the remote and fetches if it moved (always, when `force`). `accept` sees the new snapshot before
  /// anybody else; when it fails, the old one stays. Errors: of accept, of Git::run, of the lock.
  Result<Updated> update(const Context& context, bool force,
                         const std::function<Status(const Snapshot&)>& accept);

  /// Fetches the contents of those files which the snapshot came without: reading them talks to nobody
  /// afterwards. Those that the current snapshot has are copied from there. In batches, each with a deadline
  /// of its own; after a failure the batches before it stay. Errors: of Git::run.
  Status fetch_contents(const Snapshot& snapshot, std::span<const TreeEntry> entries,
                        const Context& context) const;

  Result<PackageIndex> index(const Snapshot& snapshot) const;
  /// May talk to the remote when the snapshot came without contents. A package that is too large leaves
  /// nothing behind. Errors: Invalid (too large, an LFS pointer, names that can't be files of a package),
  /// Retryable (with the packages that were read before, the snapshot is too large; the next update makes
  /// another), of Git::run.
  Result<PackageContent> read(const Snapshot& snapshot, const Located& located, const Context& context) const;

  /// Of a single file that is no package. Same errors.
  Result<std::string> read_file(const Snapshot& snapshot, const TreeEntry& entry,
                                const Context& context) const;

  /// Each of them, in their order, or why it can't be read: it is no file, a pointer of LFS, or larger than
  /// `most_bytes`. However many there are. Errors: of Git::run.
  Result<std::vector<Result<std::string>>> read_files(const Snapshot& snapshot,
                                                      std::span<const TreeEntry> entries,
                                                      std::uint64_t most_bytes, const Context& context) const;

  const GitUrl& url() const { return url_; }

  /// From now on the remote isn't asked: `why` is the error of whatever isn't here.
  void stay_here(Error why) { stays_here_ = std::move(why); }

  /// Removes the snapshots below `registries` that were used longest ago, until the rest is not larger than
  /// `limit` bytes. Those that are being read or updated stay. The next use of what went fetches it again.
  /// Returns how many bytes there are then.
  static std::uint64_t bound(FileSystem& files, const Path& registries, std::uint64_t limit);

 private:
  struct RemoteTip {
    std::string commit;
    std::string name;  ///< what to fetch: a full ref name, or the commit
  };
  std::shared_ptr<const FileLock> in_use() const;
  Result<RemoteTip> remote_tip(const Context& context) const;
  Result<RemoteTip> only_branch(const Context& context) const;
  Result<std::string> fetch_into(const Path& incoming, const RemoteTip& tip, const Context& caller) const;
  Result<std::string> fetch_tip(const Path& incoming, const RemoteTip& tip, const Context& context) const;
  Result<PackageTree> read_tree(const Snapshot& snapshot, const Located& located,
                                const Context& context) const;
  Result<std::vector<std::string>> read_objects(const Path& repository,
                                                std::span<const TreeEntry* const> wanted,
                                                const Context& context) const;
  Result<std::vector<Result<std::string>>> read_batch(const Path& repository,
                                                      std::span<const TreeEntry* const> wanted,
                                                      std::uint64_t most_bytes, const Context& context) const;
  Result<bool> is_partial(const Path& repository) const;
  Result<std::set<std::string>> objects_in(const Path& repository, const Context& context) const;
  void keep_missing(std::vector<std::string>& objects, const Path& repository, const Context& context) const;
  void reuse_contents(const Path& repository, std::vector<std::string>& objects,
                      const Context& context) const;
  /// Contents on their way into a snapshot. The holder of its lock (lock_contents) alone fetches them.
  struct Fetching {
    const Path& repository;
    std::uint64_t most_bytes;  ///< that the snapshot may have afterwards
    bool is_package;           ///< more of it is wrong in parts, too
  };
  std::uint64_t most_in_snapshot() const;
  Result<FileLock> lock_contents(const Path& repository, const Context& context) const;
  using FetchContents = std::function<Status(std::span<const std::string> objects, const Context&)>;
  Status fetch_missing(const Path& repository, std::vector<std::string> objects, const Context& caller,
                       const FetchContents& fetch) const;
  Status fetch_missing_package(const Path& repository, std::vector<std::string> objects,
                               std::string_view place, const Context& context) const;
  Status fetch_package(const Path& repository, std::span<const std::string> objects, std::string_view place,
                       const Context& context) const;
  Error full(const Path& repository) const;
  Status fetch_parts(const Fetching& how, std::span<const std::string> objects, std::size_t most,
                     const Context& context) const;
  Status fetch_batch(const Fetching& how, std::span<const std::string> objects, const Context& context) const;
  Status fetch_pack(const Fetching& how, std::span<const std::string> objects, const Context& context) const;
  std::set<std::string> packs_in(const Path& repository) const;
  void remove_packs(const Path& repository, const std::set<std::string>& but) const;
  void remove_leftovers(const std::optional<Snapshot>& keep, const std::string& keep_too) const;

  FileSystem& files_;
  const Git& git_;
  Path directory_;
  GitUrl url_;
  std::string ref_;
  std::optional<Error> stays_here_;
};

}  // namespace mist::registry
