#include "render/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "package/guests_for_tests.h"

namespace mist::render {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// A registry in memory: reference → what the package declares in spec.dependencies.
class FakeFinder final : public PackageFinder {
 public:
  void add(const std::string& id, const std::string& version, std::string_view dependencies = "[]") {
    versions_[id].push_back(version);
    sources_.emplace(id + ":" + version, source(id, version, dependencies));
  }
  // That can't be read.
  void list(const std::string& id, const std::string& version) { versions_[id].push_back(version); }
  // A directory; its version is what it declares.
  void add_path(const std::string& path, std::string_view dependencies = "[]") {
    sources_.emplace(path, source(path, "1.0.0", dependencies));
  }
  static package::Source source(const std::string& id, const std::string& version,
                                std::string_view dependencies) {
    package::Source made =
        package::described(package::saying(id + version), id.substr(id.rfind('/') + 1),
                           fmt::format("{{version: '{}', dependencies: {}}}", version, dependencies));
    made.version = version;
    made.reference = id + ":" + version;
    return made;
  }

  Result<package::Source> find(const std::string& reference, const Context&) override {
    const auto found = sources_.find(reference);
    if (found == sources_.end()) return error(ErrorKind::NotFound, "there is no {}", reference);
    return found->second;
  }
  Result<std::vector<std::string>> versions(const std::string& package, const Context&) override {
    ++asked_versions;
    if (on_versions) on_versions();
    const auto found = versions_.find(package);
    return found == versions_.end() ? std::vector<std::string>() : found->second;
  }

  Result<std::vector<std::string>> newest_versions(const std::string& package,
                                                   const Context& context) override {
    {
      const std::lock_guard guard(mutex_);
      asked_newest.push_back(package);
    }
    return versions(package, context);
  }

  Result<package::Source> find_locked(const std::string& reference, const resolve::Origin& locked,
                                      const Context& context) override {
    const auto kept = by_origin.find(locked.source);
    return kept == by_origin.end() ? find(reference, context) : kept->second;
  }
  Result<package::Source> find_moved(const std::string& reference, const Context& context) override {
    moved.push_back(reference);
    return find(reference, context);
  }

  std::set<std::string> trust_only(std::set<std::string> hosts) override {
    hosts.insert(configured.begin(), configured.end());
    trusted = hosts;
    return hosts;
  }

