#include "search/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/text.h"
#include "testing/temp_dir.h"

namespace mist::search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Entry package(std::string path, std::string description = {}, std::vector<std::string> kinds = {}) {
  Entry entry;
  entry.path = std::move(path);
  entry.version = "1.0.0";
  entry.description = std::move(description);
  entry.kinds = std::move(kinds);
  return entry;
}

class SearchDatabase : public ::testing::Test {
 protected:
  Database open() {
    Result<Database> database = Database::open(files, file);
    EXPECT_TRUE(database.ok()) << database.error().to_line();
    return *std::move(database);
  }
  void store(const std::string& registry, std::vector<Entry> entries, const std::string& state = "s1") {
    Database database = open();
    const Status stored =
        database.store(registry, state, now, {{"all", state, std::move(entries)}}, {{"all", state}});
    EXPECT_TRUE(stored.ok()) << stored.error().to_line();
  }
  std::vector<std::string> found(const Query& query) {
    Database database = open();
    const Result<std::vector<Hit>> hits = database.find(query);
    if (!hits) return {"error: " + hits.error().to_line()};
    std::vector<std::string> paths;
    for (const Hit& hit : *hits) paths.push_back(hit.registry + "/" + hit.entry.path);
    return paths;
  }
  std::vector<std::string> words(std::vector<std::string> words) {
    return found({.words = std::move(words)});
  }

