// Home over git repositories of this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fs.h"
#include "kpm/home.h"
#include "registry/git_fixture.h"
#include "testing/temp_dir.h"

namespace mist::kpm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ArchivesTest : public ::testing::Test {
 protected:
  void put_kube(const std::string& name, const std::string& version) {
    const std::string directory = "packages/" + name + "/" + version;
    upstream.put(directory + "/K3.yaml", "name: " + name + "\nversion: " + version + "\n");
    upstream.put(directory + "/manifests/a.yaml", "kind: " + name + "\n");
  }
  void add(const std::string& name, const std::string& url) {
    const Status added = home.add_archive({.name = name, .url = url}, Context());
    ASSERT_TRUE(added.ok()) << added.error().to_line();
  }
  Status update(const std::string& name = "ours") {
    for (const Archive& each : home.archives().value_or({}))
      if (each.name == name) {
        MIST_TRY(incomplete, home.update(each, Context()));
        return {};
      }
    return error(ErrorKind::NotFound, "no such archive");
  }
  Catalog read() {
    auto catalog = home.catalog(Context());
    EXPECT_TRUE(catalog.ok()) << catalog.error().to_line();
    return std::move(catalog).value_or({});
  }
  Result<Kube> get(const std::string& wanted) {
    MIST_TRY(const Catalog catalog, home.catalog(Context()));
    MIST_TRY(const Listed listed, Home::choose(catalog, wanted));
    return home.get(listed, Context());
  }

  mist::testing::TempDir temp;
  registry::testing::Upstream upstream{temp.path() / "upstream"};
  HostFileSystem files;
  registry::testing::WatchedRunner runner;
  std::optional<Error> incomplete;  // of the last update
  Home home{files, runner, [] { return std::unique_ptr<http::Transport>(); }, temp.path() / "home"};
};

TEST_F(ArchivesTest, OnlyAnUpdateTalksToTheServer) {
  upstream.allow_filters();
  put_kube("etcd", "1.0.0");
  upstream.put("README.md", "isn't fetched");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  std::filesystem::rename(upstream.path(), temp.path() / "away");
  const auto copy = get("etcd");
  ASSERT_TRUE(copy.ok()) << copy.error().to_line();
  EXPECT_EQ(*files.read(copy->directory / "manifests/a.yaml", 1000), "kind: etcd\n");
  EXPECT_FALSE(update().ok()) << "the server is away";
}

TEST_F(ArchivesTest, AServerThatMayNotBeAskedIsNot) {
  upstream.allow_filters();
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  Home limited{files, runner, [] { return std::unique_ptr<http::Transport>(); }, temp.path() / "home",
               [](const Archive&) -> Status { return error(ErrorKind::Invalid, "only mirrors are left"); }};
  runner.commands.clear();
  const auto again = limited.update(limited.archives()->front(), Context());
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().to_line(), HasSubstr("only mirrors are left"));
  const Status added = limited.add_archive({.name = "more", .url = upstream.url()}, Context());
  ASSERT_FALSE(added.ok());
  EXPECT_THAT(added.error().to_line(), HasSubstr("only mirrors are left"));
  EXPECT_EQ(limited.archives()->size(), 1U);
  EXPECT_THAT(runner.commands, IsEmpty());
  const auto catalog = limited.catalog(Context());
  ASSERT_TRUE(catalog.ok()) << catalog.error().to_line();
  EXPECT_TRUE(limited.get(*Home::choose(*catalog, "etcd"), Context()).ok()) << "what is here stays usable";
}

// The objects that a command asks the server for, one a line.
std::optional<std::string> asked_for(const Command& command) {
  const bool is_fetch = registry::testing::WatchedRunner::has(command, "fetch") &&
                        registry::testing::WatchedRunner::has(command, "--stdin");
  return is_fetch ? std::optional(command.input) : std::nullopt;
}

