#pragma once
// FetchTurn: permission to fetch with git onto a volume that holds little more than the caches
// (GitLimits::snapshots). Snapshots that are fetched or read can't be removed, and how large a fetch becomes
// is known when it ends. So few fetch at a time, in all processes together, and each begins when the
// snapshots of all other refs fit into their share. With S for the share, L for the largest pack, which
// bounds a snapshot, and n fetches at a time, all snapshots together never have more than
//
//   S + L + 2L·n
//
// The ref that is fetched has the snapshot before, L; each fetch has 2L until it is measured, because its
// pack and the pack's index have the limit L each. A volume has to have that (packages/mistletoe-operator).

#include <cstddef>
#include <optional>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "registry/git.h"

namespace mist::registry {

inline constexpr std::size_t kFetchesAtOnce = 4;

/// Lasts until its end, in which what a failed fetch left is removed, too. Its holder asks for no second one.
class FetchTurn {
 public:
  /// `store`: where the snapshots of the ref are, a directory that is there, beside those of other refs.
  /// Without a bound at once. Errors: Timeout and Cancelled while others fetch, Retryable (what others read
  /// leaves no room for half a minute), of FileLock.
  static Result<FetchTurn> take(FileSystem& files, const GitLimits& limits, const Path& store,
                                const Context& context);

 private:
  explicit FetchTurn(std::optional<FileLock> lock) : lock_(std::move(lock)) {}
  std::optional<FileLock> lock_;
};

}  // namespace mist::registry