  std::set<std::string> configured;                  ///< hosts
  std::set<std::string> trusted;                     ///< hosts
  std::map<std::string, package::Source> by_origin;  ///< what a lock's origin still leads to
  std::vector<std::string> moved;                    ///< asked for whatever their bytes were
  std::atomic<int> asked_versions = 0;
  std::vector<std::string> asked_newest;  ///< guarded by mutex_ while it is resolved
  std::function<void()> on_versions;

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> versions_;
  std::map<std::string, package::Source> sources_;
};

package::Source root(std::string_view dependencies) {
  return FakeFinder::source("./platform", "1.0.0", dependencies);
}

std::string version_of_dependency(const package::Source& source, const std::string& name) {
  return source.dependencies.contains(name) ? source.dependencies.at(name)->source.version : "";
}

TEST(ResolveDependencies, TakesTheNewestThatEverybodyAllows) {
  FakeFinder finder;
  for (const char* version : {"1.0.0", "1.4.0", "1.10.0", "2.0.0"}) finder.add("m/db", version);
  finder.add("m/web", "0.1.0", "[{name: store, package: m/db, version: '<1.10'}]");
  package::Source source =
      root("[{name: db, package: m/db, version: ^1.0}, {name: web, package: m/web, version: '*'}]");
  const Status resolved = resolve_dependencies(source, "/src/platform", {}, finder, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_EQ(version_of_dependency(source, "db"), "1.4.0");
  const package::Source& web = source.dependencies.at("web")->source;
  EXPECT_EQ(web.dependencies.at("store"), source.dependencies.at("db")) << "one package, shared";
}

TEST(ResolveDependencies, AsksForManyPackagesAtOnce) {
  FakeFinder finder;
  finder.add("m/front", "1.0.0",
             "[{name: a, package: m/a, version: '*'}, {name: b, package: m/b, version: '*'}]");
  for (const char* id : {"m/a", "m/b", "m/back"}) finder.add(id, "1.0.0");
  // Two, and then the two that the first of them needs: each waits for the other one.
  std::latch level_one(2), level_two(2);
  std::atomic<int> asked = 0, alone = 0;
  finder.on_versions = [&] {
    std::latch& level = asked++ < 2 ? level_one : level_two;
    level.count_down();
    for (int i = 0; i < 2000 && !level.try_wait(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!level.try_wait()) ++alone;
  };
  package::Source source =
      root("[{name: front, package: m/front, version: '*'}, {name: back, package: m/back, version: '*'}]");
  const Status resolved = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_EQ(alone, 0);
  EXPECT_EQ(finder.asked_versions, 4) << "each once";
}

// "[{name: a0, package: m/a0, version: '*'}, …]"
std::string many_dependencies(std::string_view prefix, int count) {
  std::string entries;
  for (int i = 0; i < count; ++i)
    entries += fmt::format("{{name: {0}{1}, package: m/{0}{1}, version: '*'}},", prefix, i);
  return fmt::format("[{}]", entries);
}

TEST(ResolveDependencies, ReadsTwoThousandPackagesAheadAtMost) {
  FakeFinder finder;
  for (const char* const id : {"a0", "a1"})
    finder.add(fmt::format("m/{}", id), "1.0.0", many_dependencies(std::string(id) + "-", 1000));
  for (int i = 2; i < 999; ++i) finder.add(fmt::format("m/a{}", i), "1.0.0");
  // There is no m/a999: nothing is asked for after the reading ahead.
  package::Source source = root(many_dependencies("a", 1000));
  const Status failed = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::NotFound) << failed.error().to_line();
  EXPECT_EQ(finder.asked_versions, 2000);
}

TEST(ResolveDependencies, AsksForTheWholeVersionWhereAShorterTagIsTheSame) {
  for (const auto& [first, second] : {std::pair("1.4", "1.4.0"), std::pair("1.4.0", "1.4")}) {
    FakeFinder finder;
    finder.add("m/db", first);
    finder.add("m/db", second);
    package::Source source = root("[{name: db, package: m/db, version: ^1.4}]");
    const Status resolved = resolve_dependencies(source, "", {}, finder, Context());
    ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
    EXPECT_EQ(source.dependencies.at("db")->source.reference, "m/db:1.4.0");
  }
}

TEST(ResolveDependencies, SaysNothingOfWhatItReadInVain) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  finder.list("m/db", "2.0.0");
  finder.add("m/web", "0.1.0", "[{name: store, package: m/db, version: <2}]");
  package::Source source =
      root("[{name: db, package: m/db, version: '*'}, {name: web, package: m/web, version: '*'}]");
  Status resolved = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_EQ(version_of_dependency(source, "db"), "1.0.0");
  source = root("[{name: db, package: m/db, version: '*'}]");
  resolved = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(resolved.error().to_line(), HasSubstr("there is no m/db:2.0.0"));
}

TEST(ResolveDependencies, SaysWhyNothingFits) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  finder.add("m/db", "2.0.0");
  finder.add("m/web", "0.1.0", "[{name: store, package: m/db, version: ^2}]");
  package::Source source =
      root("[{name: db, package: m/db, version: ^1}, {name: web, package: m/web, version: '*'}]");
  const Status resolved = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(resolved.error().because, HasSubstr("m/web"));
  EXPECT_THAT(resolved.error().because, HasSubstr("m/db"));
}

TEST(ResolveDependencies, ACycleIsNamedWithItsPath) {
  FakeFinder finder;
  finder.add("m/a", "1.0.0", "[{name: b, package: m/b}]");
  finder.add("m/b", "1.0.0", "[{name: a, package: m/a}]");
  package::Source source = root("[{name: a, package: m/a}]");
  const Status resolved = resolve_dependencies(source, "", {}, finder, Context());
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(resolved.error().message, HasSubstr("platform → a → b → a"));
}

TEST(ResolveDependencies, PathsAreRelativeToTheirPackageOnThisMachine) {
  FakeFinder finder;
  finder.add_path("/src/db/db.wasm", "[{name: tls, package: ../tls/tls.wasm}]");
  finder.add_path("/src/tls/tls.wasm");
  finder.add("m/remote", "1.0.0", "[{name: x, package: ../tls}]");
  package::Source source = root("[{name: db, package: ../db/db.wasm}]");
  ASSERT_TRUE(resolve_dependencies(source, "/src/platform", {}, finder, Context()).ok());
  EXPECT_EQ(source.dependencies.at("db")->source.dependencies.at("tls")->id, "../tls/tls.wasm");
  package::Source other = root("[{name: remote, package: m/remote}]");
  const Status refused = resolve_dependencies(other, "/src/platform", {}, finder, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("not on this machine"));
}

