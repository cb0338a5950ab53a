#include "catalog/poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "catalog/catalog_database.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_store.h"
#include "package/guests_for_tests.h"
#include "registry/git_fixture.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using registry::testing::Upstream;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Git that counts the commits that it fetches, and may be refused by the repository then.
class CountingGit final : public ProcessRunner {
 public:
  explicit CountingGit(ProcessRunner& git) : git_(git) {}

  Result<ProcessResult> run(const Command& command, const Context& context) override {
    const bool fetches =
        std::ranges::any_of(command.arguments, [](const std::string& word) { return word == "--depth=1"; });
    if (!fetches) return git_.run(command, context);
    ++count_;
    if (!refused_) return git_.run(command, context);
    return ProcessResult{128, {}, "fatal: unable to access: The requested URL returned error: 403\n"};
  }
  void refuse(bool refused) { refused_ = refused; }
  /// Since the last call.
  int fetches() { return std::exchange(count_, 0); }

 private:
  ProcessRunner& git_;
  bool refused_ = false;
  int count_ = 0;
};

class PollerTest : public ::testing::Test {
 protected:
  PollerTest() {
    const auto database = *open_sqlite(dir_.path() / "a.db");
    store_ = *open_store(database, clock_, random_);
    EXPECT_TRUE(account_store_in(database, clock_, random_)->add("ann", Role::Author, "").ok());
    std::filesystem::create_directories(dir_.path() / "home");
  }
  void link(const std::string& path = {}, std::string url = {}) {
    if (url.empty()) url = "file://" + (dir_.path() / "upstream").string();
    ASSERT_TRUE(store_
                    ->add_project({.name = "etcd",
                                   .owner = "ann",
                                   .url = std::move(url),
                                   .path = path,
                                   .webhook_secret = SecretString("s")})
                    .ok());
  }
  void kube(const std::string& version, const std::string& directory = {}) {
    upstream_.put(directory + "K3.yaml", fmt::format("name: etcd\nversion: {}\ndescription: One\n", version));
    upstream_.put(directory + "manifests/a.yaml", fmt::format("a: {}\n", version));
  }
  void tag(const std::string& name) {
    upstream_.commit();
    upstream_.git({"tag", "--annotate", "--message", "x", name});
  }
  PollerDependencies dependencies_of(ProcessRunner& git) {
    return {.files = files_,
            .processes = git,
            .clock = clock_,
            .events = events_,
            .store = *store_,
            .blobs = blobs_,
            .directory = dir_.path() / "repositories",
            .allowed = Repositories::Any};
  }
  Status poll(Repositories allowed = Repositories::Any, http::Resolver resolve = http::resolve_host) {
    PollerDependencies dependencies = dependencies_of(counting_);
    dependencies.resolve = std::move(resolve);
    dependencies.allowed = allowed;
    dependencies.most_versions = most_versions_;
    dependencies.most_tags = most_tags_;
    Poller poller(std::move(dependencies));
    const auto project = store_->project("etcd");
    EXPECT_TRUE(project.ok() && *project);
    return poller.poll(**project, Context());
  }
  std::vector<std::string> versions() {
    std::vector<std::string> found;
    for (const VersionBrief& each : *store_->versions("etcd"))
      found.push_back(each.version + " " + std::string(to_string(each.state)));
    return found;
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  HostProcessRunner processes_;
  IsolatedGit git_{processes_, dir_.path() / "home"};
  CountingGit counting_{git_};
  mist::testing::RecordedEvents events_;
  std::unique_ptr<Store> store_;
  FileBlobs blobs_{files_, dir_.path() / "blobs"};
  Upstream upstream_{dir_.path() / "upstream"};
  std::int64_t most_versions_ = kVersionsOfAProject;
  std::ptrdiff_t most_tags_ = 10;
};

TEST_F(PollerTest, TagsBecomeVersionsOnce) {
  link();
  kube("1.0.0");
  tag("v1.0.0");
  kube("1.1.0");
  tag("etcd-1.1.0");
  upstream_.git({"tag", "latest"});
  const Status polled = poll();
  ASSERT_TRUE(polled.ok()) << polled.error().to_line();
  EXPECT_THAT(versions(), ElementsAre("1.1.0 queued", "1.0.0 queued"));
  const Version first = **store_->version("etcd", "1.0.0");
  EXPECT_EQ(first.facts.description, "One");
  const auto bytes = blobs_.get(*crypto::Digest::parse(first.digest));
  ASSERT_TRUE(bytes.ok());
  const auto tree = registry::PackageTree::decode(*bytes);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->files.at(1).bytes, "a: 1.0.0\n") << "as it was at its tag";
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(versions().size(), 2U);
  EXPECT_FALSE(files_.exists(dir_.path() / "repositories/etcd")) << "what was fetched goes";
}

