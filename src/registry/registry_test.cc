#include "registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/cache_bound.h"
#include "config/cache_limits.h"
#include "registry/fetch_turn.h"
#include "registry/git_fixture.h"
#include "registry/snapshot_store.h"

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RegistryFixture;
using testing::WatchedRunner;

constexpr const char* kFile = "examples/ns/ns-0.1.2.mist-pack.wasm";
constexpr const char* kReference = "r/examples/ns:0.1.2";

class GitRegistry : public RegistryFixture {
 protected:
  void SetUp() override {
    upstream.put(kFile, "module 0.1.2");
    first_commit = upstream.commit();
    add_registry();
  }
  Result<UpdateReport> update(ChangedVersions changed = ChangedVersions::Refuse) {
    return open().update("r", Context(), changed);
  }
  /// How many snapshots and works in progress lie on the disk.
  std::size_t directories(std::string_view prefix) { return matching(prefix).size(); }
  std::vector<Path> matching(std::string_view prefix) {
    std::vector<Path> found;
    const std::vector<DirectoryEntry> registries = *files.list(paths.registries());
    for (const DirectoryEntry& registry : registries) {
      if (!registry.is_directory) continue;
      const std::vector<DirectoryEntry> entries = *files.list(paths.registries() / registry.name);
      for (const DirectoryEntry& entry : entries)
        if (entry.name.starts_with(prefix)) found.push_back(paths.registries() / registry.name / entry.name);
    }
    return found;
  }
  std::string first_commit;
};

/// Both kinds of server: with contents left out (partial clone) and without.
class GitRegistryOfBothKinds : public GitRegistry, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    GitRegistry::SetUp();
    if (GetParam()) upstream.allow_filters();
  }
};
INSTANTIATE_TEST_SUITE_P(PartialClone, GitRegistryOfBothKinds, ::testing::Bool());

TEST_P(GitRegistryOfBothKinds, FetchesAModule) {
  const auto fetched = fetch(kReference);
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  EXPECT_EQ(fetched->content, PackageContent(PackageModule{"module 0.1.2"}));
  EXPECT_EQ(fetched->digest, crypto::sha256("module 0.1.2"));
  EXPECT_EQ(fetched->resolved.to_string(), kReference);
  EXPECT_EQ(fetched->origin, fmt::format("{} at {}, {}", upstream.url(), first_commit.substr(0, 12), kFile));
  EXPECT_THAT(events.activities, ElementsAre("updating the registry r"));
}

TEST_P(GitRegistryOfBothKinds, FetchesADirectory) {
  upstream.put("packages/web/1.0.0/Chart.yaml", "name: web");
  upstream.put("packages/web/1.0.0/templates/x.yaml", "a: b");
  upstream.put("packages/web/1.0.0/.helmignore", "");
  upstream.put("packages/web/1.0.0/empty.txt", "");
  upstream.commit();
  const auto fetched = fetch("r/web:1.0.0");
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  PackageTree expected;
  expected.files = {
      {".helmignore", ""}, {"Chart.yaml", "name: web"}, {"empty.txt", ""}, {"templates/x.yaml", "a: b"}};
  EXPECT_EQ(fetched->content, PackageContent(expected));
  EXPECT_EQ(fetched->digest, digest_of(expected));
  const auto again = fetch("r/web:1.0.0");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->content, fetched->content);
}

TEST_F(GitRegistry, AKnownVersionNeedsNoGitAndNoUpstream) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  std::filesystem::remove_all(upstream.path());
  runner.count = 0;
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
  EXPECT_EQ(runner.count, 0);
}

TEST_F(GitRegistry, ANewVersionIsFoundByOneUpdate) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "module 0.2.0");
  upstream.commit();
  EXPECT_EQ(fetch_text("r/examples/ns:0.2.0"), "module 0.2.0");
}

TEST_F(GitRegistry, ARangeIsTheNewestVersionThatIsHere) {
  const auto version_of = [&](std::string_view range) {
    const auto fetched = fetch(fmt::format("r/examples/ns:{}", range));
    return fetched ? fetched->resolved.display() : fetched.error().to_line();
  };
  EXPECT_EQ(version_of("^0.1"), kReference);
  upstream.put("examples/ns/ns-0.1.9.mist-pack.wasm", "module 0.1.9");
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "module 0.2.0");
  upstream.put("examples/ns/ns-0.3.x.mist-pack.wasm", "called like a range");
  upstream.commit();
  EXPECT_EQ(version_of("~0.1.2"), kReference) << "as the local copy has them";
  EXPECT_EQ(version_of("0.2.x"), "r/examples/ns:0.2.0") << "and after an update where none is in it";
  EXPECT_EQ(version_of("~0.1.2"), "r/examples/ns:0.1.9");
  EXPECT_EQ(version_of(">=0.1 <0.3"), "r/examples/ns:0.2.0");
  EXPECT_EQ(version_of("0.3.x"), "r/examples/ns:0.3.x");
  EXPECT_NE(version_of("^4").find("has no version ^4"), std::string::npos) << version_of("^4");
}