// The packages that a release was made from, resolved a first time.
std::vector<release::CalledPackage> recorded_by(FakeFinder& finder, std::string_view dependencies) {
  package::Source source = root(dependencies);
  EXPECT_TRUE(resolve_dependencies(source, "", {}, finder, Context()).ok());
  return called_packages(source);
}

TEST(ResolveDependencies, PackagesFromElsewhereReachNothingOfThisMachineAndItsNetworks) {
  for (const char* wanted : {"oci://127.0.0.1:5000/internal/api", "oci://localhost/api", "oci://10.1.2.3/api",
                             "oci://[::1]/api", "git+https://git.example/team/x", "git+http://127.0.0.1/x"}) {
    FakeFinder packages;
    packages.add("oci://registry.example/a", "1.0.0",
                 fmt::format("[{{name: d, package: \"{}\", version: \"*\"}}]", wanted));
    packages.configured = {"127.0.0.1", "localhost", "[::1]"};
    package::Source source = root("[{name: a, package: 'oci://registry.example/a', version: '*'}]");
    const Status failed = resolve_dependencies(source, "/src/platform", {}, packages, Context());
    ASSERT_FALSE(failed.ok()) << wanted;
    EXPECT_EQ(failed.error().kind, ErrorKind::Forbidden) << failed.error().to_line();
    EXPECT_EQ(packages.asked_versions, 1) << wanted;
  }
}