  mist::testing::TempDir temp;
  HostFileSystem files;
  const Path file = temp.path() / "cache" / "search.db";
  const WallTime now{std::chrono::seconds(1'700'000'000)};
};

TEST_F(SearchDatabase, TheNameThatWasTypedComesFirst) {
  store("team",
        {package("tools/backup", "Backs up postgres, postgres and postgres"), package("postgres-operator"),
         package("databases/postgres"), package("databases/my-postgres")});
  EXPECT_THAT(words({"postgres"}), ElementsAre("team/databases/postgres", "team/postgres-operator",
                                               "team/databases/my-postgres", "team/tools/backup"));
  EXPECT_THAT(words({"POSTGRES", "operator"}), ElementsAre("team/postgres-operator"));
  EXPECT_THAT(words({"postg"}), ::testing::SizeIs(4));
  EXPECT_THAT(words({"databases/postgres"}), ElementsAre("team/databases/postgres"));
  EXPECT_THAT(words({"mysql"}), IsEmpty());
}

TEST_F(SearchDatabase, FindsKindsKeywordsAndMaintainers) {
  Entry web = package("web", "", {"Deployment", "Ingress"});
  web.keywords = {"http", "front end"};
  web.maintainers = {"Ann Example <ann@example.org>"};
  store("team", {web, package("job", "About a deployment", {"CronJob"})});
  EXPECT_THAT(found({.kinds = {"deployment"}}), ElementsAre("team/web"));
  EXPECT_THAT(found({.kinds = {"Deployment", "Ingress"}}), ElementsAre("team/web"));
  EXPECT_THAT(found({.kinds = {"Deploy"}}), IsEmpty());
  EXPECT_THAT(found({.keywords = {"front end"}}), ElementsAre("team/web"));
  EXPECT_THAT(found({.maintainers = {"ann"}}), ElementsAre("team/web"));
  EXPECT_THAT(found({.words = {"web"}, .kinds = {"CronJob"}}), IsEmpty());
  // A kind is no word of a package.
  EXPECT_THAT(words({"ingress"}), IsEmpty());
}

TEST_F(SearchDatabase, EverythingThatIsTypedIsText) {
  store("team", {package("web", R"(Says "hello" OR 'good bye'; 100% free)"), package("other")});
  for (const std::string word : {"\"",
                                 "\"hello\"",
                                 "hello OR other",
                                 "'; DROP TABLE package; --",
                                 "NEAR(web other)",
                                 "name:web",
                                 "web*",
                                 "^web",
                                 "-web",
                                 "{name}:web",
                                 "(",
                                 ")",
                                 "%",
                                 "_",
                                 "\\",
                                 "AND",
                                 "a\"b",
                                 "*",
                                 "",
                                 " ",
                                 "\n",
                                 "web AND",
                                 "NOT web",
                                 "+",
                                 "\xff\xfe"}) {
    const std::vector<std::string> paths = words({word});
    EXPECT_TRUE(paths.empty() || !paths.front().starts_with("error")) << word << ": " << paths.front();
  }
  EXPECT_THAT(words({"hello"}), ElementsAre("team/web"));
  EXPECT_THAT(words({"hello OR other"}), IsEmpty());
  EXPECT_THAT(words({"web*"}), ElementsAre("team/web"));
  EXPECT_THAT(found({.registries = {"team' OR '1'='1"}}), IsEmpty());
}

TEST_F(SearchDatabase, AWordWithoutLettersIsLeftOut) {
  Entry web = package("web", "A server", {"Deployment"});
  web.keywords = {"http"};
  store("team", {web, package("website"), package("other", "A server")});
  EXPECT_THAT(words({"web", "\u2013", "server"}), ElementsAre("team/web")) << "a dash";
  EXPECT_THAT(words({"\U0001F680 web server"}), ElementsAre("team/web")) << "an emoji";
  EXPECT_THAT(found({.words = {"server", "\u2013"}, .kinds = {"Deployment"}, .keywords = {"http"}}),
              ElementsAre("team/web"));
  EXPECT_THAT(words({"\u2013", "nothing"}), IsEmpty());
  EXPECT_THAT(words({"\u2013"}), IsEmpty());
}

// Each of two shards is within the bounds, both together aren't.
TEST_F(SearchDatabase, AnIndexBeyondABoundIsNotStoredAndTheLastOneStays) {
  const auto large = [](std::string path) {
    Entry entry = package(std::move(path));
    entry.digest = std::string(kMostIndexBytes / 2, 'x');
    return entry;
  };
  store("other", {large("apart")});
  Database database = open();
  ASSERT_TRUE(database.store("team", "s1", now, {{"00", "d0", {large("web")}}}, {{"00", "d0"}}).ok());
  const Status second =
      database.store("team", "s2", now, {{"01", "d1", {large("job")}}}, {{"00", "d0"}, {"01", "d1"}});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(second.error().detail<DamagedDatabase>(), nullptr);
  EXPECT_EQ(database.sources()->at("team").state, "s1");
  EXPECT_EQ(database.sources()->at("team").shards.size(), 1U);
  EXPECT_THAT(found({.words = {"web"}}), ElementsAre("team/web"));
}

TEST_F(SearchDatabase, WithoutWordsEverythingIsListedByName) {
  store("team", {package("web"), package("a/job"), package("b/job")});
  EXPECT_THAT(words({}), ElementsAre("team/a/job", "team/b/job", "team/web"));
  EXPECT_THAT(found({.limit = 1}), ElementsAre("team/a/job"));
}

TEST_F(SearchDatabase, OfVeryManyTheNameThatWasTypedStillComesFirst) {
  std::vector<Entry> many;
  for (int i = 0; i < 2000; ++i)
    many.push_back(package(fmt::format("a/tool-{}", i), "A web server", {"Deployment"}));
  many.push_back(package("z/my-web", "", {"Deployment"}));
  many.push_back(package("z/web-server", "", {"Deployment"}));
  many.push_back(package("z/web", "", {"Deployment"}));
  store("one", many);
  store("two", {package("web"), package("other", "A web server")});
  const std::vector<std::string> paths = found({.words = {"web"}, .limit = 10});
  ASSERT_EQ(paths.size(), 10u);
  EXPECT_THAT(std::vector(paths.begin(), paths.begin() + 4),
              ElementsAre("two/web", "one/z/web", "one/z/web-server", "one/z/my-web"));
  EXPECT_EQ(std::set(paths.begin(), paths.end()).size(), 10u);
  EXPECT_THAT(found({.words = {"web"}, .registries = {"two"}}), ElementsAre("two/web", "two/other"));
  EXPECT_THAT(found({.kinds = {"Deployment"}, .limit = 5000}), ::testing::SizeIs(2003));
  EXPECT_THAT(found({.words = {"web"}, .kinds = {"Deployment"}, .limit = 2}),
              ElementsAre("one/z/web", "one/z/web-server"));
}

TEST_F(SearchDatabase, RegistriesAreKeptApart) {
  store("one", {package("web")});
  store("two", {package("web")});
  EXPECT_THAT(words({"web"}), ElementsAre("one/web", "two/web"));
  EXPECT_THAT(found({.words = {"web"}, .registries = {"two"}}), ElementsAre("two/web"));
  Database database = open();
  ASSERT_TRUE(database.forget("one").ok());
  EXPECT_THAT(words({"web"}), ElementsAre("two/web"));
}

TEST_F(SearchDatabase, AShardIsReplacedAloneAndGoesWithItsName) {
  Database database = open();
  ASSERT_TRUE(database
                  .store("team", "s1", now, {{"0", "d0", {package("web")}}, {"1", "d1", {package("job")}}},
                         {{"0", "d0"}, {"1", "d1"}})
                  .ok());
  EXPECT_THAT(database.sources()->at("team").shards,
              UnorderedElementsAre(std::pair("0", "d0"), std::pair("1", "d1")));
  ASSERT_TRUE(
      database.store("team", "s2", now, {{"0", "d2", {package("site")}}}, {{"0", "d2"}, {"1", "d1"}}).ok());
  EXPECT_THAT(words({}), ElementsAre("team/job", "team/site"));
  EXPECT_THAT(words({"web"}), IsEmpty());
  EXPECT_EQ(database.sources()->at("team").state, "s2");
  ASSERT_TRUE(database.store("team", "s3", now, {}, {{"0", "d2"}}).ok());
  EXPECT_THAT(words({}), ElementsAre("team/site"));
}

// Of two runs with different configurations, one forgets what the other counts on.
TEST_F(SearchDatabase, PartOfAnIndexHasNoState) {
  Database database = open();
  const std::vector<Shard> changed{{"1", "d2", {package("job")}}};
  ASSERT_TRUE(database.store("team", "s2", now, changed, {{"0", "d0"}, {"1", "d2"}}).ok());
  EXPECT_EQ(database.sources()->at("team").state, "");
  ASSERT_TRUE(database.store("team", "other", now, {{"0", "e0", {package("web")}}}, {{"0", "e0"}}).ok());
  ASSERT_TRUE(database.store("team", "s2", now, changed, {{"0", "d0"}, {"1", "d2"}}).ok());
  EXPECT_EQ(database.sources()->at("team").state, "") << "another registry's shard of that name";
  ASSERT_TRUE(
      database.store("team", "s2", now, {{"0", "d0", {package("web")}}}, {{"0", "d0"}, {"1", "d2"}}).ok());
  EXPECT_EQ(database.sources()->at("team").state, "s2");
}

TEST_F(SearchDatabase, AFileThatIsNoDatabaseIsMadeAnew) {
  store("team", {package("web")});
  ASSERT_TRUE(files.write(file, std::string(5000, 'x')).ok());
  EXPECT_THAT(words({}), IsEmpty());
  store("team", {package("web")});
  EXPECT_THAT(words({}), ElementsAre("team/web"));
}

TEST_F(SearchDatabase, ADatabaseOfAnotherVersionIsMadeAnew) {
  store("team", {package("web")});
  std::string bytes = *files.read(file);
  bytes[63] = 9;  // user_version, big-endian, at 60 (https://sqlite.org/fileformat2.html)
  ASSERT_TRUE(files.write(file, bytes).ok());
  EXPECT_THAT(words({}), IsEmpty());
}

TEST_F(SearchDatabase, WhatTheFirstVersionStoredIsAskedForAgain) {
  store("team", {package("web")});
  std::string bytes = *files.read(file);
  bytes[63] = 1;  // user_version
  ASSERT_TRUE(files.write(file, bytes).ok());
  EXPECT_EQ(open().sources()->at("team").state, "");
  store("team", {package("web")});
  EXPECT_EQ(open().sources()->at("team").state, "s1");
}

TEST_F(SearchDatabase, DamageInTheMiddleIsSaidToBeDamage) {
  std::vector<Entry> many;
  for (int i = 0; i < 500; ++i) many.push_back(package(fmt::format("web{}", i), std::string(200, 'a')));
  store("team", many);
  std::string bytes = *files.read(file);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  ASSERT_TRUE(files.write(file, bytes).ok());
  Result<Database> database = Database::open(files, file);
  ASSERT_TRUE(database.ok()) << database.error().to_line();
  const Result<std::vector<Hit>> hits = database->find({.words = {"web1"}});
  ASSERT_FALSE(hits.ok());
  EXPECT_NE(hits.error().detail<DamagedDatabase>(), nullptr) << hits.error().to_line();
  ASSERT_TRUE(Database::remove(files, file).ok());
  EXPECT_THAT(words({}), IsEmpty());
}

TEST_F(SearchDatabase, AnUpdateOfAKilledProcessLeavesWhatWasThere) {
  store("team", {package("web")});
  std::vector<Entry> many;
  for (int i = 0; i < 20000; ++i) many.push_back(package(fmt::format("other{}", i), std::string(300, 'a')));
  for (const int milliseconds : {5, 20, 60, 120}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Database> database = Database::open(files, file);
      if (database) (void)database->store("team", "s2", now, {{"all", "s2", many}}, {{"all", "s2"}});
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    Database database = open();
    const Sources sources = *database.sources();
    if (sources.at("team").state == "s2") break;  // it was quicker
    EXPECT_THAT(words({}), ElementsAre("team/web")) << milliseconds;
  }
}

TEST_F(SearchDatabase, ALinkInItsPlaceIsNotFollowed) {
  ASSERT_TRUE(files.make_directories(file.parent_path()).ok());
  const Path elsewhere = temp.path() / "elsewhere";
  std::filesystem::create_symlink(elsewhere, file);
  (void)Database::open(files, file);
  EXPECT_FALSE(files.exists(elsewhere));
}

}  // namespace
}  // namespace mist::search
