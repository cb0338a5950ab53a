#include "resolve/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "encoding/json.h"
#include "encoding/schema.h"
#include "encoding/yaml.h"
#include "testing/fake_provider.h"
#include "testing/source_dir.h"

namespace mist::resolve {
namespace {

using testing::FakeProvider;
using ::testing::HasSubstr;
using testing::requirements;
using testing::version_of;

Origin origin_of(const std::string& package, const Version& version) {
  return {.source = fmt::format("oci://example.com/{}:{}", package, version.to_string()),
          .digest = "sha256:" + std::string(64, 'a')};
}

LockFile resolved(FakeProvider& provider, const testing::Needs& needs) {
  const auto solution = solve({.root = "platform", .requirements = requirements(needs)}, provider);
  EXPECT_TRUE(solution.ok());
  return solution.ok() ? LockFile::of(*solution, origin_of) : LockFile();
}

FakeProvider shop() {
  FakeProvider provider;
  provider.add("acme/shop", "1.10.0", {{"acme/db", "1.9 < x <= 1.10"}, {"acme/log", "^2"}});
  provider.add("acme/db", "1.10.0", {{"acme/log", ">=2.0.0"}}).add("acme/log", "2.1.0");
  return provider;
}

TEST(LockFile, WritesABlockForEachPackageSortedByName) {
  FakeProvider provider = shop();
  EXPECT_EQ(resolved(provider, {{"acme/shop", "^1"}}).to_text(),
            R"(# Written by mistctl: the versions that were resolved. Commit this file.
apiVersion: mistletoe.dev/v1
kind: MistLock
packages:
- name: acme/db
  version: 1.10.0
  source: oci://example.com/acme/db:1.10.0
  digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  dependencies:
    acme/log:
      range: '>=2.0.0'
      version: 2.1.0
- name: acme/log
  version: 2.1.0
  source: oci://example.com/acme/log:2.1.0
  digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
- name: acme/shop
  version: 1.10.0
  source: oci://example.com/acme/shop:1.10.0
  digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  dependencies:
    acme/db:
      range: 1.9 < x <= 1.10
      version: 1.10.0
    acme/log:
      range: ^2
      version: 2.1.0
)");
}

TEST(LockFile, ReadsWhatItWrites) {
  FakeProvider provider = shop();
  const LockFile lock = resolved(provider, {{"acme/shop", "^1"}});
  const auto again = LockFile::parse(lock.to_text(), "mistletoe.lock");
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->to_text(), lock.to_text());
  EXPECT_TRUE(again->check_consistent().ok());
  EXPECT_EQ(again->versions().at("acme/db").to_string(), "1.10.0");
  EXPECT_EQ(again->find("acme/shop")->dependencies.at("acme/db").range, "1.9 < x <= 1.10");
  EXPECT_EQ(again->find("nobody"), nullptr);
  EXPECT_EQ(LockFile::parse(LockFile().to_text(), "mistletoe.lock")->packages().size(), 0);
}

TEST(LockFile, ItsVersionsAreKept) {
  FakeProvider provider = shop();
  const auto lock = LockFile::parse(resolved(provider, {{"acme/shop", "^1"}}).to_text(), "mistletoe.lock");
  provider.add("acme/log", "2.9.0");
  provider.listed.clear();
  const auto solution = solve(
      {.root = "platform", .requirements = requirements({{"acme/shop", "^1"}}), .locked = lock->versions()},
      provider);
  EXPECT_EQ(LockFile::of(*solution, origin_of).to_text(), lock->to_text());
  EXPECT_TRUE(provider.listed.empty());
}

TEST(LockFile, TwoRangesOfOneAskerBecomeTheirIntersection) {
  FakeProvider provider;
  provider.add("a", "1.0.0", {{"b", ">=1.0.0"}, {"b", "<2.0.0"}, {"c", "^1 || ^2"}, {"c", "^1 || ^2"}});
  provider.add("b", "1.5.0").add("c", "2.0.0");
  const LockFile lock = resolved(provider, {{"a", "*"}});
  EXPECT_EQ(lock.find("a")->dependencies.at("b").range, "^1.0.0");
  EXPECT_EQ(lock.find("a")->dependencies.at("c").range, "^1 || ^2");
}

std::string one_package(const std::string& members) {
  return "apiVersion: mistletoe.dev/v1\nkind: MistLock\npackages:\n- name: a\n" + members;
}
const std::string kDigestLine = "  digest: sha256:" + std::string(64, '0') + "\n";

TEST(LockFile, IgnoresWhatANewerMistctlAdded) {
  const auto lock = LockFile::parse("generator: mistctl 9\n" + one_package("  version: 1.0.0\n  source: s\n" +
                                                                           kDigestLine + "  license: MIT\n"),
                                    "mistletoe.lock");
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  EXPECT_EQ(lock->packages().size(), 1);
}

TEST(LockFile, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string message;
    std::uint32_t line;
  };
  const std::string good = "  version: 1.0.0\n  source: s\n" + kDigestLine;
  const Case cases[] = {
      {"- a\n", "this is not a lock file", 1},
      {"apiVersion: mistletoe.dev/v1\npackages: []\n", "the lock file has no kind", 1},
      {"apiVersion: v1\nkind: Pod\n", "kind must be MistLock", 2},
      {"apiVersion: mistletoe.dev/v2\nkind: MistLock\n",
       "this mistctl reads mistletoe.dev/v1, not \"mistletoe.dev/v2\"", 1},
      {"apiVersion: mistletoe.dev/v1\nkind: MistLock\n", "the lock file has no packages", 1},
      {"apiVersion: mistletoe.dev/v1\nkind: MistLock\npackages: {}\n", "packages must be a list", 3},
      {one_package("  version: 1.10\n  source: s\n"), "the version of a must be text, not number", 5},
      {one_package("  version: latest\n"), "\"latest\" is not a version", 5},
      {one_package("  version: 1.0.0\n  source: ''\n"), "the source of a is empty", 6},
      {one_package("  version: 1.0.0\n  source: s\n"), "a has no digest", 4},
      {one_package("  version: 1.0.0\n  source: s\n  digest: sha256:12\n"), "\"sha256:12\" is not a digest",
       7},
      {one_package(good + "  dependencies:\n    b: {range: '>', version: 1.0.0}\n"),
       "a version must follow \">\", at character 2 of the version range \">\"", 9},
      {one_package(good + "  dependencies: [b]\n"), "dependencies must be an object", 8},
      {one_package(good + "- name: a\n" + good), "a is locked twice", 8},
      {one_package(good + "<<<<<<< HEAD\n"), "a merge left a conflict here", 8},
      {one_package(good + "  version: 1.0.0\n"), "", 8},
  };
  for (const Case& each : cases) {
    const auto lock = LockFile::parse(each.text, "mistletoe.lock");
    ASSERT_FALSE(lock.ok()) << each.text;
    EXPECT_EQ(lock.error().kind, ErrorKind::Invalid);
    EXPECT_TRUE(lock.error().message.starts_with(each.message)) << lock.error().message;
    ASSERT_TRUE(lock.error().where) << lock.error().to_line();
    EXPECT_EQ(lock.error().where->file, "mistletoe.lock");
    EXPECT_EQ(lock.error().where->line, each.line) << lock.error().to_line();
    EXPECT_FALSE(lock.error().hint.empty()) << lock.error().to_line();
  }
}