TEST(ResolveDependencies, ServersThatPackagesOfThisMachineNameAreTheUsers) {
  FakeFinder packages;
  packages.add("oci://c.example/deep", "1.0.0");
  packages.add("oci://a.example/x", "1.0.0", "[{name: deep, package: 'oci://c.example/deep', version: '*'}]");
  packages.add("oci://b.example:5000/y", "1.0.0");
  packages.add_path("/src/lib", "[{name: dep-y, package: 'oci://b.example:5000/y', version: '*'}]");
  package::Source source =
      root("[{name: x, package: 'oci://a.example/x', version: '*'}, {name: lib, package: ../lib}]");
  const Status resolved = resolve_dependencies(source, "/src/platform", {}, packages, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_THAT(packages.trusted, ElementsAre("a.example", "b.example"));
}

TEST(ResolveDependencies, OfAPackageFromElsewhereItsOwnServerIsTheUsers) {
  FakeFinder packages;
  packages.add("oci://a.example/x", "1.0.0");
  package::Source source = FakeFinder::source("oci://own.example/platform", "1.0.0",
                                              "[{name: x, package: 'oci://a.example/x', version: '*'}]");
  const Status resolved = resolve_dependencies(source, "", {}, packages, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_THAT(packages.trusted, ElementsAre("own.example"));
}

TEST(ResolveDependencies, AGitServerIsThatOfItsPackagesToo) {
  for (const char* reference :
       {"git+https://GitLab.corp/team/web", "git+ssh://git@gitlab.corp:2222/team/web"}) {
    FakeFinder packages;
    packages.add("oci://gitlab.corp:5050/team/lib", "1.0.0");
    package::Source source = FakeFinder::source(
        "web", "1.0.0", "[{name: lib, package: 'oci://gitlab.corp:5050/team/lib', version: '*'}]");
    source.reference = reference;
    const Status resolved = resolve_dependencies(source, "", {}, packages, Context());
    ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
    EXPECT_THAT(packages.trusted, ElementsAre("gitlab.corp")) << reference;
  }
}

TEST(ResolveDependencies, PrivateNamesThatTheUserTrustsAreReached) {
  for (const char* host : {"harbor.internal", "10.0.0.5"}) {
    const std::string wanted = fmt::format("oci://{}:5000/db", host);
    FakeFinder packages;
    packages.add(wanted, "1.0.0");
    packages.add("m/web", "1.0.0", fmt::format("[{{name: db, package: '{}', version: '*'}}]", wanted));
    package::Source own = root(fmt::format(
        "[{{name: web, package: m/web, version: '*'}}, {{name: db, package: '{}', version: '*'}}]", wanted));
    Status resolved = resolve_dependencies(own, "/src/platform", {}, packages, Context());
    EXPECT_TRUE(resolved.ok()) << resolved.error().to_line();

    const auto asked_for_web = [&] {
      package::Source source = root("[{name: web, package: m/web, version: '*'}]");
      return resolve_dependencies(source, "/src/platform", {}, packages, Context());
    };
    resolved = asked_for_web();
    ASSERT_FALSE(resolved.ok()) << host;
    EXPECT_EQ(resolved.error().kind, ErrorKind::Forbidden);
    EXPECT_THAT(resolved.error().hint,
                HasSubstr(fmt::format("mistctl registry add NAME --oci oci://{}:5000", host)));
    packages.configured = {host};
    resolved = asked_for_web();
    EXPECT_TRUE(resolved.ok()) << resolved.error().to_line();
  }
}

TEST(ResolveDependencies, AReleaseKeepsTheVersionsThatItHas) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.1.0");
  const std::string_view asks = "[{name: db, package: m/db}]";
  const std::vector<release::CalledPackage> recorded = recorded_by(finder, asks);
  ASSERT_EQ(recorded.size(), 2U) << "those that are called by called packages too";
  finder.add("m/db", "2.0.0", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.2.0");
  package::Source again = root(asks);
  finder.asked_versions = 0;
  ASSERT_TRUE(resolve_dependencies(again, "", {.recorded = &recorded}, finder, Context()).ok());
  EXPECT_EQ(called_packages(again), recorded);
  EXPECT_EQ(finder.asked_versions, 0) << "which versions there are matters to nobody";
  package::Source fresh = root(asks);
  ASSERT_TRUE(resolve_dependencies(fresh, "", {}, finder, Context()).ok());
  EXPECT_EQ(version_of_dependency(fresh, "db"), "2.0.0");
}

TEST(ResolveDependencies, APackageThatAsksForMoreGetsItAndKeepsTheOthers) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  finder.add("m/web", "1.0.0");
  const std::vector<release::CalledPackage> recorded =
      recorded_by(finder, "[{name: db, package: m/db}, {name: web, package: m/web}]");
  finder.add("m/db", "2.0.0");
  finder.add("m/web", "1.1.0");
  package::Source edited = root("[{name: db, package: m/db, version: ^2}, {name: web, package: m/web}]");
  const Status resolved = resolve_dependencies(edited, "", {.recorded = &recorded}, finder, Context());
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_line();
  EXPECT_EQ(version_of_dependency(edited, "db"), "2.0.0");
  EXPECT_EQ(version_of_dependency(edited, "web"), "1.0.0");
}

TEST(ResolveDependencies, OtherBytesUnderARecordedVersionAreRefused) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  const std::string_view asks = "[{name: db, package: m/db}]";
  std::vector<release::CalledPackage> recorded = recorded_by(finder, asks);
  recorded[0].digest = "sha256:other";
  package::Source again = root(asks);
  const Status refused = resolve_dependencies(again, "", {.recorded = &recorded}, finder, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("m/db:1.0.0"));
}

// The lock that a package that asks for these would have.
resolve::LockFile lock_of(FakeFinder& finder, std::string_view dependencies,
                          const DependencyRules& rules = {}) {
  const auto resolution = solve_dependencies(root(dependencies), "/src/platform", rules, finder, Context());
  EXPECT_TRUE(resolution.ok()) << resolution.error().to_line();
  return resolution.ok() ? resolution->lock : resolve::LockFile();
}

std::string version_in(const resolve::LockFile& lock, std::string_view name) {
  const resolve::LockedPackage* const found = lock.find(name);
  return found == nullptr ? "" : found->version.to_string();
}

constexpr std::string_view kAsksForDb = "[{name: db, package: m/db, version: ^1}]";