TEST_F(GitRegistry, AMissingVersionNamesTheOthers) {
  upstream.put("examples/ns/ns-0.10.0.mist-pack.wasm", "x");
  upstream.commit();
  const auto fetched = fetch("r/examples/ns:0.1.3");
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(fetched.error().hint, HasSubstr("0.10.0, 0.1.2"));
  EXPECT_THAT(fetch("elsewhere/ns:1").error().hint, HasSubstr("configured: mistletoe, r"));
}

TEST_F(GitRegistry, ParseKnowsTheVersionsWithoutTheNetwork) {
  ASSERT_TRUE(update().ok());
  runner.count = 0;
  EXPECT_THAT(open().parse("r/examples/ns").error().hint, HasSubstr("add a version: 0.1.2"));
  EXPECT_EQ(runner.count, 0);
  const Path here = std::filesystem::current_path();
  const std::string existing = std::filesystem::directory_iterator(here)->path().filename().string();
  EXPECT_THAT(open().parse(existing).error().hint, HasSubstr("did you mean ./" + existing));
}

TEST_F(GitRegistry, ListsPackagesAndVersions) {
  upstream.put("examples/ns/ns-0.10.0.mist-pack.wasm", "x");
  upstream.put("examples/ns/ns-0.9.0.mist-pack.wasm", "x");
  upstream.commit();
  const auto versions = open().list_versions("r", "examples/ns", Context());
  ASSERT_TRUE(versions.ok()) << versions.error().to_line();
  EXPECT_THAT(*versions, ElementsAre("0.1.2", "0.9.0", "0.10.0"));
  EXPECT_EQ(open().list_packages("r", Context())->front().path, "examples/ns");
  EXPECT_EQ(open().list_versions("r", "nope", Context()).error().kind, ErrorKind::NotFound);
}

TEST_F(GitRegistry, UpdateReportsWhatMoved) {
  auto report = update();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->before, "");
  EXPECT_EQ(report->after, first_commit);
  EXPECT_EQ(report->versions, 1u);
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "x");
  const std::string second = upstream.commit();
  report = update();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->before, first_commit);
  EXPECT_EQ(report->after, second);
  EXPECT_EQ(report->versions, 2u);
}

TEST_F(GitRegistry, FollowsAForcePush) {
  ASSERT_TRUE(update().ok());
  upstream.git({"commit", "--quiet", "--amend", "--allow-empty", "-m", "rewritten"});
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "new");
  upstream.commit();
  EXPECT_EQ(fetch_text("r/examples/ns:0.2.0"), "new");
}

TEST_F(GitRegistry, ChangedBytesAreRefusedUntilTheyAreAccepted) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  upstream.put(kFile, "other bytes");
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "x");
  upstream.commit();
  const auto refused = update();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().because, HasSubstr(crypto::sha256("module 0.1.2").str()));
  EXPECT_THAT(refused.error().because, HasSubstr(crypto::sha256("other bytes").str()));
  EXPECT_THAT(refused.error().hint, HasSubstr("mistctl registry update r --accept-changed"));
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
  EXPECT_THAT(fetch_text("r/examples/ns:0.2.0"), HasSubstr("isn't what it was"));
  EXPECT_EQ(directories("incoming-"), 0u);

  const auto accepted = update(ChangedVersions::Accept);
  ASSERT_TRUE(accepted.ok()) << accepted.error().to_line();
  EXPECT_EQ(accepted->accepted, 1u);
  EXPECT_EQ(fetch_text(kReference), "other bytes");
  EXPECT_EQ(fetch_text("r/examples/ns:0.2.0"), "x");
}

TEST_F(GitRegistry, ChangedBytesAreNoticedWhenTheCacheIsGone) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  std::filesystem::remove_all(paths.cache);
  upstream.put(kFile, "other bytes");
  upstream.commit();
  EXPECT_EQ(fetch(kReference).error().kind, ErrorKind::Conflict);
}

TEST_F(GitRegistry, AWithdrawnVersionStaysUsable) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  std::filesystem::remove(upstream.path() / kFile);
  upstream.commit();
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
}

TEST_F(GitRegistry, AClearedCacheIsFilledAgain) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  std::filesystem::remove_all(paths.cache);
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
}

