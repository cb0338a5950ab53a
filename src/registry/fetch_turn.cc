#include "registry/fetch_turn.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/cache_bound.h"
#include "base/text.h"
#include "registry/snapshot_store.h"

namespace mist::registry {
namespace {

// Reading takes seconds. Longer waits are those of readers that fetch contents, and wait for each other: one
// of them has to give up.
constexpr std::chrono::seconds kReadersPatience{30};
constexpr std::chrono::milliseconds kPause{100};

Result<FileLock> lock_one(const Path& snapshots, const Context& context) {
  while (true) {
    for (std::size_t i = 0; i < kFetchesAtOnce; ++i) {
      MIST_TRY(std::optional<FileLock> lock, FileLock::try_acquire(snapshots / fmt::format("fetch-{}", i)));
      if (lock) return *std::move(lock);
    }
    MIST_TRY_VOID(context.pause(kPause).in("while waiting for other fetches of git to end"));
  }
}

Status wait_for_room(FileSystem& files, std::uint64_t share, const Path& store, const Context& context) {
  const SteadyTime last = context.now() + kReadersPatience;
  while (true) {
    const std::uint64_t all = SnapshotStore::bound(files, store.parent_path(), share);
    if (all - std::min(all, bytes_below(store)) <= share) return {};
    if (context.now() >= last)
      return error(ErrorKind::Retryable, "the git repositories that are being read leave no room for another")
          .with_hint("try again; a larger MIST_CACHE_LIMIT lets more of them be read at once");
    MIST_TRY_VOID(context.pause(kPause).in("while waiting for readers of other git repositories"));
  }
}

}  // namespace

Result<FetchTurn> FetchTurn::take(FileSystem& files, const GitLimits& limits, const Path& store,
                                  const Context& context) {
  if (!limits.snapshots) return FetchTurn(std::nullopt);
  MIST_TRY(FileLock lock, lock_one(store.parent_path(), context));
  MIST_TRY_VOID(wait_for_room(files, *limits.snapshots, store, context));
  return FetchTurn(std::move(lock));
}

}  // namespace mist::registry