TEST(LockedDependencies, ALockKeepsVersionsThatFitAndWantsThemByteForByte) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.1.0");
  const resolve::LockFile lock = lock_of(finder, kAsksForDb);
  ASSERT_EQ(lock.packages().size(), 2U);
  EXPECT_EQ(lock.find("m/db")->origin.source, "m/db:1.0.0");
  EXPECT_TRUE(lock.check_consistent().ok());
  finder.add("m/db", "1.1.0", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.2.0");
  EXPECT_EQ(version_in(lock_of(finder, kAsksForDb), "m/db"), "1.1.0") << "without a lock the newest";
  EXPECT_EQ(lock_of(finder, kAsksForDb, {.lock = lock}).to_text(), lock.to_text());
  EXPECT_EQ(version_in(lock_of(finder, kAsksForDb, {.lock = lock, .update = {"m/tls"}}), "m/tls"), "0.2.0");
  EXPECT_EQ(version_in(lock_of(finder, kAsksForDb, {.lock = lock, .update = {"m/tls"}}), "m/db"), "1.0.0");

  const auto other = resolve::LockFile::parse(
      "apiVersion: mistletoe.dev/v1\nkind: MistLock\npackages:\n- {name: m/db, version: 1.0.0, source: "
      "'m/db:1.0.0', "
      "digest: 'sha256:" +
          std::string(64, 'a') + "'}\n",
      "mistletoe.lock");
  ASSERT_TRUE(other.ok()) << other.error().to_line();
  const auto refused = solve_dependencies(root(kAsksForDb), "", {.lock = *other}, finder, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("m/db:1.0.0 is not what mistletoe.lock"));
}

TEST(LockedDependencies, ARegistryIsAskedForWhatIsNewOnlyWhereAVersionIsChosen) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.1.0");
  const resolve::LockFile lock = lock_of(finder, kAsksForDb);
  EXPECT_THAT(finder.asked_newest, UnorderedElementsAre("m/db", "m/tls"));
  finder.asked_newest.clear();
  lock_of(finder, kAsksForDb, {.lock = lock});
  EXPECT_THAT(finder.asked_newest, IsEmpty());
  lock_of(finder, kAsksForDb, {.lock = lock, .update = {"m/tls"}});
  EXPECT_THAT(finder.asked_newest, UnorderedElementsAre("m/tls"));
  finder.asked_newest.clear();
  lock_of(finder, kAsksForDb, {.lock = lock, .as_without_lock = true});
  EXPECT_THAT(finder.asked_newest, UnorderedElementsAre("m/db", "m/tls"));
}

TEST(LockedDependencies, AVersionIsReadAsItsRegistryWritesIt) {
  FakeFinder finder;
  finder.add("m/db", "v1.0.0");
  const resolve::LockFile lock = lock_of(finder, kAsksForDb);
  EXPECT_EQ(lock_of(finder, kAsksForDb, {.lock = lock}).to_text(), lock.to_text());
}

// A package of an OCI registry, as a lock has it: its tag isn't there any more.
constexpr std::string_view kOciDb = "oci://reg.example/db";
constexpr std::string_view kAsksForOciDb = "[{name: db, package: 'oci://reg.example/db', version: ^1}]";

package::Source oci_db(std::string_view digest) {
  package::Source db = FakeFinder::source(std::string(kOciDb), "1.0.0", "[]");
  db.reference = fmt::format("{}:1.0.0@sha256:{}", kOciDb, std::string(64, 'f'));
  db.digest = fmt::format("sha256:{}", digest);
  return db;
}

resolve::LockFile lock_with(std::string_view name, std::string_view source, std::string_view digest) {
  auto lock = resolve::LockFile::parse(
      fmt::format("{{apiVersion: mistletoe.dev/v1, kind: MistLock, packages: [{{name: '{}', version: 1.0.0, "
                  "source: '{}', digest: 'sha256:{}'}}]}}",
                  name, source, digest),
      "mistletoe.lock");
  EXPECT_TRUE(lock.ok()) << lock.error().to_line();
  return std::move(lock).value_or({});
}

TEST(LockedDependencies, ALockedManifestIsReadWhereverItsTagIs) {
  const std::string digest(64, 'a');
  FakeFinder finder;
  const package::Source locked = oci_db(digest);
  finder.by_origin.emplace(locked.reference, locked);
  const resolve::LockFile lock = lock_with(kOciDb, locked.reference, digest);
  const auto gone =
      solve_dependencies(root(kAsksForOciDb), "", {.lock = lock, .locked = true}, finder, Context());
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_EQ(gone->lock.to_text(), lock.to_text());
  EXPECT_EQ(finder.asked_versions, 0);

  // It was moved to other bytes.
  finder.add(std::string(kOciDb), "1.0.0");
  const auto kept = solve_dependencies(root(kAsksForOciDb), "", {.lock = lock}, finder, Context());
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  EXPECT_EQ(kept->lock.to_text(), lock.to_text());
  EXPECT_TRUE(finder.moved.empty());
  const auto updated = solve_dependencies(root(kAsksForOciDb), "",
                                          {.lock = lock, .update = {std::string(kOciDb)}}, finder, Context());
  ASSERT_TRUE(updated.ok()) << updated.error().to_line();
  EXPECT_NE(updated->lock.to_text(), lock.to_text());
  EXPECT_EQ(finder.moved, std::vector<std::string>{"oci://reg.example/db:1.0.0"});

  // As without the lock, but with its bytes; and the newest.
  const DependencyRules fresh{.lock = lock, .as_without_lock = true};
  EXPECT_EQ(lock_of(finder, kAsksForOciDb, fresh).to_text(), lock.to_text());
  finder.add(std::string(kOciDb), "1.1.0");
  EXPECT_EQ(version_in(lock_of(finder, kAsksForOciDb, fresh), kOciDb), "1.1.0");
}