TEST_F(GitRegistry, ADamagedCopyIsFetchedAnew) {
  ASSERT_TRUE(update().ok());
  for (const Path& snapshot : matching("snapshot-"))
    std::filesystem::remove_all(snapshot / "repo.git" / "objects");
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
}

TEST_F(GitRegistry, DigestsInReferencesAreChecked) {
  const std::string right = crypto::sha256("module 0.1.2").str(), wrong = crypto::sha256("x").str();
  EXPECT_EQ(fetch(fmt::format("{}@{}", kReference, wrong)).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(fetch_text(fmt::format("{}@{}", kReference, right)), "module 0.1.2");
  EXPECT_EQ(fetch(fmt::format("{}@{}", kReference, wrong)).error().kind, ErrorKind::Conflict);
}

// Which bytes the version had is remembered here; the reference says that others are right.
TEST_F(GitRegistry, ChangedBytesAreTakenByThoseThatNameThem) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  upstream.put(kFile, "other bytes");
  upstream.commit();
  const std::string named = fmt::format("{}@{}", kReference, crypto::sha256("other bytes").str());
  EXPECT_EQ(fetch_text(named), "other bytes");
  EXPECT_EQ(fetch_text(named), "other bytes");
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2") << "as it is remembered, while it is here";
  EXPECT_EQ(update().error().kind, ErrorKind::Conflict);
  ASSERT_TRUE(files.remove_all(paths.packages()).ok());
  EXPECT_THAT(fetch_text(kReference), HasSubstr("isn't what it was when it was first used here"));
  EXPECT_EQ(fetch_text(named), "other bytes");
}

TEST_F(GitRegistry, ThoseThatNameChangedBytesAcceptNoOtherChange) {
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "module 0.2.0");
  upstream.commit();
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  ASSERT_EQ(fetch_text("r/examples/ns:0.2.0"), "module 0.2.0");
  upstream.put(kFile, "other bytes");
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "evil");
  upstream.commit();
  const std::string named = fmt::format("{}@{}", kReference, crypto::sha256("other bytes").str());
  EXPECT_THAT(fetch_text(named), HasSubstr("r/examples/ns:0.2.0 isn't what it was"));
}

TEST_F(GitRegistry, AKilledUpdateLeavesTheLastGoodState) {
  ASSERT_TRUE(update().ok());
  upstream.put("examples/ns/ns-0.2.0.mist-pack.wasm", "x");
  upstream.commit();
  // Killed at each of git's steps in turn: nothing cleans up, as after kill -9.
  for (const char* step : {"ls-remote", "init", "fetch", "rev-parse", "ls-tree"}) {
    runner.before = [step](const Command& command) -> std::optional<Result<ProcessResult>> {
      if (!WatchedRunner::has(command, step)) return std::nullopt;
      return Result<ProcessResult>(ProcessResult{.exit_code = 137, .out = {}, .err = "Killed"});
    };
    EXPECT_FALSE(update().ok()) << step;
    runner.before = nullptr;
    EXPECT_EQ(fetch_text(kReference), "module 0.1.2") << step;
  }
  EXPECT_EQ(fetch_text("r/examples/ns:0.2.0"), "x");
}

TEST_F(GitRegistry, LeftoversOfAKilledUpdateGo) {
  ASSERT_TRUE(update().ok());
  const Path registry = paths.registries() / files.list(paths.registries())->front().name;
  ASSERT_TRUE(files.write(registry / "incoming-1-1" / "repo.git" / "objects" / "junk", "x").ok());
  ASSERT_TRUE(files.write(registry / ".current.1.1.tmp", "snapsh").ok());
  for (int i = 0; i < 4; ++i) {
    upstream.commit();
    ASSERT_TRUE(update().ok());
  }
  EXPECT_EQ(directories("incoming-"), 0u);
  EXPECT_EQ(directories("snapshot-"), 2u);  // the current one and the one before, for readers at work
}

// An evicted snapshot costs fetching it again, and nothing else.
TEST_F(GitRegistry, SnapshotsAreBoundByWhatWasUsedLongestAgo) {
  ASSERT_TRUE(fetch(kReference).ok());
  ASSERT_EQ(directories("snapshot-"), 1u);
  const auto bound = [&] { SnapshotStore::bound(files, paths.registries(), 1); };
  const Path mark = matching("current").front();
  {
    // Somebody reads it.
    const auto shared = FileLock::share(mark.parent_path() / "use", Context());
    ASSERT_TRUE(shared.ok());
    bound();
    EXPECT_EQ(directories("snapshot-"), 1u);
  }
  {
    // An update is at work there.
    const auto lock = FileLock::acquire(mark.parent_path() / "lock", Context());
    ASSERT_TRUE(lock.ok());
    bound();
    EXPECT_EQ(directories("snapshot-"), 1u);
  }
  bound();
  EXPECT_EQ(directories("snapshot-"), 0u);
  EXPECT_TRUE(files.exists(mark.parent_path() / "lock"));
  EXPECT_TRUE(fetch(kReference).ok()) << "from the cache of packages";
  upstream.put("examples/ns/ns-0.1.3.mist-pack.wasm", "module 0.1.3");
  upstream.commit();
  ASSERT_TRUE(fetch("r/examples/ns:0.1.3").ok());
  EXPECT_EQ(directories("snapshot-"), 1u);
}

