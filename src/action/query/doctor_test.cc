#include "action/query/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::optional<Duration> no_skew() { return std::nullopt; }

struct Doctor : ::testing::Test {
  static Check find(const std::vector<Check>& checks, std::string_view name) {
    const auto found = std::ranges::find(checks, name, &Check::name);
    EXPECT_NE(found, checks.end()) << name;
    return found == checks.end() ? Check{} : *found;
  }
  void config(std::string_view registries, unsigned mode = 0600) {
    const std::string text = fmt::format(
        "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  registries: {}\n", registries);
    ASSERT_TRUE(files.write(dependencies.paths.config_file, text, {.mode = mode}).ok());
  }

  testing::TempDir home;
  HostFileSystem files;
  HostProcessRunner processes;
  testing::FakeClock clock;
  DoctorDependencies dependencies{files, processes, clock,
                                  config::Paths{.home = home.path(),
                                                .config_file = home.path() / "config.yaml",
                                                .state = home.path() / "state",
                                                .cache = home.path() / "cache",
                                                .engines = home.path() / "engines",
                                                .schemas = home.path() / "schemas",
                                                .safe = {}}};
};

TEST_F(Doctor, ANewHomeIsWell) {
  for (const Check& check : check_configuration(dependencies))
    EXPECT_EQ(check.state, CheckState::Ok) << check.detail;
  EXPECT_EQ(check_caches(dependencies).size(), 1u) << "only the room: no cache is there";
  EXPECT_EQ(check_sandbox(dependencies).front().state, CheckState::Ok)
      << check_sandbox(dependencies).front().detail;
}

TEST_F(Doctor, ABrokenConfigurationIsNamedWithItsLine) {
  ASSERT_TRUE(files.write(dependencies.paths.config_file, "apiVersion: [\n").ok());
  const Check check = find(check_configuration(dependencies), "file");
  EXPECT_EQ(check.state, CheckState::Fail);
  EXPECT_THAT(check.detail, HasSubstr("config.yaml:"));
  EXPECT_EQ(find(check_registries(dependencies, Network::Ask, Context()), "all").state, CheckState::Skipped);
}

TEST_F(Doctor, WhatOthersMayWriteOrReadIsSaid) {
  config("[]", 0666);
  EXPECT_EQ(find(check_configuration(dependencies), "file").state, CheckState::Fail);
  EXPECT_THAT(find(check_configuration(dependencies), "file").hint, HasSubstr("chmod 600"));
  config("[{name: a, defaultRemote: d, remotes: [{name: d, git: {url: 'https://me:pw@h/r.git'}}]}]", 0644);
  const Check readable = find(check_configuration(dependencies), "file");
  EXPECT_EQ(readable.state, CheckState::Warn);
  EXPECT_EQ(readable.detail.find("pw@"), std::string::npos);
  ASSERT_TRUE(files.write(dependencies.paths.seed_file(), "x", {.mode = 0640}).ok());
  EXPECT_EQ(find(check_configuration(dependencies), "seed").state, CheckState::Fail);
}

TEST_F(Doctor, RegistriesAreShownWithoutCredentials) {
  config(
      "[{name: a, defaultRemote: d, remotes: [{name: d, helm: {url: 'https://me:hidden@h/charts'}}]}, "
      "{name: b, defaultRemote: d, remotes: [{name: d, oci: {url: 'oci://me:hidden@h/team'}}]}]",
      0644);
  EXPECT_EQ(find(check_configuration(dependencies), "file").state, CheckState::Warn);
  for (const Check& check : check_registries(dependencies, Network::Offline, Context()))
    EXPECT_EQ(check.detail.find("hidden"), std::string::npos) << check.detail;
}

TEST_F(Doctor, CachesTellTheirSizeAndWhoMayWriteThem) {
  ASSERT_TRUE(files.write(dependencies.paths.packages() / "one", std::string(3 << 20, 'x')).ok());
  std::filesystem::permissions(dependencies.paths.packages(), std::filesystem::perms(0700));
  const Check fine = find(check_caches(dependencies), "packages");
  EXPECT_EQ(fine.state, CheckState::Ok);
  EXPECT_THAT(fine.detail, HasSubstr("3 MiB in 1 file"));
  std::filesystem::permissions(dependencies.paths.packages(), std::filesystem::perms(0777));
  EXPECT_EQ(find(check_caches(dependencies), "packages").state, CheckState::Warn);
}