TEST(LockedDependencies, ARefusalSaysThatTheRegistryMovedAndHowTheLockIsWritten) {
  const std::string digest(64, 'a');
  FakeFinder finder;
  finder.by_origin.emplace("oci://old.example/team/db:1.0.0@sha256:" + std::string(64, 'f'),
                           oci_db(std::string(64, 'b')));
  const resolve::LockFile lock =
      lock_with("m/db", "oci://old.example/team/db:1.0.0@sha256:" + std::string(64, 'f'), digest);
  package::Source source = root(kAsksForDb);
  source.reference = "/src/my platform";
  const auto moved = solve_dependencies(source, "/src/my platform", {.lock = lock}, finder, Context());
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(
      moved.error().because,
      HasSubstr("it is read from oci://reg.example/db, and the lock has it from oci://old.example/team/db"));
  EXPECT_THAT(moved.error().hint, Not(HasSubstr("never changes")));
  EXPECT_THAT(moved.error().hint, HasSubstr("mistctl package lock '/src/my platform' --update m/db"));

  finder.add("m/db", "1.0.0");
  const auto changed =
      solve_dependencies(source, "", {.lock = lock_with("m/db", "m/db:1.0.0", digest)}, finder, Context());
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().because, HasSubstr("its digest is"));
  EXPECT_THAT(changed.error().hint, HasSubstr("a published version never changes"));
  EXPECT_THAT(changed.error().hint, HasSubstr("mistctl package lock '/src/my platform' --update m/db"));
  source.reference = "oci://reg.example/platform:1.0.0";
  const auto elsewhere =
      solve_dependencies(source, "", {.lock = lock_with("m/db", "m/db:1.0.0", digest)}, finder, Context());
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_THAT(elsewhere.error().hint, Not(HasSubstr("mistctl package lock")));
}

TEST(ResolveDependencies, AnAddressThatIsNoPackageOfARegistryIsRefused) {
  FakeFinder finder;
  for (const auto& [wanted, hint] :
       {std::pair("git+file:///src/db?ref=v1", "mistctl registry add NAME -g URL"),
        std::pair("git+https://user:pw@git.example/db", "mistctl registry add NAME -g URL"),
        std::pair("https://user:pw@web.example/db.tgz", "oci://HOST/PATH")}) {
    const auto refused = solve_dependencies(root(fmt::format("[{{name: db, package: '{}'}}]", wanted)),
                                            "/src", {}, finder, Context());
    ASSERT_FALSE(refused.ok()) << wanted;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(refused.error().message, HasSubstr("the dependency db of ./platform:1.0.0"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("pw")));
    EXPECT_THAT(refused.error().hint, HasSubstr(hint));
  }
  EXPECT_EQ(finder.asked_versions, 0);
}