TEST(LockFile, KeepsRemotesByNameWithCommitOrDigest) {
  const std::string commit(40, 'a');
  const std::string digest = "sha256:" + std::string(64, 'b');
  LockFile lock;
  lock.set_remotes({{"https://h/x.yaml", "", digest},
                    {"https://h/r//d?ref=v1", commit, ""},
                    {"https://h/r//d?ref=v1", commit, ""}});
  const auto read = LockFile::parse(lock.to_text(), "mistletoe.lock");
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(read->remotes(), lock.remotes());
  ASSERT_EQ(read->remotes().size(), 2u);
  EXPECT_EQ(read->find_remote("https://h/r//d?ref=v1")->commit, commit);
  EXPECT_EQ(read->find_remote("https://h/other"), nullptr);
  EXPECT_EQ(LockFile().to_text().find("remotes"), std::string::npos);
  // With the digest of its files; two trees under one name have none.
  lock.set_remotes({{"https://h/r//d", commit, digest},
                    {"https://h/two", commit, digest},
                    {"https://h/two", commit, "sha256:" + std::string(64, 'c')}});
  const auto with_digests = LockFile::parse(lock.to_text(), "mistletoe.lock");
  ASSERT_TRUE(with_digests.ok()) << with_digests.error().to_line();
  EXPECT_EQ(with_digests->remotes(), lock.remotes());
  EXPECT_EQ(lock.find_remote("https://h/r//d")->digest, digest);
  EXPECT_EQ(lock.find_remote("https://h/two")->commit, commit);
  EXPECT_EQ(lock.find_remote("https://h/two")->digest, "");
  const auto fails = [](const std::string& remote) {
    const auto lock_of = LockFile::parse(
        "apiVersion: mistletoe.dev/v1\nkind: MistLock\npackages: []\nremotes:\n- " + remote + "\n",
        "mistletoe.lock");
    return lock_of.ok() ? std::string() : lock_of.error().to_line();
  };
  EXPECT_THAT(fails("{name: a}"), HasSubstr("a has no digest"));
  EXPECT_THAT(fails("{name: a, commit: main}"), HasSubstr("\"main\" is not a commit"));
  EXPECT_THAT(fails("{name: a, digest: sha256:1}"), HasSubstr("is not a digest"));
  EXPECT_THAT(fails(fmt::format("{{name: a, commit: {0}}}\n- {{name: a, commit: {0}}}", commit)),
              HasSubstr("locked twice"));
}