TEST_F(GitRegistry, FetchingKeepsTheConfiguredSizes) {
  ASSERT_TRUE(config::edit(files, paths, events, Context(), [](config::Config&) { return Status(); }).ok());
  std::string text = *files.read(paths.config_file);
  text.replace(text.find("spec:\n"), 6, "spec:\n  caches: {packages: 20, registries: 1Gi}\n");
  ASSERT_TRUE(files.write(paths.config_file, text).ok());
  ASSERT_TRUE(fetch(kReference).ok());
  const auto packages = [&] {
    return std::ranges::count_if(*files.list(paths.packages()),
                                 [](const DirectoryEntry& entry) { return entry.name.size() == 64; });
  };
  EXPECT_EQ(packages(), 1);
  upstream.put("examples/ns/ns-0.1.3.mist-pack.wasm", "module 0.1.3");
  upstream.commit();
  ASSERT_TRUE(fetch("r/examples/ns:0.1.3").ok());
  EXPECT_EQ(packages(), 1) << "two of twelve bytes are more than twenty";
  EXPECT_TRUE(fetch(kReference).ok()) << "it is fetched again";
}

/// Of which each commit is fetched once, as a pipeline deploys it.
class SmallCache : public GitRegistry {
 protected:
  static constexpr std::uint64_t kShare = std::uint64_t{600} << 10;

  void SetUp() override {
    GitRegistry::SetUp();
    paths.cache_limit = kShare / 6 * 16;
    ASSERT_EQ(config::CacheLimits().within(paths.cache_limit).registries, kShare);
  }
  /// Incompressible, and another one each time.
  std::string noise() {
    std::string bytes;
    for (int i = 0; i < 100'000; ++i) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      bytes.push_back(static_cast<char>(state_ >> 56));
    }
    return bytes;
  }
  Result<Fetched> fetch_next(std::string_view path) {
    upstream.put("web/Chart.yaml", "name: web");
    upstream.put("web/noise", noise());
    const std::string commit = upstream.commit();
    return fetch(fmt::format("git+{}//{}?ref={}", upstream.url(), path, commit));
  }

 private:
  std::uint64_t state_ = 1;
};

TEST_F(SmallCache, HoldsWhateverIsFetched) {
  for (int i = 0; i < 12; ++i) {
    const auto fetched = fetch_next("web");
    ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
    EXPECT_LE(bytes_below(paths.registries()), kShare) << i;
  }
  EXPECT_LE(bytes_below(paths.packages()), config::CacheLimits().within(paths.cache_limit).packages);
  EXPECT_GT(directories("snapshot-"), 1u) << "what fits stays";
}

TEST_F(SmallCache, HoldsWhateverIsFetchedInVain) {
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(fetch_next("shop").error().kind, ErrorKind::NotFound);
    EXPECT_LE(bytes_below(paths.registries()), kShare) << i;
  }
}

TEST_F(SmallCache, LetsNothingInThatItCannotHold) {
  paths.cache_limit = std::uint64_t{160} << 10;
  const auto refused = fetch_next("web");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(refused.error().hint, HasSubstr("MIST_CACHE_LIMIT"));
  EXPECT_EQ(directories("incoming-"), 0u);
}

TEST_F(SmallCache, FewFetchesRunAtATime) {
  std::vector<std::string> references;
  for (int i = 0; i < 12; ++i) {
    upstream.put("web/Chart.yaml", "name: web");
    upstream.put("web/noise", noise());
    references.push_back(fmt::format("git+{}//web?ref={}", upstream.url(), upstream.commit()));
  }
  std::atomic<std::size_t> now = 0;
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (!WatchedRunner::has(command, "fetch")) return std::nullopt;
    EXPECT_LE(++now, kFetchesAtOnce);
    auto done = HostProcessRunner().run(command, Context());
    --now;
    return done;
  };
  std::vector<std::jthread> threads;
  for (const std::string& reference : references)
    threads.emplace_back([this, &reference] {
      NullEventSink none;
      Registries registries({files, runner, none, paths, clock});
      const auto fetched = registries.fetch(*PackageRef::parse(reference), Context());
      EXPECT_TRUE(fetched.ok()) << fetched.error().to_line();
    });
  threads.clear();
  EXPECT_TRUE(fetch(references.front()).ok());
  EXPECT_LE(bytes_below(paths.registries()), kShare);
}