TEST_F(Doctor, EnginesThatAreNotThereAreNamed) {
  constexpr package::EngineDigest kEngines[] = {{"helm", "00"}, {"jinja", "00"}};
  dependencies.engines = kEngines;
  ASSERT_TRUE(files.write(dependencies.paths.engines / "jinja.wasm", "x").ok());
  const Check half = find(check_sandbox(dependencies), "engines");
  EXPECT_EQ(half.state, CheckState::Warn);
  EXPECT_THAT(half.detail, HasSubstr(": helm, so"));
  ASSERT_TRUE(files.write(dependencies.paths.engines / "helm.wasm", "x").ok());
  EXPECT_EQ(find(check_sandbox(dependencies), "engines").state, CheckState::Ok);
}

TEST_F(Doctor, RegistriesAreAskedUnlessOffline) {
  std::filesystem::create_directories(home.path() / "here");
  config(
      "[{name: here, defaultRemote: d, remotes: [{name: d, directory: {path: here}}]},"
      " {name: gone, defaultRemote: d, remotes: [{name: d, directory: {path: gone}}]},"
      " {name: git, defaultRemote: d, remotes: [{name: d, git: {url: 'file:///does/not/exist.git'}}]}]");
  const auto checks = check_registries(dependencies, Network::Ask, Context());
  EXPECT_EQ(find(checks, "git").state, CheckState::Ok) << "the program";
  EXPECT_EQ(find(checks, "here").state, CheckState::Ok) << find(checks, "here").detail;
  EXPECT_EQ(find(checks, "gone").state, CheckState::Fail);
  EXPECT_EQ(checks.back().name, "git");
  EXPECT_EQ(checks.back().state, CheckState::Fail);
  EXPECT_EQ(check_registries(dependencies, Network::Offline, Context()).back().state, CheckState::Skipped);
}

TEST_F(Doctor, ARegistryThatIsLeftToItsMirrorsIsNotAsked) {
  config(
      "[{name: git, defaultRemote: d, remotes: [{name: d, git: {url: "
      "'https://git.invalid/team/packages.git'}}]}]\n"
      "  mirrors: [{prefix: git.invalid/team, places: ['oci-layout:/media/mirror'], only: true}]");
  const Check check = check_registries(dependencies, Network::Ask, Context()).at(1);
  EXPECT_EQ(check.state, CheckState::Skipped) << check.detail;
  EXPECT_THAT(check.detail, HasSubstr("only its mirrors may be"));
}

TEST_F(Doctor, AKeyringThatCannotBeUsedIsAFailure) {
  ASSERT_TRUE(files.write(home.path() / "team.gpg", "no keys").ok());
  ASSERT_TRUE(files
                  .write(home.path() / "trust.yaml",
                         "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: "
                         "'shop/**', keyring: team.gpg}]}\n")
                  .ok());
  std::string answer = R"({"fault": "badKeyring", "detail": "no keys"})";
  dependencies.check_provenance = [&](const std::string& keyring, const std::string&, WallTime,
                                      const Context&) {
    EXPECT_EQ(keyring, "no keys");
    return trust::checked_provenance(*encoding::parse_json(answer));
  };
  const Check broken = find(check_configuration(dependencies), "trust policy");
  EXPECT_EQ(broken.state, CheckState::Fail);
  EXPECT_THAT(broken.detail, HasSubstr("the keyring team.gpg can't be used"));
  EXPECT_THAT(broken.detail, HasSubstr("trust.yaml:3"));
  answer = R"({"fault": "notSigned"})";
  EXPECT_EQ(find(check_configuration(dependencies), "trust policy").state, CheckState::Ok);
}

TEST_F(Doctor, ATrustPolicyThatCannotBeReadIsAFailure) {
  EXPECT_THAT(find(check_configuration(dependencies), "trust policy").detail, HasSubstr("does not exist"));
  const auto write = [&](std::string_view text) {
    ASSERT_TRUE(files.write(home.path() / "trust.yaml", text).ok());
  };
  write(
      "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: "
      "'oci://registry.example/**', mode: known}]}\n");
  const Check good = find(check_configuration(dependencies), "trust policy");
  EXPECT_EQ(good.state, CheckState::Ok) << good.detail;
  EXPECT_THAT(good.detail, HasSubstr("trust.yaml: 1 rule"));
  write("garbage: [");
  const Check broken = find(check_configuration(dependencies), "trust policy");
  EXPECT_EQ(broken.state, CheckState::Fail);
  EXPECT_THAT(broken.detail, HasSubstr("trust.yaml:"));
  dependencies.paths.named_trust_policy = home.path() / "elsewhere.yaml";
  const Check missing = find(check_configuration(dependencies), "trust policy");
  EXPECT_EQ(missing.state, CheckState::Fail);
  EXPECT_THAT(missing.detail, HasSubstr("elsewhere.yaml"));
}