TEST_F(PollerTest, APackageMayBeADirectoryOfItsRepository) {
  link("deploy/etcd");
  kube("1.0.0", "deploy/etcd/");
  tag("v1.0.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.0.0 queued"));
}

std::string etcd_module(const std::string& version) {
  const package::Source source =
      package::described(package::saying("a: 1\n"), "etcd", fmt::format("{{version: {}}}", version));
  return **std::get<wasm::ModuleBytes>(source.content).bytes();
}

TEST_F(PollerTest, APackageMayBeAModule) {
  link("deploy/etcd");
  upstream_.put("deploy/etcd/Cargo.toml", "[package]\n");
  upstream_.put("deploy/etcd/README.md", "# Etcd\n");
  upstream_.put("deploy/etcd/package.wasm", etcd_module("1.0.0"));
  tag("v1.0.0");
  upstream_.put("deploy/etcd/etcd-1.1.0.mist-pack.wasm", etcd_module("1.1.0"));
  tag("v1.1.0");
  const Status polled = poll();
  ASSERT_TRUE(polled.ok()) << polled.error().to_line();
  EXPECT_THAT(versions(), ElementsAre("1.1.0 queued", "1.0.0 queued"));
  const Version first = **store_->version("etcd", "1.0.0");
  EXPECT_EQ(*blobs_.get(*crypto::Digest::parse(first.digest)), etcd_module("1.0.0")) << "as it is";
  EXPECT_EQ(first.facts.module, "deploy/etcd/package.wasm");
  EXPECT_EQ(first.readme, "# Etcd\n");
  EXPECT_EQ((*store_->version("etcd", "1.1.0"))->facts.module, "deploy/etcd/etcd-1.1.0.mist-pack.wasm")
      << "as registries name it";
}

TEST_F(PollerTest, AProjectMayNameItsModule) {
  link("dist/etcd.wasm");
  upstream_.put("dist/etcd.wasm", etcd_module("1.0.0"));
  tag("v1.0.0");
  tag("v1.1.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.1.0 failed", "1.0.0 queued"));
  EXPECT_THAT((*store_->last_run("etcd", "1.1.0"))->steps.at(0).summary,
              HasSubstr("etcd.wasm has version 1.0.0, and the tag says 1.1.0"));
}

TEST_F(PollerTest, AModuleThatIsALinkOrAPointerIsRefused) {
  link();
  upstream_.put("elsewhere", etcd_module("1.0.0"));
  upstream_.link("package.wasm", "elsewhere");
  tag("v1.0.0");
  std::filesystem::remove(dir_.path() / "upstream/package.wasm");
  upstream_.put("package.wasm", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  tag("v1.1.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.1.0 failed", "1.0.0 failed"));
  EXPECT_THAT((*store_->last_run("etcd", "1.0.0"))->steps.at(0).summary, HasSubstr("symbolic link"));
  EXPECT_THAT((*store_->last_run("etcd", "1.1.0"))->steps.at(0).summary, HasSubstr("Git LFS"));
}

TEST_F(PollerTest, WhatCannotBeReadIsAFailedVersionWithTheReason) {
  link();
  kube("2.0.0");
  tag("v1.0.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.0.0 failed"));
  const auto run = store_->last_run("etcd", "1.0.0");
  EXPECT_THAT((*run)->steps.at(0).summary, HasSubstr("K3.yaml has version 2.0.0, and the tag says 1.0.0"));
}

TEST_F(PollerTest, AMovedTagChangesNothingAndIsSaid) {
  link();
  kube("1.0.0");
  tag("v1.0.0");
  ASSERT_TRUE(poll().ok());
  const std::string digest = (*store_->version("etcd", "1.0.0"))->digest;
  upstream_.put("manifests/b.yaml", "b: 1\n");
  upstream_.commit();
  upstream_.git({"tag", "--force", "v1.0.0"});
  const Status polled = poll();
  EXPECT_EQ(polled.error().kind, ErrorKind::Conflict);
  EXPECT_THAT((*store_->project("etcd"))->problem, HasSubstr("the tag v1.0.0 was moved"));
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->digest, digest);
}