// A fetch waits for others, and they for it. A server that is away should not be what they wait for.
TEST_F(SmallCache, ACommitIsFetchedFromAServerThatAnswers) {
  const std::string commit = upstream.commit();
  runner.before = [](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (!WatchedRunner::has(command, "ls-remote")) return std::nullopt;
    return Result<ProcessResult>(error(ErrorKind::Timeout, "no answer"));
  };
  EXPECT_EQ(fetch(fmt::format("git+{}//web?ref={}", upstream.url(), commit)).error().kind,
            ErrorKind::Timeout);
  for (const Command& each : runner.commands) EXPECT_FALSE(WatchedRunner::has(each, "fetch"));
}

// The first fetch from a server that knows filters brings no contents. They come 500 files at a time.
TEST_F(SmallCache, LetsNothingInThatComesInParts) {
  upstream.allow_filters();
  std::string bytes;
  while (bytes.size() < 800'000) bytes += noise();
  for (std::size_t i = 0; i < 1000; ++i)
    upstream.put(fmt::format("web/{}", i), std::string_view(bytes).substr(i * 800, 800));
  upstream.put("shop/Chart.yaml", "name: shop");
  const std::string commit = upstream.commit();
  const auto fetch_path = [&](std::string_view path) {
    return fetch(fmt::format("git+{}//{}?ref={}", upstream.url(), path, commit));
  };
  for (int i = 0; i < 2; ++i) {
    const auto refused = fetch_path("web");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(refused.error().hint, HasSubstr("MIST_CACHE_LIMIT"));
    EXPECT_LT(bytes_below(paths.registries()), kShare / 2) << "of neither part anything stays";
  }
  const auto other = fetch_path("shop");
  EXPECT_TRUE(other.ok()) << other.error().to_line();
}

TEST_F(SmallCache, BeginsAnewWhereTheContentsOfOneCommitDoNotFit) {
  upstream.allow_filters();
  for (int i = 0; i < 12; ++i) {
    upstream.put(fmt::format("p{}/Chart.yaml", i), "name: p");
    upstream.put(fmt::format("p{}/noise", i), noise().substr(0, 70'000));
  }
  const std::string commit = upstream.commit();
  int full = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string reference = fmt::format("git+{}//p{}?ref={}", upstream.url(), i, commit);
    auto fetched = fetch(reference);
    EXPECT_LE(bytes_below(paths.registries()), kShare) << i;
    if (!fetched.ok()) {
      ++full;
      EXPECT_EQ(fetched.error().kind, ErrorKind::Retryable) << fetched.error().to_line();
      fetched = fetch(reference);
    }
    ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
    EXPECT_LE(bytes_below(paths.registries()), kShare) << i;
  }
  EXPECT_GT(full, 0);
}

TEST_F(GitRegistry, NoMoreThanAPackageMayHaveIsFetchedOfOne) {
  upstream.allow_filters();
  for (int i = 0; i < 20; ++i)
    upstream.put(fmt::format("packages/web/1.0.0/{}.yaml", i), fmt::format("a: {}", i));
  upstream.commit();
  ASSERT_TRUE(update().ok());
  int tries = 0;
  Path left;
  // As git ends where a file reaches its limit: what it wrote so far stays.
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (!WatchedRunner::has(command, "--stdin")) return std::nullopt;
    ++tries;
    EXPECT_LT(*command.file_limit, kMaxPackageBytes / 4 * 5);
    for (const Path& snapshot : matching("snapshot-")) left = snapshot / "repo.git/objects/pack/tmp_pack_x1";
    EXPECT_TRUE(files.write(left, "half a pack").ok());
    return Result<ProcessResult>(
        ProcessResult{.exit_code = 128, .out = {}, .err = "error: index-pack died of signal 25\n"});
  };
  const auto refused = fetch("r/web:1.0.0");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(refused.error().message, HasSubstr("is larger than 64 MiB"));
  EXPECT_EQ(tries, 1) << "a part of it isn't smaller";
  EXPECT_FALSE(files.exists(left));
  runner.before = nullptr;
  EXPECT_TRUE(fetch("r/web:1.0.0").ok());
}

TEST_F(GitRegistry, AnUpdateStopsWhenAsked) {
  std::stop_source stop;
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (WatchedRunner::has(command, "fetch")) stop.request_stop();
    return std::nullopt;
  };
  const auto stopped = open().update("r", Context(stop.get_token()));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
  runner.before = nullptr;
  EXPECT_EQ(directories("incoming-"), 0u);
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
}

