#include "action/authoring/package_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "action/authoring/mirror.h"
#include "http/url.h"
#include "package/guests_for_tests.h"
#include "registry/oci_fixture.h"
#include "testing/home_fixture.h"

namespace mist::action {
namespace {

using registry::testing::MemoryRegistry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Tag = render::Packages::Tag;

constexpr std::string_view kDb = "oci://reg.example/team/db";

class PackageLock : public mist::testing::HomeFixture {
 protected:
  PackageLock() {
    another_machine();
    write("dependencies: [{name: db, package: 'oci://reg.example/team/db', version: ^1}]\n");
  }

  /// Nothing was fetched there before.
  void another_machine() {
    paths = mist::testing::paths_below(temp.path() / fmt::format("home-{}", machines_++));
  }
  void write(const std::string& text) {
    ASSERT_TRUE(files.write(directory_ / "mistletoe.yaml", "name: platform\n" + text).ok());
  }
  void publish(const std::string& version, std::string_view says) {
    const package::Source made =
        package::described(package::saying(says), "db", fmt::format("{{version: {}}}", version));
    const auto bytes = std::get<wasm::ModuleBytes>(made.content).bytes();
    remote_.publish(version, oci::module_artifact(**bytes, {}));
  }
  render::Packages packages() {
    return render::Packages({.registries = registries_on(remote_.web), .transport = {}, .engines = {}});
  }
  Result<LockReport> lock(const LockChoices& choices = {}) {
    MIST_TRY(const LockedSource source, read_locked_source(files, directory_));
    render::Packages from = packages();
    MIST_TRY(LockReport report, resolve_lock(source, choices, from, Context()));
    if (!choices.locked) MIST_TRY_VOID(files.write(source.lock_file, report.lock.to_text()));
    return report;
  }
  std::string changes(const Result<LockReport>& report) {
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    std::string lines;
    if (report.ok())
      for (const PackageChange& each : report->changes) lines += to_text(each) + "\n";
    return lines;
  }
  std::string lock_text() const { return files.read(directory_ / "mistletoe.lock").value_or(""); }
  std::vector<OutdatedPackage> outdated() {
    const auto source = read_locked_source(files, directory_);
    EXPECT_TRUE(source.ok());
    render::Packages from = packages();
    auto all = outdated_packages(*source, from, Context());
    EXPECT_TRUE(all.ok()) << all.error().to_line();
    return std::move(all).value_or({});
  }

  Path directory_ = temp.path() / "platform";
  MemoryRegistry remote_;
  int machines_ = 0;
};

TEST_F(PackageLock, AServerThatOnlyAPackageFromElsewhereNamesIsPublic) {
  const auto publish_to = [](MemoryRegistry& to, const std::string& name, const std::string& spec) {
    const package::Source made = package::described(package::saying(name), name, spec);
    const auto bytes = std::get<wasm::ModuleBytes>(made.content).bytes();
    to.publish("1.0.0", oci::module_artifact(**bytes, {}));
  };
  MemoryRegistry other;
  publish_to(other, "log", "{version: 1.0.0}");
  publish_to(
      remote_, "db",
      "{version: 1.0.0, dependencies: [{name: log, package: 'oci://other.example/log', version: ^1}]}");
  remote_.reach("other.example", other);
  const auto asked_as_public = [&](std::size_t after) {
    std::set<std::string> hosts;
    const std::vector<http::Request> requests = remote_.web.requests();
    for (std::size_t i = after; i < requests.size(); ++i)
      if (requests[i].public_only) hosts.insert(http::Url::parse(requests[i].url)->host);
    return hosts;
  };
  const auto locked = lock();
  ASSERT_TRUE(locked.ok()) << locked.error().to_line();
  EXPECT_THAT(asked_as_public(0), ElementsAre("other.example"));

  registry::Registries registries({files, processes, events, paths, clock});
  render::Packages to_mirror = packages();
  const auto mirrored = find_mirror_sources({files, events, registries, to_mirror, {registries, {}}},
                                            {directory_.string()}, Context());
  ASSERT_TRUE(mirrored.ok()) << mirrored.error().to_line();
  std::map<std::string, bool> limited;
  for (const MirrorArtifact& each : mirrored->artifacts)
    limited[each.reference.repository.host] = each.reference.repository.public_only;
  EXPECT_THAT(limited, ElementsAre(Pair("other.example", true), Pair("reg.example", false)));

  another_machine();
  registry::Registries on_that({files, processes, events, paths, clock});
  ASSERT_TRUE(on_that.add(registry::registry_with_oci("logs", "oci://other.example/logs"), Context()).ok());
  const std::size_t before = remote_.web.count();
  ASSERT_TRUE(lock().ok());
  EXPECT_GT(remote_.web.count(), before);
  EXPECT_THAT(asked_as_public(before), IsEmpty()) << "the user has named it";
}

TEST_F(PackageLock, ATagThatWasMovedChangesNothingUntilAnUpdate) {
  publish("1.0.0", "first");
  ASSERT_TRUE(lock().ok());
  const std::string before = lock_text();
  EXPECT_THAT(before, HasSubstr("source: oci://reg.example/team/db:1.0.0@sha256:"));
  publish("1.0.0", "second");
  for (int machine = 0; machine < 2; ++machine) {
    EXPECT_EQ(changes(lock({.locked = true})), "");
    EXPECT_EQ(changes(lock()), "");
    EXPECT_EQ(lock_text(), before);
    const std::vector<OutdatedPackage> all = outdated();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].tag, Tag::Moved);
    EXPECT_EQ(all[0].fits, "1.0.0");
    another_machine();
  }
  paths.home = temp.path() / "home-0";  // which knows the version with its first bytes
  paths.state = paths.home / "state";
  EXPECT_EQ(changes(lock({.update_all = true})),
            "oci://reg.example/team/db 1.0.0: other content, its tag was moved in the registry\n");
  EXPECT_NE(lock_text(), before);
  EXPECT_EQ(changes(lock({.locked = true})), "");
  EXPECT_EQ(outdated().at(0).tag, Tag::AsLocked);
}

