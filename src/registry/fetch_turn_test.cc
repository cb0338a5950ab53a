#include "registry/fetch_turn.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

class FetchTurns : public ::testing::Test {
 protected:
  /// Of a ref, with a snapshot of that size.
  Path store(const std::string& name, std::size_t bytes) {
    const Path directory = snapshots / name;
    EXPECT_TRUE(files.make_directories(directory / "snapshot-1", 0700).ok());
    EXPECT_TRUE(files.write(directory / "snapshot-1" / "pack", std::string(bytes, 'x')).ok());
    return directory;
  }
  /// A fetch that would have to wait gets Cancelled.
  Result<FetchTurn> take(const Path& store, const GitLimits& limits = {.snapshots = 1000}) {
    std::stop_source stop;
    stop.request_stop();
    return FetchTurn::take(files, limits, store, Context(stop.get_token()));
  }
  Result<FileLock> read(const Path& store) { return FileLock::share(store / "use", Context()); }

  mist::testing::TempDir temp;
  HostFileSystem files;
  Path snapshots = temp.path() / "registries";
};

TEST_F(FetchTurns, AreFewAtATime) {
  const Path one = store("one", 10);
  std::vector<FetchTurn> turns;
  for (std::size_t i = 0; i < kFetchesAtOnce; ++i) {
    auto turn = take(one);
    ASSERT_TRUE(turn.ok()) << turn.error().to_line();
    turns.push_back(*std::move(turn));
  }
  EXPECT_EQ(take(one).error().kind, ErrorKind::Cancelled);
  turns.erase(turns.begin());
  EXPECT_TRUE(take(one).ok());
}

TEST_F(FetchTurns, BeginWhenTheOthersFit) {
  const Path mine = store("mine", 10), other = store("other", 2000);
  {
    const auto reader = read(other);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(take(mine).error().kind, ErrorKind::Cancelled);
    EXPECT_TRUE(take(other).ok()) << "the ref's own snapshot has room beside the share";
  }
  EXPECT_TRUE(take(mine).ok());
  EXPECT_FALSE(files.exists(other / "snapshot-1")) << "nobody reads it";
}

TEST_F(FetchTurns, AreNotNeededWithoutABound) {
  const Path one = store("one", 2000);
  std::vector<FetchTurn> turns;
  for (std::size_t i = 0; i <= kFetchesAtOnce; ++i) {
    auto turn = take(one, {});
    ASSERT_TRUE(turn.ok()) << turn.error().to_line();
    turns.push_back(*std::move(turn));
  }
  EXPECT_TRUE(files.exists(one / "snapshot-1"));
}

}  // namespace
}  // namespace mist::registry