TEST(LockFile, SeesWhatAMergeOfTwoChangesBroke) {
  const std::string a = one_package("  version: 1.0.0\n  source: s\n" + kDigestLine +
                                    "  dependencies:\n    b: {range: ^1, version: 1.0.0}\n");
  const auto b = [](const std::string& version) {
    return "- name: b\n  version: " + version + "\n  source: s\n" + kDigestLine;
  };
  const auto consistent = [](const std::string& text) {
    const auto lock = LockFile::parse(text, "mistletoe.lock");
    EXPECT_TRUE(lock.ok()) << text;
    const Status status = lock->check_consistent();
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(consistent(a + b("1.0.0")), "");
  EXPECT_EQ(consistent(a), "a depends on b ^1, which is not in the lock");
  EXPECT_EQ(consistent(a + b("1.1.0")), "a depends on b 1.0.0, but 1.1.0 is locked");
  std::string moved = a + b("2.0.0");
  moved.replace(moved.find("version: 1.0.0}"), 14, "version: 2.0.0");
  EXPECT_EQ(consistent(moved), "a depends on b ^1, and 2.0.0 is not in that range");
}

TEST(LockFile, FitsItsSchema) {
  std::ifstream file(testing::source_dir() / "schemas/mistletoe-lock.schema.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto json = encoding::parse_json(text);
  ASSERT_TRUE(json.ok()) << json.error().to_line();
  const auto schema = encoding::Schema::compile(*json);
  ASSERT_TRUE(schema.ok()) << schema.error().to_line();
  FakeProvider provider = shop();
  LockFile remotes;
  remotes.set_remotes({{"https://h/x.yaml", "", "sha256:" + std::string(64, 'b')},
                       {"https://h/r", std::string(40, 'a'), ""}});
  for (const LockFile& lock : {LockFile(), resolved(provider, {{"acme/shop", "^1"}}), remotes}) {
    const auto issues = schema->validate(*encoding::parse_yaml(lock.to_text()));
    EXPECT_TRUE(issues.empty()) << issues[0].message;
  }
  EXPECT_FALSE(schema->validate(*encoding::parse_yaml(one_package("  version: 1.0\n"))).empty());
}

}  // namespace
}  // namespace mist::resolve