TEST_F(GitRegistry, ConcurrentUpdatesAndReadersAllSucceed) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([this] {
      WatchedRunner own;
      NullEventSink none;
      Registries registries({files, own, none, paths, clock});
      for (int round = 0; round < 3; ++round) {
        const auto updated = registries.update("r", Context());
        EXPECT_TRUE(updated.ok()) << updated.error().to_line();
        const auto fetched = registries.fetch(*PackageRef::parse(kReference), Context());
        EXPECT_TRUE(fetched.ok()) << fetched.error().to_line();
      }
    });
  for (int i = 0; i < 3; ++i) upstream.commit();
  threads.clear();
  EXPECT_LE(directories("snapshot-"), 2u);
}

TEST_F(GitRegistry, FollowsNoLinkOutOfARegistry) {
  upstream.link("evil/evil-1.mist-pack.wasm", "/etc/passwd");
  upstream.link("linked", "/etc");
  upstream.link("packages/tree/1/passwd", "/etc/passwd");
  upstream.put("packages/tree/1/x.yaml", "a: b");
  upstream.commit();
  for (const char* reference : {"r/evil:1", "r/linked/x:1", "r/tree:1"}) {
    const auto fetched = fetch(reference);
    ASSERT_FALSE(fetched.ok()) << reference;
    EXPECT_EQ(fetched.error().kind, ErrorKind::Invalid) << fetched.error().to_line();
    EXPECT_THAT(fetched.error().message, HasSubstr("symbolic link"));
  }
}

TEST_F(GitRegistry, FollowsNoSubmodule) {
  upstream.put(".gitmodules", "[submodule \"sub\"]\n\tpath = packages/sub/1/inner\n\turl = ext::sh -c id\n");
  upstream.put("packages/sub/1/x.yaml", "a: b");
  upstream.git({"add", "--all"});
  upstream.git(
      {"update-index", "--add", "--cacheinfo", fmt::format("160000,{},packages/sub/1/inner", first_commit)});
  upstream.git({"commit", "--quiet", "-m", "submodule"});
  EXPECT_THAT(fetch("r/sub:1").error().message, HasSubstr("submodule"));
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
}

TEST_F(GitRegistry, RefusesWhatIsTooLarge) {
  upstream.put("big/big-1.mist-pack.wasm", "");
  std::filesystem::resize_file(upstream.path() / "big" / "big-1.mist-pack.wasm", kMaxPackageBytes + 1);
  upstream.commit();
  const auto fetched = fetch("r/big:1");
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(fetched.error().message, HasSubstr("larger than 64 MiB"));
}

TEST_F(GitRegistry, RefusesLfsPointers) {
  upstream.put("lfs/lfs-1.mist-pack.wasm",
               "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  upstream.commit();
  EXPECT_THAT(fetch("r/lfs:1").error().message, HasSubstr("Git LFS"));
}

TEST_F(GitRegistry, RemovingForgetsEverything) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  ASSERT_TRUE(open().remove("r", Context()).ok());
  EXPECT_EQ(fetch(kReference).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(files.list(paths.registries())->size(), 0u);
  upstream.put(kFile, "a new beginning");
  upstream.commit();
  add_registry();
  EXPECT_EQ(fetch_text(kReference), "a new beginning");
  EXPECT_EQ(open().remove("nope", Context()).error().kind, ErrorKind::NotFound);
}

TEST_F(GitRegistry, AnotherAddressUnderTheSameNameIsAnotherRegistry) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  testing::Upstream other(temp.path() / "other");
  other.put("examples/ns/ns-0.2.0.mist-pack.wasm", "module 0.2.0");
  other.commit();
  std::string config = *files.read(paths.config_file);
  config.replace(config.find(upstream.url()), upstream.url().size(), other.url());
  ASSERT_TRUE(files.write(paths.config_file, config).ok());
  EXPECT_EQ(fetch_text("r/examples/ns:0.2.0"), "module 0.2.0");
  // Each has its own snapshots: those of the old address are never taken for the new one's.
  EXPECT_EQ(files.list(paths.registries())->size(), 2u);
  EXPECT_EQ(directories("snapshot-"), 2u);
}