TEST_F(PackageLock, ATagThatIsGoneChangesNothing) {
  publish("1.0.0", "first");
  publish("1.1.0", "newer");
  ASSERT_TRUE(lock().ok());
  const std::string before = lock_text();
  remote_.manifests.erase("1.1.0");
  std::erase(remote_.tags, "1.1.0");
  another_machine();
  EXPECT_EQ(changes(lock({.locked = true})), "");
  std::vector<OutdatedPackage> all = outdated();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].tag, Tag::Gone);
  EXPECT_EQ(all[0].fits, "1.0.0");
  // Its last one, too.
  remote_.manifests.erase("1.0.0");
  remote_.tags.clear();
  another_machine();
  EXPECT_EQ(changes(lock()), "");
  EXPECT_EQ(lock_text(), before);
  all = outdated();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].tag, Tag::Gone);
  EXPECT_EQ(all[0].newest, "");
}

TEST_F(PackageLock, ThePackagePushedAgainHasTheBytesOfTheLock) {
  publish("1.0.0", "first");
  ASSERT_TRUE(lock().ok());
  remote_.manifests.clear();
  another_machine();
  const auto gone = lock();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(gone.error().hint, HasSubstr("--update oci://reg.example/team/db"));
  // Another manifest of the same layer.
  const package::Source made = package::described(package::saying("first"), "db", "{version: 1.0.0}");
  const auto bytes = std::get<wasm::ModuleBytes>(made.content).bytes();
  remote_.publish("1.0.0",
                  oci::module_artifact(**bytes, {.title = "again", .version = {}, .description = {}}));
  another_machine();
  EXPECT_EQ(changes(lock({.locked = true})), "");
}

TEST_F(PackageLock, ARegistryThatMovedGivesTheLockedManifest) {
  publish("1.0.0", "first");
  const auto configure = [&](const std::string& url) {
    registry::Registries registries({files, processes, events, paths, clock});
    (void)registries.remove("team", Context());
    ASSERT_TRUE(registries.add(registry::registry_with_oci("team", url), Context()).ok());
  };
  configure("oci://reg.example/team");
  write("dependencies: [{name: db, package: team/db, version: ^1}]\n");
  ASSERT_TRUE(lock().ok());
  const std::string before = lock_text();
  EXPECT_THAT(before, HasSubstr("source: oci://reg.example/team/db:1.0.0@sha256:"));
  another_machine();
  configure("oci://reg.example/moved");  // the registry in memory doesn't look at names
  EXPECT_EQ(changes(lock({.locked = true})), "");
  // There it was pushed from other sources.
  remote_.manifests.clear();
  publish("1.0.0", "second");
  another_machine();
  configure("oci://reg.example/moved");
  const auto refused = lock();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().because,
              HasSubstr("it is read from oci://reg.example/moved/db, and the lock has it from "
                        "oci://reg.example/team/db"));
}