TEST_F(ArchivesTest, AnUpdateAsksOnlyForContentsThatChanged) {
  upstream.allow_filters();
  put_kube("etcd", "1.0.0");
  put_kube("nginx", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  put_kube("nginx", "1.1.0");
  upstream.commit();
  runner.commands.clear();
  ASSERT_TRUE(update().ok());
  std::string asked;
  for (const Command& each : runner.commands) asked += asked_for(each).value_or("");
  EXPECT_EQ(asked, upstream.git({"rev-parse", "HEAD:packages/nginx/1.1.0/K3.yaml"}))
      << "the other is the same";
  runner.commands.clear();
  ASSERT_TRUE(update().ok());
  for (const Command& each : runner.commands) EXPECT_FALSE(asked_for(each)) << "all is here";
  std::filesystem::rename(upstream.path(), temp.path() / "away");
  EXPECT_TRUE(get("etcd").ok());
  EXPECT_TRUE(get("nginx").ok());
}

TEST_F(ArchivesTest, ContentsThatTakeTooLongTogetherComeInParts) {
  upstream.allow_filters();
  for (int i = 0; i < 10; ++i) put_kube(fmt::format("kube{}", i), "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  int refused = 0;
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    const std::string asked = asked_for(command).value_or("");
    if (std::ranges::count(asked, '\n') < 3) return std::nullopt;
    ++refused;
    return Result<ProcessResult>(error(ErrorKind::Timeout, "too slow"));
  };
  ASSERT_TRUE(update().ok());
  EXPECT_FALSE(incomplete);
  EXPECT_GT(refused, 0);
  std::filesystem::rename(upstream.path(), temp.path() / "away");
  EXPECT_TRUE(get("kube7").ok());
}

TEST_F(ArchivesTest, AStateCountsWithAllMetadataAndTheRestIsFetchedLater) {
  upstream.allow_filters();
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  put_kube("nginx", "1.0.0");
  upstream.commit();
  std::string away = upstream.git({"rev-parse", "HEAD:packages/nginx/1.0.0/K3.yaml"});
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (asked_for(command).value_or("").find(away) == std::string::npos) return std::nullopt;
    return Result<ProcessResult>(error(ErrorKind::Retryable, "the server went away"));
  };
  EXPECT_EQ(update().error().kind, ErrorKind::Retryable);
  EXPECT_EQ(read().kubes.size(), 1U) << "the state before";
  away = upstream.git({"rev-parse", "HEAD:packages/nginx/1.0.0/manifests/a.yaml"});
  ASSERT_TRUE(update().ok());
  ASSERT_TRUE(incomplete);
  EXPECT_EQ(incomplete->message, "the server went away");
  EXPECT_EQ(read().kubes.size(), 2U);
  runner.before = nullptr;
  EXPECT_TRUE(get("nginx").ok()) << "fetched when it is read";
  ASSERT_TRUE(update().ok());
  EXPECT_FALSE(incomplete);
}