TEST(CheckCalls, CyclesAndNamesThatAreTakenAreToldWithTheirPlace) {
  FakeFinder finder;
  finder.add("m/a", "1.0.0", "[{name: b, package: m/b}]");
  finder.add("m/b", "1.0.0", "[{name: a, package: m/a}]");
  finder.add("m/c", "1.0.0");
  finder.add("m/twice", "1.0.0", "[{name: c, package: m/c}, {name: c, package: m/c}]");
  const auto checked = [&](std::string_view dependencies) {
    const package::Source source = root(dependencies);
    const auto resolution = solve_dependencies(source, "/src", {}, finder, Context());
    EXPECT_TRUE(resolution.ok()) << resolution.error().to_line();
    return check_calls(source, "/src", *resolution, [](const package::Dependency& each) {
      return std::optional(SourceLocation{.file = each.name, .line = 7, .excerpt = {}});
    });
  };
  EXPECT_TRUE(checked("[{name: c, package: m/c}]").ok());
  for (const auto& [dependencies, says, place] :
       {std::tuple("[{name: c, package: m/c}, {name: x, package: m/a}]", "platform → a → b → a", "x:7"),
        std::tuple("[{name: c, package: m/c}, {name: c, package: m/a}]", "two dependencies called c", "c:7"),
        std::tuple("[{name: t, package: m/twice}]", "m/twice:1.0.0 declares two dependencies called c",
                   "t:7")}) {
    const Status refused = checked(dependencies);
    ASSERT_FALSE(refused.ok()) << dependencies;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(refused.error().message, HasSubstr(says));
    ASSERT_TRUE(refused.error().where);
    EXPECT_EQ(refused.error().where->text(), place);
  }
}

TEST(LockedDependencies, ExactlyTheLockOrNothing) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  finder.add("m/web", "1.0.0");
  const std::string_view both = "[{name: db, package: m/db, version: ^1}, {name: web, package: m/web}]";
  const resolve::LockFile lock = lock_of(finder, kAsksForDb);
  const auto refusal = [&](std::string_view dependencies, const std::optional<resolve::LockFile>& given) {
    const auto solved =
        solve_dependencies(root(dependencies), "", {.lock = given, .locked = true}, finder, Context());
    return solved.ok() ? std::string("none") : solved.error().message + ": " + solved.error().because;
  };
  EXPECT_EQ(refusal(kAsksForDb, lock), "none");
  EXPECT_THAT(refusal(kAsksForDb, std::nullopt), HasSubstr("has no mistletoe.lock"));
  EXPECT_THAT(refusal(both, lock), HasSubstr("m/web 1.0.0 is not in it"));
  EXPECT_THAT(refusal("[{name: web, package: m/web}]", lock), HasSubstr("nothing asks for it"));
  finder.add("m/db", "2.0.0");
  EXPECT_THAT(refusal("[{name: db, package: m/db, version: ^2}]", lock),
              HasSubstr("m/db is 1.0.0 in it, and 2.0.0 is needed"));
  EXPECT_EQ(refusal("[]", std::nullopt), "none");
}

TEST(LockedDependencies, OfModulesTheSectionIsRead) {
  FakeFinder finder;
  finder.add("m/db", "1.0.0");
  package::Source source = root(kAsksForDb);
  const std::string lock = lock_of(finder, kAsksForDb).to_text();
  finder.add("m/db", "1.5.0");
  const auto bytes = std::get<wasm::ModuleBytes>(source.content).bytes();
  ASSERT_TRUE(bytes.ok());
  auto locked = package::with_lock(**bytes, lock, "./platform.wasm");
  ASSERT_TRUE(locked.ok()) << locked.error().to_line();
  source.content = wasm::ModuleBytes(*std::move(locked));
  ASSERT_TRUE(resolve_dependencies(source, "", {.locked = true}, finder, Context()).ok());
  EXPECT_EQ(version_of_dependency(source, "db"), "1.0.0");
}

// Packages on this machine are as they are; what they ask for of registries is locked.
TEST(LockedDependencies, PathsAreNotLocked) {
  FakeFinder finder;
  finder.add_path("/src/db/db.wasm", "[{name: tls, package: m/tls}]");
  finder.add("m/tls", "0.1.0");
  const resolve::LockFile lock = lock_of(finder, "[{name: db, package: ../db/db.wasm}]");
  ASSERT_EQ(lock.packages().size(), 1U);
  EXPECT_EQ(lock.packages().front().name, "m/tls");
}

TEST(ResolveDependencies, WhatIsMissingOrWrongIsNamed) {
  FakeFinder finder;
  for (const std::string_view wrong : {"[{name: db, package: m/db}]", "[{name: db, package: db}]",
                                       "[{package: m/db}]", "[{name: db, package: m/db, version: '>>1'}]"}) {
    package::Source source = root(wrong);
    EXPECT_FALSE(resolve_dependencies(source, "", {}, finder, Context()).ok()) << wrong;
  }
  package::Source none = root("[]");
  EXPECT_TRUE(resolve_dependencies(none, "", {}, finder, Context()).ok());
}

}  // namespace
}  // namespace mist::render