TEST_F(PackageLock, TwoDependenciesOfOneNameAreAtTheirLines) {
  publish("1.0.0", "first");
  write(
      "dependencies:\n- {name: db, package: 'oci://reg.example/team/db'}\n"
      "- {name: db, package: 'oci://reg.example/team/db', version: ^1}\n");
  const auto refused = lock();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(refused.error().message, "two dependencies are called db");
  EXPECT_EQ(refused.error().because, "the first one is in line 3");
  ASSERT_TRUE(refused.error().where);
  EXPECT_EQ(refused.error().where->line, 4U);
  EXPECT_EQ(refused.error().where->file, (directory_ / "mistletoe.yaml").string());
}

TEST_F(PackageLock, ACycleIsAtTheDependencyThatLeadsIntoIt) {
  publish("1.0.0", "first");
  ASSERT_TRUE(files
                  .write(temp.path() / "a/mistletoe.yaml",
                         "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: a}, spec: "
                         "{dependencies: [{name: again, package: ../a}]}}\n")
                  .ok());
  ASSERT_TRUE(
      files.write(temp.path() / "a/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
          .ok());
  write("dependencies:\n- {name: db, package: 'oci://reg.example/team/db'}\n- name: a\n  package: ../a\n");
  const auto refused = lock();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("in a cycle: platform → a → a"));
  ASSERT_TRUE(refused.error().where) << refused.error().to_line();
  EXPECT_EQ(refused.error().where->line, 4U);
  EXPECT_FALSE(files.exists(directory_ / "mistletoe.lock"));
}

resolve::Selected selected(std::string package, const std::vector<std::string>& askers) {
  resolve::Selected one{
      .package = std::move(package), .version = *resolve::Version::parse("1.0.0"), .askers = {}};
  for (const std::string& asker : askers) one.askers.push_back({asker, resolve::VersionRange::any()});
  return one;
}

TEST(WhyPackage, GivesAShortestWayToEachAsker) {
  resolve::Solution solution;
  solution.packages = {selected("a", {"", "d"}), selected("b", {"a"}), selected("c", {"", "b"}),
                       selected("d", {"b", "c"})};
  const auto reasons = why_package(solution, "platform", "d");
  ASSERT_TRUE(reasons.ok());
  ASSERT_EQ(reasons->askers.size(), 2u);
  EXPECT_THAT(reasons->askers[0].path, ElementsAre("platform", "a 1.0.0", "b 1.0.0"));
  EXPECT_THAT(reasons->askers[1].path, ElementsAre("platform", "c 1.0.0"));
  // In a cycle, too.
  EXPECT_THAT(why_package(solution, "platform", "a")->askers[1].path,
              ElementsAre("platform", "c 1.0.0", "d 1.0.0"));
  const auto nobody = why_package(solution, "platform", "e");
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().message, "platform does not call e, nor does a package that it calls");
}

// Of 2^64 ways, each is as short as the others.
TEST(WhyPackage, LooksAtEachPackageOnce) {
  constexpr int kLayers = 64;
  resolve::Solution solution;
  std::vector<std::string> before{""};
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::vector<std::string> here{fmt::format("l{:02}", layer), fmt::format("r{:02}", layer)};
    for (const std::string& each : here) solution.packages.push_back(selected(each, before));
    before = here;
  }
  const auto reasons = why_package(solution, "platform", "l63");
  ASSERT_TRUE(reasons.ok());
  ASSERT_EQ(reasons->askers.size(), 2u);
  EXPECT_EQ(reasons->askers[0].path.size(), 64u);
}

TEST_F(PackageLock, AReferenceIsNoSource) {
  for (const auto& [text, hint] :
       {std::pair("oci://reg.example/team/db:1.0.0", "mistctl registry tags oci://reg.example/team/db"),
        std::pair("team/db:1.0.0", "a directory with mistletoe.yaml"),
        std::pair("https://user:pw@reg.example/db", "a directory with mistletoe.yaml")}) {
    const auto refused = read_locked_source(files, text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(refused.error().hint, HasSubstr(hint));
    EXPECT_EQ(refused.error().to_line().find("pw"), std::string::npos);
  }
  EXPECT_EQ(read_locked_source(files, "./nowhere").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::action