TEST_F(Doctor, MirrorsThatAreGoneAreNamed) {
  const auto mirrored = [&](std::string_view places, std::string_view only) {
    config(fmt::format("[]\n  mirrors: [{{prefix: registry.invalid/team, places: [{}], only: {}}}]", places,
                       only));
    return check_registries(dependencies, Network::Offline, Context()).back();
  };
  const Check lost = mirrored("'oci-layout:/nowhere/mirror'", "true");
  EXPECT_EQ(lost.name, "mirror of registry.invalid/team");
  EXPECT_EQ(lost.state, CheckState::Fail);
  EXPECT_THAT(lost.detail, HasSubstr("/nowhere/mirror"));
  EXPECT_EQ(mirrored("'oci-layout:/nowhere/mirror'", "false").state, CheckState::Warn)
      << "the registry is asked";
  EXPECT_EQ(mirrored(fmt::format("'oci-layout:{}'", home.path().string()), "true").name, "git");
}

TEST_F(Doctor, AClusterThatDoesNotAnswerIsTheOnlyFailure) {
  testing::FakeCluster cluster;
  cluster.set_before([](const testing::FakeCall&) { return error(ErrorKind::Retryable, "no route"); });
  const auto checks = check_cluster(cluster, clock, no_skew, Context());
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].state, CheckState::Fail);
  EXPECT_EQ(checks[0].detail, "no route; fake cluster");
  EXPECT_FALSE(checks[0].hint.empty());
  EXPECT_EQ(checks[1].state, CheckState::Skipped);
}

TEST_F(Doctor, MissingPermissionsFailOrWarn) {
  const testing::FakeCluster cluster;
  const auto viewer = cluster.client_for("viewer");
  const auto checks = check_cluster(*viewer, clock, no_skew, Context());
  EXPECT_EQ(find(checks, "server").state, CheckState::Ok);
  EXPECT_EQ(find(checks, "namespace").state, CheckState::Ok);
  EXPECT_EQ(find(checks, "permission secrets").state, CheckState::Fail);
  EXPECT_THAT(find(checks, "permission secrets").detail,
              HasSubstr("not allowed: create, patch, delete in namespace default"));
  EXPECT_THAT(
      find(checks, "permission secrets").hint,
      HasSubstr(
          R"(Role in default with {apiGroups: [""], resources: [secrets], verbs: [create, patch, delete]})"));
  EXPECT_EQ(find(checks, "permission secrets (watch)").state, CheckState::Ok);
  EXPECT_EQ(find(checks, "permission namespace").detail, "get of default");
  EXPECT_EQ(find(checks, "permission pods").state, CheckState::Ok);
  EXPECT_EQ(find(checks, "permission pods/log").state, CheckState::Warn);
  for (const Check& check : checks) {
    if (check.state == CheckState::Warn || check.state == CheckState::Fail) {
      EXPECT_FALSE(check.hint.empty()) << check.name << " says what, but not what to do";
    }
  }
}

TEST_F(Doctor, APermissionThatCannotBeAskedForIsNotTakenForGranted) {
  testing::FakeCluster cluster;
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "create") return std::nullopt;
    return error(ErrorKind::Retryable, "the reviewer is away");
  });
  const auto checks = check_cluster(cluster, clock, no_skew, Context());
  EXPECT_EQ(find(checks, "permission secrets").state, CheckState::Fail);
  EXPECT_EQ(find(checks, "permission secrets").detail, "can't be told: the reviewer is away");
  EXPECT_FALSE(find(checks, "permission secrets").hint.empty());
  EXPECT_EQ(find(checks, "permission pods").state, CheckState::Warn);
}

TEST_F(Doctor, ClocksThatDisagreeAreSaid) {
  const auto state = [&](Duration skew) {
    testing::FakeCluster cluster;
    return find(check_cluster(cluster, clock, [&] { return std::optional(skew); }, Context()), "clock").state;
  };
  EXPECT_EQ(state(2s), CheckState::Ok);
  EXPECT_EQ(state(-30s), CheckState::Warn);
  EXPECT_EQ(state(1h), CheckState::Fail);
}

}  // namespace
}  // namespace mist::action