TEST_F(GitRegistry, CredentialsStayOutOfEveryMessage) {
  ASSERT_TRUE(
      open().add(registry_with_git("secret", "https://me:hunter2@127.0.0.1:1/r.git"), Context()).ok());
  const auto fetched = fetch("secret/x:1");
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(fetched.error().to_line().find("hunter2"), std::string::npos) << fetched.error().to_line();
  for (const std::string& text : events.messages) EXPECT_EQ(text.find("hunter2"), std::string::npos);
  for (const std::string& text : events.activities) EXPECT_EQ(text.find("hunter2"), std::string::npos);
  const auto direct = fetch("git+https://me:hunter2@127.0.0.1:1/r.git//x");
  EXPECT_EQ(direct.error().to_line().find("hunter2"), std::string::npos);
}

TEST_F(GitRegistry, BadAddressesAreNotAdded) {
  EXPECT_EQ(open().add(registry_with_git("x", "--upload-pack=id"), Context()).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(open().add(registry_with_git("x", "ext::sh -c id"), Context()).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(open().add(registry_with_git("r", "https://h/r"), Context()).error().kind, ErrorKind::Conflict);
}

TEST_F(GitRegistry, AnEmptyRepositorySaysSo) {
  const testing::Upstream empty(temp.path() / "empty");
  ASSERT_TRUE(open().add(registry_with_git("e", empty.url()), Context()).ok());
  const auto fetched = fetch("e/x:1");
  EXPECT_EQ(fetched.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(fetched.error().message, HasSubstr("no commit yet"));
  ASSERT_TRUE(open().add(registry_with_git("n", (temp.path() / "nowhere").string()), Context()).ok());
  EXPECT_EQ(fetch("n/x:1").error().kind, ErrorKind::NotFound);
}

TEST_F(GitRegistry, WithoutADefaultBranchTheOnlyOneIsRead) {
  const testing::Upstream other(temp.path() / "other");
  other.put("x/v1.wasm", "module");
  other.commit();
  other.git({"symbolic-ref", "HEAD", "refs/heads/gone"});
  const std::string reference = fmt::format("git+file://{}//x", (temp.path() / "other").string());
  EXPECT_TRUE(fetch(reference).ok()) << fetch(reference).error().to_line();
  other.git({"branch", "dev", "main"});
  const auto fetched = fetch(reference);
  ASSERT_FALSE(fetched.ok());
  EXPECT_THAT(fetched.error().to_line(), HasSubstr("its branches are dev, main"));
  EXPECT_TRUE(fetch(reference + "?ref=dev").ok());
}

TEST_P(GitRegistryOfBothKinds, GitReferencesReadAnyRef) {
  upstream.put("chart/Chart.yaml", "one");
  upstream.put("m.wasm", "module");
  const std::string commit = upstream.commit();
  upstream.git({"tag", "-a", "v1", "-m", "one"});
  upstream.git({"branch", "release/1.x"});
  upstream.put("chart/Chart.yaml", "two");
  upstream.commit();
  const std::string base = "git+" + upstream.url();
  const auto text_of = [&](const std::string& reference) -> std::string {
    const auto fetched = fetch(base + reference);
    if (!fetched) return fetched.error().to_line();
    return std::get<PackageTree>(fetched->content).files.front().bytes;
  };
  EXPECT_EQ(text_of("//chart"), "two");
  EXPECT_EQ(text_of("//chart?ref=main"), "two");
  EXPECT_EQ(text_of("//chart?ref=v1"), "one");
  EXPECT_EQ(text_of("//chart?ref=release/1.x"), "one");
  EXPECT_EQ(text_of("//chart?ref=" + commit), "one");
  EXPECT_EQ(text_of("//chart/Chart.yaml?ref=v1"), "one");
  EXPECT_EQ(fetch_text(base + "//m.wasm"), "module");
  EXPECT_EQ(fetch(base + "//chart?ref=v1")->resolved.to_string(),
            fmt::format("{}//chart?ref={}", base, commit));
  EXPECT_THAT(text_of("//chart?ref=nope"), HasSubstr("no branch or tag named nope"));
  EXPECT_THAT(text_of("//nope"), HasSubstr("no file or directory nope"));
  upstream.put("chart/Chart.yaml", "three");
  upstream.commit();
  EXPECT_EQ(text_of("//chart"), "three");
}

TEST_F(GitRegistry, AGitReferenceToACommitNeedsTheNetworkOnce) {
  const std::string reference = fmt::format("git+{}//{}?ref={}", upstream.url(), kFile, first_commit);
  ASSERT_EQ(fetch_text(reference), "module 0.1.2");
  std::filesystem::remove_all(upstream.path());
  runner.count = 0;
  EXPECT_EQ(fetch_text(reference), "module 0.1.2");
  EXPECT_EQ(runner.count, 0);
}

class DirectoryRegistryTest : public RegistryFixture {
 protected:
  void SetUp() override {
    put(kFile, "module 0.1.2");
    put("packages/web/1.0.0/Chart.yaml", "name: web");
    const Status added = open().add(registry_with_directory("r", root.string()), Context());
    ASSERT_TRUE(added.ok()) << added.error().to_line();
  }
  void put(const std::string& path, std::string_view bytes) {
    ASSERT_TRUE(files.write(root / path, bytes, {.durable = false}).ok());
  }
  Path root = temp.path() / "registry";
};

// Nothing is cached of a directory: each time it is read.
TEST_F(DirectoryRegistryTest, ChangedBytesAreTakenByThoseThatNameThem) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  put(kFile, "other bytes");
  const auto named = [](std::string_view bytes) {
    return fmt::format("{}@{}", kReference, crypto::sha256(bytes).str());
  };
  EXPECT_EQ(fetch_text(named("other bytes")), "other bytes");
  EXPECT_THAT(fetch_text(kReference), HasSubstr("isn't what it was when it was first used here"));
  EXPECT_THAT(fetch_text(named("module 0.1.2")), HasSubstr("digest mismatch"));
}

TEST_F(DirectoryRegistryTest, ReadsBothLayouts) {
  EXPECT_EQ(fetch_text(kReference), "module 0.1.2");
  EXPECT_EQ(fetch_text("r/web:1.0.0"), "a tree");
  EXPECT_EQ(fetch(kReference)->origin, (root / kFile).string());
  EXPECT_EQ(runner.count, 0);
  const auto report = open().update("r", Context());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->packages, 2u);
}

TEST_F(DirectoryRegistryTest, NamesWhatThereIs) {
  EXPECT_THAT(fetch("r/examples/ns:9").error().hint, HasSubstr("0.1.2"));
  EXPECT_THAT(fetch("r/ns:1").error().hint, HasSubstr("r/examples/ns"));
  std::filesystem::remove_all(root);
  EXPECT_THAT(fetch("r/ns:1").error().message, HasSubstr("isn't there"));
}

TEST_F(DirectoryRegistryTest, ChangedBytesAreRefusedUntilTheyAreAccepted) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  put(kFile, "other");
  EXPECT_EQ(fetch(kReference).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(open().update("r", Context()).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(open().update("r", Context(), ChangedVersions::Accept)->accepted, 1u);
  EXPECT_EQ(fetch_text(kReference), "other");
}

TEST_F(DirectoryRegistryTest, FollowsNoLinkOutOfIt) {
  put("../outside/evil-1.mist-pack.wasm", "x");
  std::filesystem::create_directories(root / "evil");
  std::filesystem::create_symlink("../../outside/evil-1.mist-pack.wasm",
                                  root / "evil" / "evil-1.mist-pack.wasm");
  std::filesystem::create_directory_symlink("../../outside", root / "packages" / "out");
  put("../outside/1/x.yaml", "a: b");
  EXPECT_EQ(fetch("r/evil:1").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(fetch("r/out:1").error().kind, ErrorKind::Invalid);
}

TEST_F(DirectoryRegistryTest, SaysAWarningOfTheConfigurationOnce) {
  ASSERT_TRUE(files.write(paths.config_file, *files.read(paths.config_file) + "theme: dark\n").ok());
  Registries registries = open();
  ASSERT_TRUE(registries.fetch(*PackageRef::parse(kReference), Context()).ok());
  ASSERT_TRUE(registries.fetch(*PackageRef::parse(kReference), Context()).ok());
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("theme")));
}

TEST_F(DirectoryRegistryTest, AStateThatCannotBeWrittenOnlyWarns) {
  ASSERT_EQ(fetch_text(kReference), "module 0.1.2");
  ASSERT_TRUE(files.write(root / "other/other-1.mist-pack.wasm", "x").ok());
  const Path pins = paths.pins() / "r";
  std::filesystem::rename(pins, temp.path() / "kept");
  ASSERT_TRUE(files.write(pins, "a file where the directory should be").ok());
  EXPECT_EQ(fetch_text("r/other:1"), "x");
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("not recorded")));
}

TEST_F(RegistryFixture, ReadsLocalPackages) {
  ASSERT_TRUE(files.write(temp.path() / "m.wasm", "bytes").ok());
  const auto fetched = fetch((temp.path() / "x" / ".." / "m.wasm").string());
  EXPECT_FALSE(fetched.ok());  // x isn't there
  const auto direct = fetch((temp.path() / "." / "m.wasm").string());
  ASSERT_TRUE(direct.ok()) << direct.error().to_line();
  EXPECT_EQ(direct->resolved.to_string(), (temp.path() / "m.wasm").string());
  EXPECT_EQ(fetch((temp.path() / "no.wasm").string()).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::registry