TEST_F(ArchivesTest, BadEntriesKeepNobodyFromTheOthers) {
  put_kube("etcd", "1.0.0");
  upstream.link("packages/linked/K3.yaml", "../etcd/1.0.0/K3.yaml");
  upstream.put("packages/lfs/K3.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  upstream.put("packages/large/K3.yaml", std::string((std::size_t{1} << 20) + 1, '#'));
  upstream.put("packages/huge/K3.yaml", std::string(std::size_t{70} << 20, '#'));
  upstream.put("packages/other/K3.yaml", "name: another\nversion: 1.0.0\n");
  put_kube("nginx", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  const Catalog catalog = read();
  ASSERT_EQ(catalog.kubes.size(), 2U);
  EXPECT_EQ(catalog.kubes[0].k3.name, "etcd");
  EXPECT_EQ(catalog.kubes[1].k3.name, "nginx");
  std::string problems;
  for (const Error& each : catalog.problems) problems += each.to_line() + "\n";
  EXPECT_EQ(catalog.problems.size(), 5U) << problems;
  EXPECT_THAT(problems, HasSubstr("packages/linked/K3.yaml is a symbolic link"));
  EXPECT_THAT(problems, HasSubstr("packages/lfs/K3.yaml is a pointer of Git LFS"));
  EXPECT_THAT(problems, HasSubstr("packages/large/K3.yaml has more than 1048576 bytes"));
  EXPECT_THAT(problems, HasSubstr("packages/huge/K3.yaml is larger than 64 MiB"));
  EXPECT_THAT(problems, HasSubstr("packages/other/K3.yaml is of another"));
}

TEST_F(ArchivesTest, WantingABrokenKubeSaysWhereItIsBroken) {
  put_kube("etcd", "1.0.0");
  upstream.put("packages/etcd/2.0.0/K3.yaml", "name: etcd\nversion: v2.0.0\n");
  upstream.put("packages/nginx/K3.yaml", "name: nginx\nversion: 1.0.0\nhom: x\nnote: y\n");
  upstream.link("packages/linked/K3.yaml", "../etcd/1.0.0/K3.yaml");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  const Catalog catalog = read();
  const auto refused = [&](std::string_view wanted) {
    const auto chosen = Home::choose(catalog, wanted);
    return chosen.ok() ? error(ErrorKind::Internal, "{} was found", wanted) : chosen.error();
  };
  const Error two = refused("nginx");
  EXPECT_EQ(two.kind, ErrorKind::Invalid);
  EXPECT_EQ(two.message, "nginx of the archive ours is broken: its K3.yaml can't be read");
  ASSERT_TRUE(two.where);
  EXPECT_EQ(two.where->file, "ours/packages/nginx/K3.yaml");
  EXPECT_EQ(two.where->line, 3U);
  EXPECT_THAT(two.because, HasSubstr("K3.yaml:4:"));
  EXPECT_THAT(two.hint, HasSubstr("kpm update"));
  const Error link = refused("ours/linked");
  EXPECT_EQ(link.kind, ErrorKind::Invalid);
  EXPECT_THAT(link.because, HasSubstr("is a symbolic link"));
  const Error named = refused("etcd:2.0.0");
  EXPECT_EQ(named.message, "etcd:2.0.0 of the archive ours is broken: its K3.yaml can't be read");
  EXPECT_EQ(refused("etcd:3.0.0").kind, ErrorKind::NotFound) << "that version is not the broken one";
  EXPECT_EQ(refused("other/nginx").kind, ErrorKind::NotFound) << "that archive has none";
  EXPECT_EQ(Home::choose(catalog, "etcd").value_or({}).k3.version.to_string(), "1.0.0");
}

TEST_F(ArchivesTest, AnArchiveThatWasNeverReadKeepsNobodyFromTheOthers) {
  add("gone", (temp.path() / "nowhere").string());
  EXPECT_THAT(home.catalog(Context()).error().message, HasSubstr("gone was never read"))
      << "there is nothing else";
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  EXPECT_FALSE(update("gone").ok());
  const Catalog catalog = read();
  EXPECT_THAT(catalog.problems, IsEmpty());
  ASSERT_EQ(catalog.unread.size(), 1U);
  EXPECT_EQ(catalog.unread[0].archive, "gone");
  EXPECT_TRUE(Home::choose(catalog, "etcd").ok());
  EXPECT_THAT(Home::choose(catalog, "gone/etcd").error().message, HasSubstr("gone was never read"));
  const Error missing = Home::choose(catalog, "nginx").error();
  EXPECT_EQ(missing.message, "no archive has a Kube nginx");
  EXPECT_THAT(missing.because, HasSubstr("gone was never read"));
}

// As a killed archive-remove leaves it, or an update that was at work when the archive was replaced.
TEST_F(ArchivesTest, WhatWasReadIsOfOneAddress) {
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  const Path config = temp.path() / "home/config.yaml";
  registry::testing::Upstream other{temp.path() / "other"};
  other.put("packages/nginx/1.0.0/K3.yaml", "name: nginx\nversion: 1.0.0\n");
  other.commit();
  ASSERT_TRUE(files.write(config, fmt::format("archives: [{{name: ours, url: '{}'}}]\n", other.url())).ok());
  const auto unread = home.catalog(Context());
  ASSERT_FALSE(unread.ok());
  EXPECT_THAT(unread.error().message, HasSubstr("the archive ours was never read"));
  EXPECT_FALSE(get("etcd").ok());
  ASSERT_TRUE(update().ok());
  ASSERT_EQ(read().kubes.size(), 1U);
  EXPECT_EQ(read().kubes[0].k3.name, "nginx");
}

TEST_F(ArchivesTest, AnArchiveThatIsReadAlreadyIsOfItsAddress) {
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  ASSERT_TRUE(files.remove(temp.path() / "home/.archives/ours/address").ok());
  EXPECT_EQ(read().kubes.size(), 1U);
  std::filesystem::rename(upstream.path(), temp.path() / "away");
  EXPECT_FALSE(update().ok());
  EXPECT_EQ(read().kubes.size(), 1U) << "nothing was lost";
}

TEST_F(ArchivesTest, ARemovedArchiveLeavesNothingOfWhatWasRead) {
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(home.remove_archive("theirs", Context()).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(home.remove_archive("ours", Context()).ok());
  EXPECT_FALSE(files.exists(temp.path() / "home/.archives/ours"));
  EXPECT_FALSE(files.exists(temp.path() / "home/.archives/ours.removed"));
  add("ours", upstream.url());
  EXPECT_FALSE(home.catalog(Context()).ok()) << "it was never read";
}

// By another process, while the update waited for the lock.
TEST_F(ArchivesTest, AnUpdateWritesNothingOfAnArchiveThatWasRemovedMeanwhile) {
  put_kube("etcd", "1.0.0");
  upstream.commit();
  add("ours", upstream.url());
  const Archive before = home.archives()->front();
  ASSERT_TRUE(home.remove_archive("ours", Context()).ok());
  EXPECT_EQ(home.update(before, Context()).error().kind, ErrorKind::Conflict);
  EXPECT_FALSE(files.exists(temp.path() / "home/.archives/ours"));
  registry::testing::Upstream other{temp.path() / "other"};
  other.put("packages/nginx/1.0.0/K3.yaml", "name: nginx\nversion: 1.0.0\n");
  other.commit();
  add("ours", other.url());
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(home.update(before, Context()).error().kind, ErrorKind::Conflict);
  ASSERT_EQ(read().kubes.size(), 1U) << "of the archive that has its name now";
}

// By another process, while a person was asked whether to continue.
TEST_F(ArchivesTest, AnUpdateInBetweenPutsNoOtherVersionInThePlaceOfTheChosenOne) {
  const auto push = [&] {
    upstream.commit();
    ASSERT_TRUE(update().ok());
  };
  const auto expect_refused = [&](const Listed& chosen, const std::string& because) {
    const auto unpacked = home.unpack(chosen, Context());
    ASSERT_FALSE(unpacked.ok());
    EXPECT_EQ(unpacked.error().kind, ErrorKind::Conflict);
    EXPECT_EQ(unpacked.error().because, because);
    EXPECT_EQ(home.get(chosen, Context()).error().kind, ErrorKind::Conflict);
    EXPECT_FALSE(files.exists(home.root() / chosen.k3.full_name()));
    EXPECT_FALSE(files.exists(home.root() / "etcd"));
  };
  add("ours", upstream.url());
  upstream.put("packages/etcd/K3.yaml", "name: etcd\nversion: 1.0.0\n");
  upstream.put("packages/etcd/manifests/a.yaml", "kind: etcd\n");
  push();
  const Listed first = *Home::choose(read(), "etcd");
  upstream.put("packages/etcd/K3.yaml", "name: etcd\nversion: 2.0.0\n");
  push();
  expect_refused(first, "packages/etcd/K3.yaml is of etcd-2.0.0, not of etcd-1.0.0");
  const Listed second = *Home::choose(read(), "etcd");
  std::filesystem::remove(upstream.path() / "packages/etcd/K3.yaml");
  put_kube("etcd", "2.0.0");
  push();
  expect_refused(second, "there is no packages/etcd/K3.yaml");
  const Listed third = *Home::choose(read(), "etcd");
  std::filesystem::remove_all(upstream.path() / "packages/etcd/2.0.0");
  upstream.put("packages/etcd/2.0.0", "a file");
  push();
  expect_refused(third, "there is no directory packages/etcd/2.0.0");
  std::filesystem::remove(upstream.path() / "packages/etcd/2.0.0");
  put_kube("etcd", "2.0.0");
  push();
  const auto again = home.unpack(third, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->directory.filename(), "etcd-2.0.0");
}

TEST_F(ArchivesTest, OfTwoGetsAtOnceTheCopyKeepsItsOwnOrigin) {
  put_kube("etcd", "1.0.0");
  put_kube("etcd", "2.0.0");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  HostProcessRunner unwatched;
  Home other{files, unwatched, [] { return std::unique_ptr<http::Transport>(); }, home.root()};
  const Listed first = *Home::choose(read(), "etcd:1.0.0");
  const Listed second = *Home::choose(read(), "etcd:2.0.0");
  bool is_first = true;
  runner.before = [&](const Command&) -> std::optional<Result<ProcessResult>> {
    // The slow one has seen that there is no copy.
    if (std::exchange(is_first, false)) {
      EXPECT_TRUE(other.get(first, Context()).ok());
    }
    return std::nullopt;
  };
  const auto slow = home.get(second, Context());
  EXPECT_FALSE(is_first);
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.error().message, "there is a working copy of etcd already");
  const auto compared = home.compare("etcd", 3, Context());
  ASSERT_TRUE(compared.ok()) << compared.error().to_line();
  EXPECT_EQ(compared->original.filename(), "etcd-1.0.0");
  EXPECT_THAT(compared->changes, IsEmpty());
}

}  // namespace
}  // namespace mist::kpm