// Each poll takes so many versions, and no more: they aren't used up by tags that make none.
TEST_F(PollerTest, FetchesOnlyWhatMakesAVersion) {
  link();
  kube("1.0.0");
  tag("v1.0.0");
  upstream_.git({"tag", "etcd-1.0.0"});
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(counting_.fetches(), 1) << "both tags are one version";
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(counting_.fetches(), 0);
  upstream_.commit();
  upstream_.git({"tag", "--force", "v1.0.0"});
  EXPECT_EQ(poll().error().kind, ErrorKind::Conflict);
  EXPECT_EQ(counting_.fetches(), 0) << "what was moved changes nothing";
}

TEST_F(PollerTest, OfMoreTagsThanAPackageMayHaveTheNewestAreTakenAndNoOthersFetched) {
  link();
  const auto publish = [&](const std::string& version) {
    kube(version);
    tag("v" + version);
  };
  const auto problem = [&] { return (*store_->project("etcd"))->problem; };
  publish("1.0.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(counting_.fetches(), 1);
  most_versions_ = 3;
  for (const char* each : {"0.9.0", "1.1.0", "1.2.0", "1.3.0"}) publish(each);
  upstream_.git({"tag", "etcd-1.3.0"});
  EXPECT_EQ(poll().error().kind, ErrorKind::Conflict);
  EXPECT_THAT(versions(), ElementsAre("1.3.0 queued", "1.2.0 queued", "1.0.0 queued"));
  EXPECT_EQ(counting_.fetches(), 2) << "it was full then";
  EXPECT_THAT(problem(),
              HasSubstr("the new tag v1.1.0 and older ones aren't taken: etcd may have 3 versions"));
  publish("1.4.0");
  EXPECT_EQ(poll().error().kind, ErrorKind::Conflict);
  EXPECT_EQ(counting_.fetches(), 0);
  EXPECT_EQ(versions().size(), 3U);
  EXPECT_THAT(problem(), HasSubstr("the new tag v1.4.0"));
}

TEST_F(PollerTest, AFullPackageHidesNoOtherProblem) {
  link();
  for (const std::string each : {"1.0.0", "1.1.0"}) {
    kube(each);
    tag("v" + each);
  }
  most_versions_ = 1;
  EXPECT_EQ(poll().error().kind, ErrorKind::Conflict);
  EXPECT_THAT((*store_->project("etcd"))->problem, HasSubstr("the new tag v1.0.0"));
  upstream_.git({"tag", "--force", "v1.1.0", "v1.0.0^{commit}"});
  EXPECT_EQ(poll().error().kind, ErrorKind::Conflict);
  EXPECT_THAT((*store_->project("etcd"))->problem, HasSubstr("the tag v1.1.0 was moved"));
}

TEST_F(PollerTest, OfVeryManyTagsTheNewestVersionsAreLookedAt) {
  link();
  for (const std::string each : {"1.10.0", "1.2.0", "1.9.0"}) {
    kube(each);
    tag("v" + each);
  }
  most_tags_ = 2;
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.10.0 queued", "1.9.0 queued"));
}

// A version number that failed is used up: it must be the package that failed.
TEST_F(PollerTest, ARefusalOnTheWayIsTriedAgain) {
  link();
  kube("1.0.0");
  tag("v1.0.0");
  counting_.refuse(true);
  EXPECT_FALSE(poll().ok());
  EXPECT_TRUE(versions().empty());
  EXPECT_THAT((*store_->project("etcd"))->problem, HasSubstr("403"));
  counting_.refuse(false);
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.0.0 queued"));
}

TEST_F(PollerTest, LinksAndSubmodulesOfARepositoryLeadNowhere) {
  link();
  kube("1.0.0");
  upstream_.link("manifests/passwd.yaml", "/etc/passwd");
  tag("v1.0.0");
  ASSERT_TRUE(poll().ok());
  EXPECT_THAT(versions(), ElementsAre("1.0.0 failed"));
}

TEST_F(PollerTest, OnlyRepositoriesOfTheInternetUnlessAllowed) {
  link();
  kube("1.0.0");
  tag("v1.0.0");
  EXPECT_EQ(poll(Repositories::Public).error().kind, ErrorKind::Forbidden) << "a file";
  EXPECT_TRUE(versions().empty());
}

// A name may mean another address each time that it is asked for: the one that was judged is the one that git
// gets (registry/git_url.h).
TEST_F(PollerTest, ANameThatLeadsIntoThePrivateNetworkIsRefused) {
  link({}, "https://git.example.com/etcd");
  for (const char* address :
       {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1"}) {
    const Status polled =
        poll(Repositories::Public, [&](const std::string&) -> Result<std::vector<std::string>> {
          return std::vector<std::string>{"1.1.1.1", address};
        });
    EXPECT_EQ(polled.error().kind, ErrorKind::Forbidden) << address;
  }
}

TEST_F(PollerTest, ARepositoryThatIsNotThereIsAProblemOfTheProject) {
  link();
  std::filesystem::remove_all(dir_.path() / "upstream");
  EXPECT_FALSE(poll().ok());
  EXPECT_FALSE((*store_->project("etcd"))->problem.empty());
  EXPECT_TRUE((*store_->project("etcd"))->polled);
}

// Git, to which repositories whose name begins with "slow" say nothing.
class GitWithSlowRepositories final : public ProcessRunner {
 public:
  explicit GitWithSlowRepositories(ProcessRunner& git) : git_(git) {}

  Result<ProcessResult> run(const Command& command, const Context& context) override {
    if (std::ranges::none_of(command.arguments,
                             [](const std::string& word) { return word.find("/slow") != std::string::npos; }))
      return git_.run(command, context);
    ++waiting_;
    while (context.check().ok()) std::this_thread::sleep_for(1ms);
    return context.check().error();
  }
  int waiting() const { return waiting_; }

 private:
  ProcessRunner& git_;
  std::atomic<int> waiting_ = 0;
};

// Within a minute, which is far more than it takes.
template <typename Holds>
bool comes_true(const Holds& holds) {
  for (int i = 0; i < 60'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST_F(PollerTest, AnAuthorsSlowRepositoriesHoldUpNobodyElse) {
  ASSERT_TRUE(account_store_in(*open_sqlite(dir_.path() / "a.db"), clock_, random_)
                  ->add("mallory", Role::Author, "")
                  .ok());
  for (const std::string name : {"slow-a", "slow-b", "slow-c", "slow-d"})
    ASSERT_TRUE(store_
                    ->add_project({.name = name,
                                   .owner = "mallory",
                                   .url = "file://" + (dir_.path() / name).string(),
                                   .path = {},
                                   .webhook_secret = SecretString("s")})
                    .ok());
  GitWithSlowRepositories git(git_);
  PollerDependencies dependencies = dependencies_of(git);
  dependencies.most_polls = 3;
  Poller poller(std::move(dependencies));
  const std::jthread running([&](const std::stop_token& stop) { (void)poller.run(Context(stop)); });
  ASSERT_TRUE(comes_true([&] { return git.waiting() == 2; }));
  // As soon as it is linked it may be polled.
  kube("1.0.0");
  tag("v1.0.0");
  link();
  poller.wake();
  EXPECT_TRUE(comes_true([&] { return !versions().empty(); }));
  EXPECT_EQ(git.waiting(), 2) << "one poll is left to others";
}

TEST_F(PollerTest, GitGetsNothingOfTheUser) {
  struct Recorder final : ProcessRunner {
    Result<ProcessResult> run(const Command& command, const Context&) override {
      seen = command;
      return ProcessResult{};
    }
    Command seen;
  } recorder;
  IsolatedGit git(recorder, "/nowhere");
  Command command;
  command.program = "git";
  command.file_limit = std::uint64_t{4} << 30;
  ASSERT_TRUE(git.run(command, Context()).ok());
  EXPECT_EQ(recorder.seen.env["HOME"], "/nowhere");
  EXPECT_EQ(recorder.seen.env["GIT_CONFIG_GLOBAL"], "/dev/null");
  EXPECT_EQ(recorder.seen.env["SSH_AUTH_SOCK"], std::nullopt);
  EXPECT_LT(*recorder.seen.file_limit, std::uint64_t{1} << 30);
  EXPECT_THAT(recorder.seen.arguments, ::testing::Contains("pack.threads=1"));
  // It would look up the name once more.
  for (const char* name : {"https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "http_proxy"}) {
    ASSERT_TRUE(recorder.seen.env.contains(name)) << name;
    EXPECT_EQ(recorder.seen.env[name], std::nullopt) << name;
  }
  IsolatedGit through_proxy(recorder, "/nowhere", GitProxy::OfEnvironment);
  ASSERT_TRUE(through_proxy.run(command, Context()).ok());
  EXPECT_FALSE(recorder.seen.env.contains("HTTPS_PROXY"));
}

}  // namespace
}  // namespace mist::catalog
