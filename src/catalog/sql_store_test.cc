#include "catalog/sql_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "catalog/backup.h"
#include "catalog/blobs.h"
#include "catalog/database_fixture.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_blobs.h"
#include "catalog/step_log.h"
#include "encoding/json.h"
#include "sqlite/database.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr Duration kTerm = 30s;

class StoreTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  StoreTest() : store_(opened()), accounts_(account_store_in(database_.open(), clock_, random_)) {}

  std::unique_ptr<Store> opened() { return opened(database_.open()); }
  std::unique_ptr<Store> opened(std::shared_ptr<SqlConnections> database) {
    auto store = open_store(std::move(database), clock_, random_);
    EXPECT_TRUE(store.ok()) << store.error().to_line();
    return *std::move(store);
  }
  void author(const std::string& name) { ASSERT_TRUE(accounts_->add(name, Role::Author, "").ok()); }
  void project(const std::string& name, const std::string& owner = "ann") {
    const auto made = store_->add_project({.name = name,
                                           .owner = owner,
                                           .url = "https://git.example.com/" + name,
                                           .path = "",
                                           .webhook_secret = SecretString("s")});
    ASSERT_TRUE(made.ok()) << made.error().to_line();
  }
  static NewVersion version(const std::string& package, const std::string& number) {
    NewVersion made{
        .package = package, .version = number, .tag = "v" + number, .commit = std::string(40, 'a')};
    made.digest = crypto::sha256(package + number).str();
    made.facts.description = package + " is a thing";
    made.facts.k3 = "name: " + package;
    return made;
  }
  void submit(const NewVersion& made) {
    const auto submitted = store_->submit(made);
    ASSERT_TRUE(submitted.ok()) << submitted.error().to_line();
    ASSERT_EQ(*submitted, Submitted::Taken);
  }
  Job lease(const std::string& holder = "w1") {
    const auto job = store_->lease(holder, kTerm);
    EXPECT_TRUE(job.ok() && *job) << "no job";
    return job.ok() && *job ? **job : Job();
  }
  bool is_queue_empty() {
    const auto job = store_->lease("w9", kTerm);
    return job.ok() && !*job;
  }
  VersionState state(const std::string& package, const std::string& number) {
    const auto found = store_->version(package, number);
    EXPECT_TRUE(found.ok() && *found);
    return (*found)->state;
  }
  std::vector<std::string> numbers(const std::string& package) {
    std::vector<std::string> newest_first;
    for (const VersionBrief& each : *store_->versions(package)) newest_first.push_back(each.version);
    return newest_first;
  }
  std::vector<std::string> found(const std::string& query) {
    const auto slice = store_->search(query, {}, {});
    EXPECT_TRUE(slice.ok()) << slice.error().to_line();
    std::vector<std::string> names;
    for (const Listed& each : slice->items) names.push_back(each.package);
    return names;
  }
  void publish(const std::string& package, const std::string& number) {
    submit(version(package, number));
    ASSERT_TRUE(store_->finish(lease(), true).ok());
  }
  void fail(const std::string& package, const std::string& number) {
    submit(version(package, number));
    const Job job = lease();
    ASSERT_TRUE(store_->add_step(job, {.name = "lint", .state = StepState::Failed}).ok());
    ASSERT_TRUE(store_->finish(job, false).ok());
  }

  mist::testing::TempDir dir_;
  DataPlaces places_{dir_.path()};
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  const TestDatabase database_{GetParam(), places_.database()};
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountStore> accounts_;
};

// Of SQLite alone.
class SqliteStoreTest : public StoreTest {};

TEST_P(StoreTest, TheNewestReleaseThatPassedStandsForItsPackage) {
  author("ann");
  project("etcd");
  const auto listed = [&] { return store_->search("etcd", {}, {})->items.at(0).version; };
  publish("etcd", "1.0.0-rc.1");
  EXPECT_EQ(listed(), "1.0.0-rc.1") << "there is nothing better";
  publish("etcd", "1.0.0+build-7");
  EXPECT_EQ(listed(), "1.0.0+build-7");
  publish("etcd", "1.1.0-rc.1");
  EXPECT_EQ(listed(), "1.0.0+build-7");
  submit(version("etcd", "1.2.0"));
  EXPECT_EQ(listed(), "1.0.0+build-7") << "nobody knows yet whether it is good";
  ASSERT_TRUE(store_->yank("etcd", "1.0.0+build-7", "bad").ok());
  EXPECT_EQ(listed(), "1.1.0-rc.1");
}

TEST_P(StoreTest, ANameIsOneAccountsForEver) {
  author("ann");
  author("bob");
  project("etcd");
  const NewProject other{
      .name = "etcd", .owner = "bob", .url = "u", .path = "", .webhook_secret = SecretString("t")};
  EXPECT_EQ(store_->add_project(other).error().kind, ErrorKind::Conflict);
  submit(version("etcd", "1.0.0"));
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  EXPECT_FALSE(*store_->project("etcd"));
  EXPECT_EQ(store_->add_project(other).error().kind, ErrorKind::Conflict)
      << "who has its versions keeps its name";
  project("etcd");
  EXPECT_TRUE(*store_->project("etcd"));
  EXPECT_EQ(store_->remove_project("none").error().kind, ErrorKind::NotFound);
}

TEST_P(StoreTest, ANameWithoutVersionsIsFreeOnceItIsUnlinked) {
  author("ann");
  author("bob");
  project("etcd");
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  project("etcd", "bob");
  EXPECT_EQ((*store_->project("etcd"))->owner, "bob");
}

TEST_P(StoreTest, APollWritesOnlyToTheLinkThatItWasTakenFor) {
  author("ann");
  author("bob");
  project("etcd");
  const Project anns = **store_->project("etcd");
  NewVersion read = version("etcd", "1.0.0");
  read.owner = anns.owner;
  read.url = anns.url;
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  project("etcd", "bob");
  EXPECT_EQ(store_->submit(read).error().kind, ErrorKind::NotFound);
  EXPECT_THAT(*store_->versions("etcd"), IsEmpty());
  ASSERT_TRUE(store_->note_poll(anns, "no network", 10min).ok());
  EXPECT_EQ((*store_->project("etcd"))->problem, "");
  EXPECT_TRUE(*store_->take_due_project(5min, {})) << "its first poll is due";
  read.owner = "bob";
  EXPECT_EQ(*store_->submit(read), Submitted::Taken);
}

TEST_P(StoreTest, AnAccountHasSoManyProjectsAndNoMore) {
  author("ann");
  for (int i = 0; i < kProjectsOfAnAccount; ++i) project(fmt::format("p{}", i));
  const NewProject more{
      .name = "more", .owner = "ann", .url = "u", .path = "", .webhook_secret = SecretString("t")};
  const auto refused = store_->add_project(more);
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("1000 projects"));
  ASSERT_TRUE(store_->remove_project("p7").ok());
  EXPECT_TRUE(store_->add_project(more).ok());
}

TEST_P(StoreTest, AProjectIsPolledWhenItsTimeHasComeOrSomebodyAsks) {
  author("ann");
  project("etcd");
  EXPECT_TRUE(*store_->take_due_project(5min, {}));
  EXPECT_FALSE(*store_->take_due_project(5min, {})) << "it was just taken";
  ASSERT_TRUE(store_->note_poll(**store_->project("etcd"), "", 10min).ok());
  clock_.advance(9min);
  EXPECT_FALSE(*store_->take_due_project(5min, {}));
  clock_.advance(2min);
  EXPECT_TRUE(*store_->take_due_project(5min, {}));
  // Asked for while it is polled: it is polled once more.
  ASSERT_TRUE(store_->ask_poll("etcd").ok());
  ASSERT_TRUE(store_->note_poll(**store_->project("etcd"), "no network", 10min).ok());
  EXPECT_TRUE(*store_->take_due_project(5min, {}));
  EXPECT_EQ((*store_->project("etcd"))->problem, "no network");
}

TEST_P(StoreTest, AProjectThatWasPolledWhileTheClockWasAheadIsPolledOnceItIsRight) {
  author("ann");
  project("etcd");
  clock_.advance(24h);
  EXPECT_TRUE(*store_->take_due_project(5min, {.interval = 10min}));
  ASSERT_TRUE(store_->note_poll(**store_->project("etcd"), "", 10min).ok());
  clock_.advance(-24h);
  EXPECT_TRUE(*store_->take_due_project(5min, {.interval = 10min}));
  ASSERT_TRUE(store_->note_poll(**store_->project("etcd"), "", 10min).ok());
  EXPECT_EQ((*store_->project("etcd"))->polled, clock_.now());
  EXPECT_FALSE(*store_->take_due_project(5min, {.interval = 10min}));
  // A process whose clock is behind another's doesn't poll what that one has just polled.
  clock_.advance(-1min);
  EXPECT_FALSE(*store_->take_due_project(5min, {.interval = 10min}));
}

TEST_P(StoreTest, NothingOfADisabledAccountIsPolledOrTaken) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  ASSERT_TRUE(store_->ask_poll("etcd").ok());
  EXPECT_FALSE(*store_->take_due_project(5min, {}));
  NewVersion fetched = version("etcd", "1.1.0");
  fetched.owner = "ann";
  fetched.url = "https://git.example.com/etcd";
  EXPECT_EQ(store_->submit(fetched).error().kind, ErrorKind::NotFound) << "it was read meanwhile";
  EXPECT_EQ(store_->versions("etcd")->size(), 1U) << "what was published stays";
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  EXPECT_TRUE(*store_->take_due_project(5min, {}));
  EXPECT_EQ(*store_->submit(fetched), Submitted::Taken);
}

TEST_P(StoreTest, NothingNewOfADisabledAccountIsTested) {
  author("ann");
  project("etcd");
  publish("etcd", "1.0.0");
  submit(version("etcd", "1.1.0"));
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  EXPECT_TRUE(is_queue_empty());
  ASSERT_TRUE(store_->test_again("etcd", "1.0.0").ok());
  const Job again = lease();
  EXPECT_EQ(again.version, "1.0.0") << "as a moderator asked";
  ASSERT_TRUE(store_->finish(again, true).ok());
  EXPECT_TRUE(is_queue_empty());
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  EXPECT_EQ(lease().version, "1.1.0");
}

TEST_P(StoreTest, AFirstTestThatRunsIsTakenFromADisabledAccount) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job running = lease();
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  EXPECT_EQ(store_->renew(running, kTerm).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(store_->finish(running, true).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Queued);
  clock_.advance(kTerm + 1s);
  EXPECT_TRUE(is_queue_empty());
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  const Job later = lease("w2");
  EXPECT_EQ(later.id, running.id);
  ASSERT_TRUE(store_->finish(later, true).ok());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Passed);
}

TEST_P(StoreTest, AnotherTestOfWhatFailedEndsWithItsAccount) {
  author("ann");
  author("bob");
  for (const std::string name : {"etcd", "redis"}) project(name);
  project("nats", "bob");
  publish("etcd", "1.0.0");
  fail("redis", "1.0.0");
  fail("nats", "1.0.0");
  for (const char* each : {"etcd", "redis", "nats"}) ASSERT_TRUE(store_->test_again(each, "1.0.0").ok());
  const Job passed_before = lease("w1");
  const Job bobs = lease("w2");
  const Job failed_before = lease("w3");
  EXPECT_EQ(passed_before.package, "etcd");
  EXPECT_EQ(bobs.package, "nats");
  EXPECT_EQ(failed_before.package, "redis");
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  EXPECT_EQ(store_->finish(failed_before, true).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(state("redis", "1.0.0"), VersionState::Failed);
  EXPECT_THAT((*store_->last_run("redis", "1.0.0"))->steps.back().summary, HasSubstr("was disabled"));
  EXPECT_TRUE(store_->finish(passed_before, true).ok()) << "it isn't new";
  ASSERT_TRUE(accounts_->remove("bob").ok());
  EXPECT_EQ(store_->finish(bobs, true).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(state("nats", "1.0.0"), VersionState::Failed);
  ASSERT_TRUE(store_->test_again("redis", "1.0.0").ok());
  const Job as_a_moderator_asked = lease();
  EXPECT_EQ(as_a_moderator_asked.package, "redis");
  EXPECT_TRUE(store_->finish(as_a_moderator_asked, true).ok());
}

TEST_P(StoreTest, WhatEarlierProgramsLeftOfDeletedAccountsEnds) {
  for (const std::string name : {"ann", "bob"}) author(name);
  project("etcd");
  project("redis", "bob");
  for (const std::string name : {"etcd", "redis"}) submit(version(name, "1.0.0"));
  ASSERT_TRUE(accounts_->remove("ann").ok());
  ASSERT_TRUE(accounts_->set_disabled("bob", true).ok());
  const Status as_before = database_.open()->writing([](sql::Database& db) {
    return db.script(
        "DELETE FROM steps; UPDATE jobs SET open = 1, attempt = 0; UPDATE versions SET state = 0;");
  });
  ASSERT_TRUE(as_before.ok()) << as_before.error().to_line();
  store_ = opened();
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_EQ(state("redis", "1.0.0"), VersionState::Queued) << "it may be enabled";
  ASSERT_TRUE(store_->test_again("etcd", "1.0.0").ok());
  store_ = opened();
  EXPECT_EQ(lease().package, "etcd") << "as a moderator asked";
}

TEST_P(StoreTest, WhatWaitsForItsFirstTestFailsWithItsAccount) {
  author("root");
  ASSERT_TRUE(accounts_->set_role("root", Role::Administrator).ok());
  author("ann");
  for (const std::string each : {"etcd", "redis"}) project(each);
  publish("etcd", "1.0.0");
  submit(version("etcd", "1.1.0"));
  submit(version("redis", "1.0.0"));
  const Job running = lease();
  EXPECT_EQ(running.version, "1.1.0");
  ASSERT_TRUE(accounts_->remove("ann").ok());
  EXPECT_EQ(store_->finish(running, true).error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(is_queue_empty());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Passed);
  EXPECT_EQ(state("etcd", "1.1.0"), VersionState::Failed);
  EXPECT_EQ(state("redis", "1.0.0"), VersionState::Failed);
  EXPECT_EQ((*store_->search("redis", {}, {})).items.at(0).state, VersionState::Failed);
  EXPECT_THAT((*store_->last_run("redis", "1.0.0"))->steps.back().summary, HasSubstr("was deleted"));
  ASSERT_TRUE(store_->test_again("redis", "1.0.0").ok());
  EXPECT_EQ(lease().package, "redis") << "as a moderator asked";
}

TEST_P(StoreTest, AccountsThatNothingIsPolledForComeFirst) {
  author("ann");
  for (const std::string name : {"a", "b", "c"}) {
    project(name);
    clock_.advance(1s);
  }
  author("bea");
  project("d", "bea");
  const auto take = [&](const Polls& polls) {
    const auto due = store_->take_due_project(0min, polls);
    EXPECT_TRUE(due.ok()) << due.error().to_line();
    return due.ok() && *due ? (*due)->name : std::string("nothing");
  };
  EXPECT_EQ(take({}), "a") << "the longest waiting";
  EXPECT_EQ(take({.projects = {"a"}, .owners = {"ann"}}), "d") << "though b has waited longer";
  EXPECT_EQ(take({.projects = {"a", "d"}, .owners = {"ann", "bea"}}), "b") << "nobody else's is due";
  EXPECT_EQ(take({.projects = {"d"}, .owners = {"bea", "ann"}, .others_only = true}), "nothing");
}

TEST_P(StoreTest, AVersionNeverChanges) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  EXPECT_EQ(*store_->submit(version("etcd", "1.0.0")), Submitted::Known);
  NewVersion moved = version("etcd", "1.0.0");
  moved.commit = std::string(40, 'b');
  moved.digest = crypto::sha256("other").str();
  EXPECT_EQ(*store_->submit(moved), Submitted::Changed);
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->commit, std::string(40, 'a'));
  EXPECT_THAT(*store_->commits("etcd"), ElementsAre(Pair("1.0.0", std::string(40, 'a'))));
  EXPECT_THAT(*store_->commits("redis"), IsEmpty());
}

TEST_P(StoreTest, WhatCouldNotBeReadFailedAtOnce) {
  author("ann");
  project("etcd");
  NewVersion broken = version("etcd", "1.0.0");
  broken.digest.clear();
  broken.why_not = Step{.name = "read", .state = StepState::Failed, .summary = "K3.yaml is no YAML"};
  submit(broken);
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_TRUE(is_queue_empty());
  const auto run = store_->last_run("etcd", "1.0.0");
  ASSERT_TRUE(run.ok() && *run && (*run)->steps.size() == 1);
  EXPECT_EQ((*run)->steps[0].summary, "K3.yaml is no YAML");
  EXPECT_EQ(store_->test_again("etcd", "1.0.0").error().kind, ErrorKind::Conflict);
}

TEST_P(StoreTest, StepsAreBoundedHoweverMuchAPackageSays) {
  author("ann");
  project("etcd");
  const std::string endless(std::size_t{2} << 20, 'x');
  const std::string controls(std::size_t{2} << 20, '\x01');
  NewVersion broken = version("etcd", "0.9.0");
  broken.digest.clear();
  broken.why_not = Step{.name = "read", .state = StepState::Failed, .summary = endless, .log = endless};
  submit(broken);
  submit(version("etcd", "1.0.0"));
  const Job job = lease();
  ASSERT_TRUE(store_
                  ->add_step(job, {.name = "lint",
                                   .state = StepState::Failed,
                                   .summary = "a\nb \u202e" + endless,
                                   .log = "a\nb \u202e" + endless})
                  .ok());
  ASSERT_TRUE(store_->add_step(job, {.name = "install", .summary = controls, .log = controls}).ok());
  std::vector<Step> steps = (*store_->last_run("etcd", "1.0.0"))->steps;
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_THAT(steps[0].summary, StartsWith("a b \\u202ex"));
  EXPECT_THAT(steps[0].log, StartsWith("a\nb \\u202ex"));
  steps.push_back((*store_->last_run("etcd", "0.9.0"))->steps.at(0));
  for (const Step& each : steps) {
    EXPECT_LE(each.summary.size(), Store::kLongestSummary) << each.name;
    EXPECT_LE(each.log.size(), StepLog::kMost) << each.name;
    EXPECT_TRUE(each.summary.ends_with("…") && each.log.ends_with("…")) << each.name;
  }
}

TEST_P(StoreTest, StepsThatEarlierProgramsKeptAreBoundedWhenTheyAreRead) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  ASSERT_TRUE(store_->add_step(lease(), {.name = "lint", .summary = "a", .log = "b"}).ok());
  const std::string endless = "a\nb \u202e" + std::string(std::size_t{2} << 20, 'x');
  const Status as_before = database_.open()->writing([&](sql::Database& db) -> Status {
    MIST_TRY_VOID(db.run("UPDATE steps SET summary = ?1, log = ?1", {endless}));
    return {};
  });
  ASSERT_TRUE(as_before.ok()) << as_before.error().to_line();
  const Step step = (*store_->last_run("etcd", "1.0.0"))->steps.at(0);
  EXPECT_THAT(step.summary, StartsWith("a b \\u202ex"));
  EXPECT_THAT(step.log, StartsWith("a\nb \\u202ex"));
  EXPECT_LE(step.summary.size(), Store::kLongestSummary);
  EXPECT_LE(step.log.size(), StepLog::kMost);
  EXPECT_TRUE(step.summary.ends_with("…") && step.log.ends_with("…"));
}

TEST_P(StoreTest, AJobIsOneWorkersAsLongAsItRenewsItsLease) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job first = lease("w1");
  EXPECT_EQ(first.package, "etcd");
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Testing);
  clock_.advance(20s);
  ASSERT_TRUE(store_->renew(first, kTerm).ok());
  clock_.advance(20s);
  EXPECT_TRUE(is_queue_empty());
  ASSERT_TRUE(store_->add_step(first, {.name = "lint", .summary = "of the first"}).ok());
  clock_.advance(20s);
  // It was silent for longer than its term.
  const Job second = lease("w2");
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(store_->renew(first, kTerm).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(store_->add_step(first, {.name = "late"}).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(store_->finish(first, true).error().kind, ErrorKind::Conflict);
  ASSERT_TRUE(store_->add_step(second, {.name = "lint", .summary = "of the second", .elapsed = 1500ms}).ok());
  ASSERT_TRUE(store_->finish(second, true).ok());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Passed);
  const auto run = store_->last_run("etcd", "1.0.0");
  ASSERT_EQ((*run)->steps.size(), 1U);
  EXPECT_EQ((*run)->steps[0].summary, "of the second");
  EXPECT_EQ((*run)->steps[0].elapsed, 1500ms);
  EXPECT_EQ(store_->finish(second, false).error().kind, ErrorKind::Conflict) << "it is over";
}

TEST_P(StoreTest, AnAttemptIsItsWorkersUntilItEndsOrAnotherBegins) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job first = lease("w1");
  EXPECT_TRUE(*store_->is_being_tested(first.id, 1));
  EXPECT_FALSE(*store_->is_being_tested(first.id, 2));
  clock_.advance(kTerm + 1s);
  EXPECT_TRUE(*store_->is_being_tested(first.id, 1)) << "it may only be late";
  const Job second = lease("w2");
  EXPECT_FALSE(*store_->is_being_tested(first.id, 1));
  EXPECT_TRUE(*store_->is_being_tested(second.id, 2));
  ASSERT_TRUE(store_->finish(second, true).ok());
  EXPECT_FALSE(*store_->is_being_tested(second.id, 2));
}

TEST_P(StoreTest, AJobThatIsGivenUpFailsWithTheReasonOnce) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job job = lease();
  ASSERT_TRUE(store_->give_up(job, {.name = "worker", .state = StepState::Failed}).ok());
  EXPECT_EQ(store_->give_up(job, {.name = "worker"}).error().kind, ErrorKind::Conflict) << "it is over";
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->steps.size(), 1U);
  EXPECT_TRUE(is_queue_empty());
}

TEST_P(StoreTest, APackageAtWhichWorkersDieFailsAfterSomeAttempts) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  for (int attempt = 1; attempt <= Store::kMostAttempts; ++attempt) {
    EXPECT_EQ(lease().attempt, attempt);
    clock_.advance(1min);
  }
  EXPECT_TRUE(is_queue_empty());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_THAT((*store_->last_run("etcd", "1.0.0"))->steps.back().summary, HasSubstr("the worker died"));
}

TEST_P(StoreTest, WhatAStoppedWorkerGivesBackCountsAsNoAttempt) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  for (int i = 0; i < 5; ++i) {
    const Job job = lease();
    EXPECT_EQ(job.attempt, 1);
    ASSERT_TRUE(store_->add_step(job, {.name = "lint"}).ok());
    ASSERT_TRUE(store_->give_back(job, 0s).ok());
    EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Queued);
  }
}

TEST_P(StoreTest, AccountsTakeTurns) {
  author("ann");
  author("bob");
  project("one", "bob");
  for (const std::string each : {"many-a", "many-b", "many-c"}) {
    project(each);
    submit(version(each, "1.0.0"));
  }
  submit(version("one", "1.0.0"));
  EXPECT_EQ(lease().package, "many-a");
  EXPECT_EQ(lease().package, "one") << "bob doesn't wait until ann has nothing any more";
  EXPECT_EQ(lease().package, "many-b");
}

// They would make the same objects of the whole cluster.
TEST_P(StoreTest, VersionsOfOnePackageAreTestedOneAfterTheOther) {
  author("ann");
  project("etcd");
  project("redis");
  for (const char* each : {"1.0.0", "1.1.0"}) submit(version("etcd", each));
  submit(version("redis", "1.0.0"));
  const Job first = lease("w1");
  EXPECT_EQ(first.version, "1.0.0");
  EXPECT_EQ(lease("w2").package, "redis") << "another package doesn't wait";
  EXPECT_TRUE(is_queue_empty());
  ASSERT_TRUE(store_->finish(first, true).ok());
  const Job second = lease("w2");
  EXPECT_EQ(second.version, "1.1.0");
  EXPECT_EQ(second.previous_version, "1.0.0") << "which is known to be good by now";
  clock_.advance(kTerm + 1s);
  EXPECT_EQ(lease("w3").id, second.id) << "its worker died";
}

TEST_P(StoreTest, WhatIsGivenBackForLaterWaitsThatLong) {
  author("ann");
  project("etcd");
  project("redis");
  submit(version("etcd", "1.0.0"));
  submit(version("redis", "1.0.0"));
  const Job job = lease();
  EXPECT_EQ(job.package, "etcd");
  ASSERT_TRUE(store_->give_back(job, 20s).ok());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Queued);
  EXPECT_EQ(lease().package, "redis");
  EXPECT_TRUE(is_queue_empty());
  clock_.advance(20s);
  EXPECT_EQ(lease().attempt, 1) << "it didn't count";
}

TEST_P(StoreTest, AVersionThatRestsHoldsUpNoOther) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  submit(version("etcd", "1.1.0"));
  const Job first = lease();
  ASSERT_TRUE(store_->give_back(first, 20s).ok());
  const Job second = lease();
  EXPECT_EQ(second.version, "1.1.0");
  clock_.advance(20s);
  EXPECT_TRUE(is_queue_empty()) << "they are tested one after the other all the same";
  ASSERT_TRUE(store_->finish(second, true).ok());
  EXPECT_EQ(lease().version, "1.0.0");
}

TEST_P(StoreTest, AJobNamesTheVersionToUpgradeFrom) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.10.0"));
  const Job first = lease();
  EXPECT_EQ(first.previous_version, "");
  ASSERT_TRUE(store_->finish(first, false).ok());
  for (const char* each : {"1.8.0", "1.9.0"}) publish("etcd", each);
  submit(version("etcd", "1.9.5"));
  const Job job = lease();
  EXPECT_EQ(job.previous_version, "1.9.0");
  EXPECT_EQ(job.previous_digest, version("etcd", "1.9.0").digest);
  ASSERT_TRUE(store_->give_back(job, 0s).ok());
  ASSERT_TRUE(store_->yank("etcd", "1.9.0", "broken").ok());
  EXPECT_EQ(lease().previous_version, "1.8.0");
}

TEST_P(StoreTest, TwoWorkersNeverHaveOneJob) {
  author("ann");
  for (int i = 0; i < 40; ++i) {
    project(fmt::format("p{}", i));
    submit(version(fmt::format("p{}", i), "1.0.0"));
  }
  std::vector<std::vector<std::int64_t>> taken(4);
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < taken.size(); ++i)
      workers.emplace_back([&, i] {
        const auto store = opened();
        while (true) {
          const auto job = store->lease("w" + std::to_string(i), kTerm);
          ASSERT_TRUE(job.ok()) << job.error().to_line();
          if (!*job) return;
          taken[i].push_back((*job)->id);
        }
      });
  }
  std::vector<std::int64_t> all;
  for (const auto& each : taken) all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 40U);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST_P(StoreTest, ListsCutDescriptionsBetweenCharacters) {
  author("ann");
  const auto shown = [&](const std::string& name, const std::string& description) {
    project(name);
    NewVersion made = version(name, "1.0.0");
    made.facts.description = description;
    submit(made);
    const std::string found = store_->search("", {}, {})->items.back().description;
    for (const Listed& each : *store_->newest(10)) {
      if (each.package != name) continue;
      EXPECT_EQ(each.description, found);
    }
    return found;
  };
  std::string long_one;
  for (int i = 0; i < 300; ++i) long_one += "é";
  EXPECT_EQ(shown("a", long_one), long_one);
  EXPECT_EQ(shown("b", long_one + "\U0001F680"), long_one + "…");
  EXPECT_EQ(shown("c", "x" + long_one), "x" + long_one.substr(2) + "…");
  EXPECT_EQ(shown("d", std::string(100'000, 'x')), std::string(600, 'x') + "…");
  EXPECT_EQ((*store_->version("b", "1.0.0"))->facts.description, long_one + "\U0001F680");
}

TEST_P(StoreTest, ListsOrderVersionsAsSemVer) {
  author("ann");
  project("etcd");
  for (const char* each : {"1.9.0", "1.10.0", "1.10.0-rc.1"}) publish("etcd", each);
  EXPECT_THAT(numbers("etcd"), ElementsAre("1.10.0", "1.10.0-rc.1", "1.9.0"));
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.10.0");
}

TEST_P(StoreTest, AListOfVersionsSaysWhatTheVersionItselfDoes) {
  author("ann");
  project("etcd");
  NewVersion made = version("etcd", "1.0.0");
  made.readme = "# etcd";
  submit(made);
  ASSERT_TRUE(store_->finish(lease(), true).ok());
  ASSERT_TRUE(store_->yank("etcd", "1.0.0", "bad").ok());
  ASSERT_TRUE(store_->add_downloads({{.digest = made.digest, .day = 1, .count = 3}}).ok());
  ASSERT_TRUE(store_->hide_version("etcd", "1.0.0", "spam").ok());
  const VersionBrief brief = store_->versions("etcd")->at(0);
  const Version whole = **store_->version("etcd", "1.0.0");
  const auto of = [](const auto& each) {
    return std::tuple(each.id, each.package, each.version, each.tag, each.commit, each.digest, each.state,
                      each.yanked, each.hidden, each.is_package_hidden, each.created, each.downloads);
  };
  EXPECT_EQ(of(brief), of(whole));
  EXPECT_EQ(whole.downloads, 3);
  EXPECT_EQ(whole.readme, "# etcd");
  EXPECT_EQ(whole.facts.description, "etcd is a thing");
}

TEST_P(StoreTest, APackageHasABoundedNumberOfVersions) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Status filled = database_.open()->writing([](sql::Database& db) -> Status {
    MIST_TRY_VOID(db.run(
        "INSERT INTO versions (project, version, place, tag, \"commit\", digest, state, created, facts, "
        "readme) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4999) "
        "SELECT (SELECT id FROM projects), '0.0.' || i, 0, '', '', '', 3, 0, '{}', '' FROM n"));
    return {};
  });
  ASSERT_TRUE(filled.ok()) << filled.error().to_line();
  ASSERT_EQ(std::ssize(*store_->versions("etcd")), kVersionsOfAProject);
  const auto one_more = store_->submit(version("etcd", "1.0.1"));
  ASSERT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(one_more.error().hint, kHintOfAFullProject);
  EXPECT_EQ(*store_->submit(version("etcd", "1.0.0")), Submitted::Known) << "it has that one";
}

// Each row has the texts of its version: a row that moves is written again with them.
TEST_P(SqliteStoreTest, ANewVersionMovesNoOther) {
  author("ann");
  project("etcd");
  for (const char* each : {"1.0.0", "1.1.0", "1.2.0"}) submit(version("etcd", each));
  const Status watched = database_.open()->writing([](sql::Database& db) {
    return db.script(
        "CREATE TRIGGER no_move BEFORE UPDATE OF place ON versions BEGIN SELECT RAISE(ABORT, 'moved'); END;");
  });
  ASSERT_TRUE(watched.ok()) << watched.error().to_line();
  for (const char* each : {"0.9.0", "1.3.0", "1.0.5", "0.8.0", "1.0.4"}) submit(version("etcd", each));
  EXPECT_THAT(numbers("etcd"),
              ElementsAre("1.3.0", "1.2.0", "1.1.0", "1.0.5", "1.0.4", "1.0.0", "0.9.0", "0.8.0"));
}

TEST_P(StoreTest, VersionsMoveWhereNoGapIsLeft) {
  author("ann");
  project("etcd");
  std::vector<std::string> newest_first;
  const auto publish_first = [&](const std::string& number) {
    submit(version("etcd", number));
    newest_first.insert(newest_first.begin(), number);
  };
  for (const char* each : {"1.0.0", "1.1.0"}) publish_first(each);
  // As earlier catalogs numbered them.
  const Status numbered = database_.open()->writing(
      [](sql::Database& db) { return db.script("UPDATE versions SET place = id"); });
  ASSERT_TRUE(numbered.ok()) << numbered.error().to_line();
  submit(version("etcd", "1.0.1"));
  newest_first.insert(newest_first.end() - 1, "1.0.1");
  EXPECT_EQ(numbers("etcd"), newest_first);
  submit(version("etcd", "2.0.0"));
  for (int i = 1; i <= 100; ++i) publish_first(fmt::format("1.1.{}", i));
  newest_first.insert(newest_first.begin(), "2.0.0");
  EXPECT_EQ(numbers("etcd"), newest_first);
}

TEST_P(StoreTest, TheSearchFindsOfEachPackageTheNewestVersionThatPassed) {
  author("ann");
  project("etcd");
  project("zoo");
  EXPECT_THAT(store_->search_index()->second, IsEmpty());
  NewVersion made = version("etcd", "1.0.0");
  made.facts.format = "Kube";
  made.facts.home = "https://etcd.example";
  made.facts.maintainers = {"Ann <ann@example.com>"};
  made.facts.k3 = "";  // not only what kpm installs
  submit(made);
  const Job job = lease();
  const auto graph = encoding::parse_json(
      R"({"nodes":[{"role":"object","kind":"Service"},{"role":"object","kind":"Deployment"},)"
      R"({"role":"object","kind":"Service"},{"role":"outside","kind":"Secret"}]})");
  ASSERT_TRUE(store_->note_objects(job, *graph, encoding::Value(), "").ok());
  EXPECT_THAT(store_->search_index()->second, IsEmpty()) << "it is being tested";
  ASSERT_TRUE(store_->finish(job, true).ok());
  fail("etcd", "1.1.0");
  fail("zoo", "1.0.0");
  const auto found = *store_->search_index();
  EXPECT_EQ(found.first, *store_->index_revision());
  ASSERT_THAT(found.second, SizeIs(1));
  EXPECT_EQ(found.second[0], (search::Entry{.path = "etcd",
                                            .version = "1.0.0",
                                            .digest = made.digest,
                                            .title = "etcd",
                                            .description = "etcd is a thing",
                                            .home = "https://etcd.example",
                                            .format = "Kube",
                                            .versions = {"1.0.0"},
                                            .keywords = {},
                                            .maintainers = {"Ann <ann@example.com>"},
                                            .kinds = {"Deployment", "Service"}}));
  publish("etcd", "2.0.0-rc.1");
  publish("etcd", "1.2.0");
  publish("zoo", "2.0.0");
  const auto versions_of = [&](std::size_t at) { return store_->search_index()->second.at(at).versions; };
  EXPECT_EQ(store_->search_index()->second.at(0).version, "1.2.0") << "the newest that is no prerelease";
  EXPECT_THAT(versions_of(0), ElementsAre("2.0.0-rc.1", "1.2.0", "1.0.0"));
  EXPECT_THAT(versions_of(1), ElementsAre("2.0.0"));
  ASSERT_TRUE(store_->yank("etcd", "1.2.0", "broken").ok());
  ASSERT_TRUE(store_->hide_version("etcd", "2.0.0-rc.1", "evil").ok());
  EXPECT_EQ(store_->search_index()->second.at(0).version, "1.0.0");
  EXPECT_THAT(versions_of(0), ElementsAre("1.0.0"));
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "evil").ok());
  ASSERT_THAT(store_->search_index()->second, SizeIs(1));
  for (int i = 1; i < 25; ++i) publish("zoo", fmt::format("2.0.{}", i));
  EXPECT_THAT(versions_of(0), SizeIs(Store::kVersionsInSearch));
  EXPECT_EQ(versions_of(0).front(), "2.0.24");
}

TEST_P(StoreTest, OnlyWhatPassedIsInTheIndexAndYankedIsMarked) {
  author("ann");
  project("etcd");
  const std::int64_t empty = *store_->index_revision();
  submit(version("etcd", "1.0.0"));
  EXPECT_THAT(store_->index()->second, IsEmpty());
  ASSERT_TRUE(store_->finish(lease(), true).ok());
  const std::int64_t one = *store_->index_revision();
  EXPECT_GT(one, empty);
  ASSERT_EQ(store_->index()->second.size(), 1U);
  EXPECT_FALSE(store_->index()->second[0].yanked);
  publish("etcd", "2.0.0");
  ASSERT_TRUE(store_->yank("etcd", "2.0.0", "broken").ok());
  const auto index = *store_->index();
  EXPECT_GT(index.first, one);
  ASSERT_EQ(index.second.size(), 2U);
  EXPECT_EQ(index.second[1].yanked, "broken");
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.0") << "the newest that isn't yanked";
  ASSERT_TRUE(store_->yank("etcd", "2.0.0", std::nullopt).ok());
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "2.0.0");
  EXPECT_EQ(store_->yank("etcd", "3.0.0", "x").error().kind, ErrorKind::NotFound);
}

TEST_P(StoreTest, AYankedReleaseGivesWayToANewerVersionThatHasNotPassed) {
  author("ann");
  project("etcd");
  publish("etcd", "1.0.0");
  ASSERT_TRUE(store_->yank("etcd", "1.0.0", "broken").ok());
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.0") << "there is no other";
  submit(version("etcd", "1.0.1"));
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.1") << "it waits for its test";
  ASSERT_TRUE(store_->finish(lease(), false).ok());
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.1") << "it failed";
  ASSERT_TRUE(store_->yank("etcd", "1.0.0", std::nullopt).ok());
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.0");
}

TEST_P(StoreTest, AYankedReleaseThatEarlierProgramsListedGivesWayToo) {
  author("ann");
  project("etcd");
  publish("etcd", "1.0.0");
  NewVersion newer = version("etcd", "1.0.1");
  newer.facts.description = "something newer";
  submit(newer);
  ASSERT_TRUE(store_->finish(lease(), false).ok());
  const Status as_before = database_.open()->writing([&](sql::Database& db) -> Status {
    MIST_TRY_VOID(db.run("UPDATE versions SET yanked = 'broken' WHERE version = '1.0.0'"));
    MIST_TRY_VOID(db.run("DELETE FROM settings WHERE name = 'listed_past_yanked'"));
    return {};
  });
  ASSERT_TRUE(as_before.ok()) << as_before.error().to_line();
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.0");
  store_ = opened();
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.1");
  EXPECT_THAT(found("newer"), ElementsAre("etcd"));
}

TEST_P(StoreTest, SearchFindsBeginningsOfWordsAndTakesNothingForAnOperator) {
  author("ann");
  for (const char* each : {"etcd-standalone", "nginx", "postgres"}) {
    project(each);
    publish(each, "1.0.0");
  }
  EXPECT_THAT(found("etc"), ElementsAre("etcd-standalone"));
  EXPECT_THAT(found("thing postg"), ElementsAre("postgres"));
  EXPECT_THAT(found("thing"), UnorderedElementsAre("etcd-standalone", "nginx", "postgres"));
  for (const char* each :
       {"\"", "etcd\" OR \"nginx", "name:*", "NEAR(etcd nginx)", "'; DROP TABLE versions; --", "*",
        "etcd AND NOT nginx", "\\", "(((", "{a b}: c", "^etcd -x"})
    EXPECT_TRUE(store_->search(each, {}, {}).ok()) << each;
  EXPECT_THAT(found("etcd\" OR \"nginx"), IsEmpty());
  EXPECT_THAT(found("\""), IsEmpty());
  EXPECT_EQ(found("").size(), 3U);
}

std::string told(const std::vector<Facets::Count>& counts) {
  std::string text;
  for (const Facets::Count& each : counts) text += fmt::format("{}={} ", each.value, each.count);
  return text;
}

TEST_P(StoreTest, FacetsCountWhatChoosingThemWouldGive) {
  author("ann");
  const auto add = [&](const std::string& name, const std::string& format, std::optional<bool> passed) {
    project(name);
    NewVersion made = version(name, "1.0.0");
    made.facts.format = format;
    submit(made);
    if (passed) {
      ASSERT_TRUE(store_->finish(lease(), *passed).ok());
    }
  };
  add("aaa", "Kube", true);
  add("bbb", "Kube", false);
  add("ccc", "Helm chart", true);
  add("ddd", "Kube", std::nullopt);
  for (const char* query : {"", "thing"}) {
    const Facets all = *store_->facets(query, {});
    EXPECT_EQ(all.found, 4) << query;
    EXPECT_FALSE(all.more);
    EXPECT_EQ(told(all.formats), "Kube=3 Helm chart=1 ");
    EXPECT_EQ(told(all.states), "queued=1 passed=2 failed=1 ");
    const Narrowing narrowing{.format = "Kube", .state = VersionState::Passed};
    const Facets some = *store_->facets(query, narrowing);
    EXPECT_EQ(some.found, 1);
    EXPECT_EQ(told(some.formats), "Helm chart=1 Kube=1 ") << "of those that passed";
    EXPECT_EQ(told(some.states), "queued=1 passed=1 failed=1 ") << "of Kubes";
    const auto found = store_->search(query, narrowing, {});
    ASSERT_EQ(found->items.size(), 1U);
    EXPECT_EQ(found->items[0].package, "aaa");
  }
  const Job job = lease();
  EXPECT_EQ(told(store_->facets("", {})->states), "testing=1 passed=2 failed=1 ");
  ASSERT_TRUE(store_->give_back(job, 0s).ok());
  EXPECT_EQ(told(store_->facets("", {})->states), "queued=1 passed=2 failed=1 ");
  EXPECT_EQ(store_->facets("'; DROP TABLE listed; --", {})->found, 0);
  EXPECT_EQ(store_->facets("", {.format = "' OR 1=1 --"})->found, 0);
}

// Words with marks and in other alphabets, bounds, and what no database keeps.
TEST_P(StoreTest, SearchTakesAnyText) {
  author("ann");
  project("cafe");
  NewVersion made = version("cafe", "1.0.0");
  made.facts.description = "Un café à Zürich, https://cafe.example.com/a/b?c=d #42 10.0.0.1 не-только";
  made.facts.details = std::string("\xff\0\xed\xa0\x80", 5);
  for (int i = 0; i < 100'000; ++i) made.facts.details += fmt::format(" w{}", i);
  made.facts.details += std::string(1'000'000, 'x');
  made.readme = std::string("a\0b\xff", 4);
  submit(made);
  for (const char* query : {"café", "cafe", "CAFÉ", "zuri", "zürich", "example", "com", "42", "10", "не",
                            "только", "https", "café zürich", "a b c d"})
    EXPECT_THAT(found(query), ElementsAre("cafe")) << query;
  for (const char* query : {"afe", "cafe nothing", "\xff", "\xf0\x9f\x8c\xb2"})
    EXPECT_THAT(found(query), IsEmpty()) << query;
  for (const std::string& query :
       {std::string(5000, 'y'), std::string(5000, '\xc3'), std::string("cafe\0x", 6)})
    EXPECT_TRUE(store_->search(query, {}, {}).ok());
}

// A tsvector has a size, and Korean is three times as long in the form that PostgreSQL gets.
TEST_P(StoreTest, SearchTakesMuchTextInKorean) {
  author("ann");
  project("cafe");
  const auto syllable = [](int number) {
    const unsigned code = 0xac00U + static_cast<unsigned>(number % 11'172);
    return std::string{static_cast<char>(0xe0U | code >> 12U),
                       static_cast<char>(0x80U | (code >> 6U & 0x3fU)),
                       static_cast<char>(0x80U | (code & 0x3fU))};
  };
  NewVersion made = version("cafe", "1.0.0");
  for (int i = 0; i < 40'000; ++i)
    made.facts.details += syllable(i) + syllable(i * 7 + 27) + syllable(i / 11'172) + " ";
  submit(made);
  EXPECT_THAT(found(syllable(0) + syllable(27)), ElementsAre("cafe"));
}

// A name counts most, then a description.
TEST_P(StoreTest, SearchShowsTheBestFirst) {
  author("ann");
  for (const auto& [name, description, details] :
       {std::tuple("aaa", "something", "a cache"), std::tuple("bbb", "a cache", "something"),
        std::tuple("cache", "something", "something")}) {
    project(name);
    NewVersion made = version(name, "1.0.0");
    made.facts.description = description;
    made.facts.details = details;
    submit(made);
  }
  EXPECT_THAT(found("cache"), ElementsAre("cache", "bbb", "aaa"));
}

TEST_P(StoreTest, NamesAreOrderedByTheirBytes) {
  author("ann");
  for (const char* name : {"a-b", "ab", "a1", "aa"}) {
    project(name);
    publish(name, "1.0.0");
  }
  EXPECT_THAT(found(""), ElementsAre("a-b", "a1", "aa", "ab"));
}

// Of PostgreSQL alone: SQLite's are files.
class PostgresStoreTest : public StoreTest {};

TEST_P(PostgresStoreTest, BytesAreInTheDatabase) {
  SqlBlobs blobs(database_.open());
  const std::string bytes = std::string("\0\xff\x80", 3) + std::string(9u << 20, 'b');
  const auto digest = blobs.put(bytes);
  ASSERT_TRUE(digest.ok()) << digest.error().to_line();
  EXPECT_EQ(*blobs.put(bytes), *digest);
  EXPECT_TRUE(*SqlBlobs(database_.open()).get(*digest) == bytes);
  EXPECT_EQ(*blobs.size(*digest), bytes.size());
  EXPECT_EQ(*blobs.get(*blobs.put("")), "");
  EXPECT_EQ(*blobs.size(*blobs.put("")), 0U);
  EXPECT_EQ(blobs.size(crypto::sha256("other")).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(blobs.get(crypto::sha256("other")).error().kind, ErrorKind::NotFound);
}

TEST_P(SqliteStoreTest, ADatabaseOfTheFirstVersionIsBroughtUpToDate) {
  store_.reset();
  accounts_.reset();
  const Path old = dir_.path() / "old.db";
  {
    auto database = sqlite::Database::open(old);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->migrate(sqlite_dialect().schema.first(1)).ok());
    const Status filled = database->script(
        "INSERT INTO accounts VALUES (1, 'ann', 0, 1000, 0);"
        "INSERT INTO tokens VALUES (1, 1, 'digest', 'laptop', 1000, NULL);"
        "INSERT INTO projects VALUES (1, 'etcd', 1, 'https://g/e', '', 's', 1000, NULL, NULL, '', 1);"
        "INSERT INTO versions VALUES (1, 1, '1.0.0', 0, 'v1.0.0', 'a', 'sha256:1', 2, NULL, 1000, "
        "'{\"format\": \"Helm chart\", \"k3\": \"name: etcd\"}', '');"
        "INSERT INTO listed VALUES (1, 'etcd', 1, '');"
        "INSERT INTO jobs VALUES (1, 1, 0, 1, NULL, NULL, 1000);"
        "INSERT INTO runs VALUES (1, 1, '');");
    ASSERT_TRUE(filled.ok()) << filled.error().to_line();
  }
  store_ = opened(*open_sqlite(old));
  const Facets facets = *store_->facets("", {});
  EXPECT_EQ(told(facets.formats), "Helm chart=1 ");
  EXPECT_EQ(told(facets.states), "passed=1 ");
  EXPECT_EQ(store_->index()->second.at(0).k3, "name: etcd");
  EXPECT_TRUE((*store_->last_run("etcd", "1.0.0"))->objects.is_null());
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->downloads, 0);
  accounts_ = account_store_in(*open_sqlite(old), clock_, random_);
  EXPECT_EQ((*accounts_->owner_of_token("digest"))->scopes, "projects versions moderate admin");
}

TEST_P(StoreTest, TheObjectsOfARunAreKeptWithIt) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job job = lease();
  const encoding::Value graph = encoding::Value::object({{"objects", encoding::Value(3)}});
  const encoding::Value report = encoding::Value::object({{"level", "baseline"}});
  ASSERT_TRUE(store_->note_objects(job, graph, report, "sha256:text").ok());
  const catalog::Run run = **store_->last_run("etcd", "1.0.0");
  EXPECT_EQ(run.objects.find("objects")->as_int(), 3);
  EXPECT_EQ(run.security.string_at("level"), "baseline");
  EXPECT_EQ(run.text, "sha256:text");
  Job other = job;
  other.holder = "w2";
  EXPECT_EQ(store_->note_objects(other, {}, {}, {}).error().kind, ErrorKind::Conflict);
}

TEST_P(StoreTest, TheNodesOfATestAreKept) {
  author("ann");
  project("etcd");
  submit(version("etcd", "1.0.0"));
  const Job job = lease("w1");
  EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->nodes, std::nullopt) << "not installed yet";
  using enum TestNodes;
  for (const TestNodes nodes : {None, Real, Simulated, RealAndSimulated}) {
    ASSERT_TRUE(store_->note_nodes(job, nodes).ok());
    EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->nodes, nodes) << to_string(nodes);
    // As earlier catalogs stored it.
    const Status written = database_.open()->writing([&](sql::Database& db) -> Status {
      MIST_TRY_VOID(db.run("UPDATE runs SET nodes = ?", {to_string(nodes)}));
      return {};
    });
    ASSERT_TRUE(written.ok()) << written.error().to_line();
    EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->nodes, nodes) << to_string(nodes);
  }
  Job other = job;
  other.holder = "w2";
  EXPECT_EQ(store_->note_nodes(other, Real).error().kind, ErrorKind::Conflict);
}

TEST_P(StoreTest, ListsHavePages) {
  author("ann");
  for (char c = 'a'; c < 'f'; ++c) {
    project(std::string(3, c));
    publish(std::string(3, c), "1.0.0");
  }
  for (const char* query : {"", "thing"}) {
    std::vector<std::string> all;
    Page page{.after = "", .limit = 2};
    int pages = 0;
    do {
      const auto slice = store_->search(query, {}, page);
      ASSERT_TRUE(slice.ok());
      for (const Listed& each : slice->items) all.push_back(each.package);
      page.after = slice->next;
    } while (!page.after.empty() && ++pages < 10);
    EXPECT_THAT(all, ElementsAre("aaa", "bbb", "ccc", "ddd", "eee")) << query;
  }
  ASSERT_TRUE(store_->audit({.who = "ann", .what = "x", .subject = "1"}).ok());
  ASSERT_TRUE(store_->audit({.who = "ann", .what = "x", .subject = "2"}).ok());
  const auto newest = store_->audit_log({}, {.after = "", .limit = 1});
  EXPECT_EQ(newest->items.at(0).subject, "2");
  const auto second = store_->audit_log({}, {.after = newest->next, .limit = 1});
  EXPECT_EQ(second->items.at(0).subject, "1");
  EXPECT_EQ(second->next, "");
}

TEST_P(StoreTest, TheAuditLogIsFiltered) {
  for (const auto& [who, what, subject] :
       {std::tuple("ann", "link", "etcd"), std::tuple("ann", "yank", "etcd 1.0.0"),
        std::tuple("bob", "link", "redis")})
    ASSERT_TRUE(store_->audit({.who = who, .what = what, .subject = subject}).ok());
  const auto subjects = [&](const AuditFilter& filter) {
    std::string found;
    const auto log = store_->audit_log(filter, {});
    for (const AuditEntry& each : log->items) found += each.subject + ";";
    return found;
  };
  EXPECT_EQ(subjects({}), "redis;etcd 1.0.0;etcd;");
  EXPECT_EQ(subjects({.who = "ann"}), "etcd 1.0.0;etcd;");
  EXPECT_EQ(subjects({.what = "link"}), "redis;etcd;");
  EXPECT_EQ(subjects({.who = "ann", .what = "link"}), "etcd;");
  EXPECT_EQ(subjects({.subject = "etcd"}), "etcd 1.0.0;etcd;");
  EXPECT_EQ(subjects({.subject = "%"}), "");
  EXPECT_EQ(store_->audit_log({.who = "ann"}, {.after = "3", .limit = 1})->next, "2");
}

TEST_P(StoreTest, OfWordsThatVeryManyHaveThoseInNamesComeFirst) {
  author("ann");
  const auto database = database_.open();
  const Dialect& dialect = GetParam() == DatabaseKind::Sqlite ? sqlite_dialect() : postgres_dialect();
  constexpr int kFirst = 1000;
  constexpr int kMany = Store::kMostCounted + 300;
  const std::string many =
      fmt::format("WITH RECURSIVE n (i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i < {}) ", kFirst,
                  kFirst + kMany - 1);
  const Status made = database->writing([&](sql::Database& db) -> Status {
    MIST_TRY_VOID(db.script(many + "INSERT INTO projects (id, name, account, url, path, webhook_secret, "
                                   "created) SELECT i, 'p' || i, 1, '', "
                                   "'', '', 0 FROM n"));
    MIST_TRY_VOID(db.script(
        many +
        "INSERT INTO versions (id, project, version, place, tag, \"commit\", digest, state, created, facts, "
        "readme) SELECT i, i, '1.0.0', 0, '', '', '', 2, 0, '{}', '' FROM n"));
    MIST_TRY_VOID(db.script(
        many + "INSERT INTO listed (project, name, version, description) SELECT i, 'p' || i, i, '' FROM n"));
    for (int i = kFirst; i < kFirst + kMany; ++i) {
      const bool is_in_name = i >= kFirst + kMany - 150;
      MIST_TRY_VOID(db.run(dialect.add_words, {i, fmt::format("{}-{}", is_in_name ? "storage" : "other", i),
                                               "for teams", "has storage"}));
    }
    return {};
  });
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  const auto first = store_->search("stor", {}, {.limit = 100});
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  ASSERT_EQ(first->items.size(), 100U);
  const auto rest = store_->search("stor", {}, {.after = first->next, .limit = 100});
  EXPECT_EQ(rest->items.size(), 50U) << "those that have it in their name";
  EXPECT_GE(rest->items.back().package, fmt::format("p{}", kFirst + kMany - 150));
  const auto everywhere = store_->search("teams", {}, {.after = std::to_string(Store::kMostCounted - 10)});
  ASSERT_TRUE(everywhere.ok()) << everywhere.error().to_line();
  EXPECT_EQ(everywhere->items.size(), 10U) << "no more than that";
  EXPECT_EQ(store_->search("1005", {}, {})->items.size(), 1U);
}

TEST_P(StoreTest, ADatabaseWhoseConnectionsAreAllInUseIsBusy) {
  const auto database = database_.open();
  std::vector<std::unique_ptr<SqlConnections::Borrowed>> all;
  for (std::size_t i = 0; i < SqlConnections::kMostBorrowed; ++i)
    all.push_back(std::make_unique<SqlConnections::Borrowed>(*database));
  EXPECT_EQ(SqlConnections::Borrowed(*database, 10ms).database().error().kind, ErrorKind::Retryable);
  all.pop_back();
  EXPECT_TRUE(SqlConnections::Borrowed(*database, 10ms).database().ok());
}

TEST_P(StoreTest, AVersionMayBeTestedAgain) {
  author("ann");
  project("etcd");
  publish("etcd", "1.0.0");
  ASSERT_TRUE(store_->test_again("etcd", "1.0.0").ok());
  EXPECT_EQ(store_->test_again("etcd", "1.0.0").error().kind, ErrorKind::Conflict);
  ASSERT_TRUE(store_->finish(lease(), false).ok());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_THAT(store_->index()->second, IsEmpty());
}

TEST_P(StoreTest, TheLastResultHoldsUntilAnotherTestEnds) {
  author("ann");
  project("etcd");
  NewVersion made = version("etcd", "1.0.0");
  made.facts.k3 = "package: etcd";
  submit(made);
  const Job first = lease();
  ASSERT_TRUE(store_->add_step(first, {.name = "lint", .summary = "the first test"}).ok());
  ASSERT_TRUE(store_->finish(first, true).ok());
  const auto holds = [&](std::optional<VersionState> new_test) {
    const auto found = store_->version("etcd", "1.0.0");
    ASSERT_TRUE(found.ok() && *found);
    EXPECT_EQ((*found)->state, VersionState::Passed);
    EXPECT_EQ((*found)->new_test, new_test);
    EXPECT_EQ(store_->versions("etcd")->at(0).new_test, new_test);
    EXPECT_EQ(store_->index()->second.size(), 1U);
    EXPECT_EQ(store_->search_index()->second.size(), 1U);
    EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->steps.at(0).summary, "the first test");
  };
  holds(std::nullopt);
  ASSERT_TRUE(store_->test_again("etcd", "1.0.0").ok());
  holds(VersionState::Queued);
  const Job given_back = lease();
  ASSERT_TRUE(store_->add_step(given_back, {.name = "lint", .summary = "another test"}).ok());
  holds(VersionState::Testing);
  ASSERT_TRUE(store_->give_back(given_back, Duration::zero()).ok());
  holds(VersionState::Queued);
  const Job again = lease();
  ASSERT_TRUE(store_->add_step(again, {.name = "lint", .summary = "the second test"}).ok());
  ASSERT_TRUE(store_->finish(again, false).ok());
  EXPECT_EQ(state("etcd", "1.0.0"), VersionState::Failed);
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->new_test, std::nullopt);
  EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->steps.at(0).summary, "the second test");
  EXPECT_THAT(store_->index()->second, IsEmpty());
}

TEST_P(SqliteStoreTest, ABackupHasAllAndADamagedOneIsRefused) {
  HostFileSystem files;
  FileBlobs blobs(files, places_.blobs());
  author("ann");
  project("etcd");
  NewVersion made = version("etcd", "1.0.0");
  made.digest = blobs.put("the bytes")->str();
  submit(made);
  const Job job = lease();
  ASSERT_TRUE(store_->note_objects(job, {}, {}, blobs.put("its objects")->str()).ok());
  ASSERT_TRUE(store_->finish(job, true).ok());
  mist::testing::TempDir elsewhere;
  const Path backup = elsewhere.path() / "backup";
  const Status copied = back_up(files, places_, backup, Context());
  ASSERT_TRUE(copied.ok()) << copied.error().to_line();
  EXPECT_EQ(back_up(files, places_, backup, Context()).error().kind, ErrorKind::Conflict);
  const DataPlaces restored{elsewhere.path() / "restored"};
  ASSERT_TRUE(restore(files, backup, restored, Context()).ok());
  EXPECT_EQ(restore(files, backup, restored, Context()).error().kind, ErrorKind::Conflict);
  const auto again = open_store(*open_sqlite(restored.database()), clock_, random_);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_NE(*(*again)->instance(), *store_->instance()) << "both may run, with one cluster";
  const DataPlaces in_its_place{dir_.path() / "in-its-place"};
  ASSERT_TRUE(restore(files, backup, in_its_place, Context(), RestoredAs::TheSame).ok());
  EXPECT_EQ(*(*open_store(*open_sqlite(in_its_place.database()), clock_, random_))->instance(),
            *store_->instance());
  EXPECT_TRUE(*(*again)->version("etcd", "1.0.0"));
  EXPECT_EQ(*FileBlobs(files, restored.blobs()).get(crypto::sha256("the bytes")), "the bytes");
  const auto objects = FileBlobs(files, restored.blobs()).get(crypto::sha256("its objects"));
  ASSERT_TRUE(objects.ok()) << objects.error().to_line();
  EXPECT_EQ(*objects, "its objects");
  // A byte of a package was changed.
  const Path place = FileBlobs(files, DataPlaces{backup}.blobs()).place_of(crypto::sha256("the bytes"));
  ASSERT_TRUE(files.write(place, "tha bytes").ok());
  const DataPlaces third{elsewhere.path() / "third"};
  EXPECT_EQ(restore(files, backup, third, Context()).error().kind, ErrorKind::Invalid);
  EXPECT_FALSE(files.exists(third.root));
}

TEST_P(SqliteStoreTest, ABackupLeavesAnotherThatIsBeingMadeAlone) {
  HostFileSystem files;
  const Path backup = dir_.path() / "copies/monday";
  const Path incomplete = dir_.path() / "copies/.monday.incomplete";
  const Path lock_file = incomplete.string() + ".lock";
  ASSERT_TRUE(files.write(incomplete / "a", "of another").ok());
  {
    const auto lock = FileLock::acquire(lock_file, Context());
    ASSERT_TRUE(lock.ok()) << lock.error().to_line();
    EXPECT_EQ(back_up(files, places_, backup, Context()).error().kind, ErrorKind::Conflict);
    EXPECT_TRUE(files.exists(incomplete / "a"));
  }
  const Status done = back_up(files, places_, backup, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_FALSE(files.exists(backup / "a")) << "it was left by one that was killed";
  ASSERT_EQ(files.list(backup.parent_path())->size(), 1U) << "nothing else stays";
}

TEST_P(SqliteStoreTest, ABackupOfAnOlderProgramIsRestoredByBoth) {
  HostFileSystem files;
  const DataPlaces old{dir_.path() / "old"};
  FileBlobs blobs(files, old.blobs());
  const std::string digest = blobs.put("the bytes")->str();
  {
    auto database = sqlite::Database::open(old.database());
    ASSERT_TRUE(database.ok()) << database.error().to_line();
    ASSERT_TRUE(database->migrate(sqlite_dialect().schema.first(1)).ok());
    const Status filled = database->script(fmt::format(
        "INSERT INTO accounts VALUES (1, 'ann', 0, 1000, 0);"
        "INSERT INTO projects VALUES (1, 'etcd', 1, 'https://g/e', '', 's', 1000, NULL, NULL, '', 1);"
        "INSERT INTO versions VALUES (1, 1, '1.0.0', 0, 'v1.0.0', 'a', '{}', 2, NULL, 1000, '{{}}', '');"
        "INSERT INTO jobs VALUES (1, 1, 0, 1, NULL, NULL, 1000);"
        "INSERT INTO runs VALUES (1, 1, '');",
        digest));
    ASSERT_TRUE(filled.ok()) << filled.error().to_line();
  }
  const Path backup = dir_.path() / "backup";
  const Status copied = back_up(files, old, backup, Context());
  ASSERT_TRUE(copied.ok()) << copied.error().to_line();
  const DataPlaces restored{dir_.path() / "restored"};
  const Status done = restore(files, backup, restored, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(*FileBlobs(files, restored.blobs()).get(crypto::sha256("the bytes")), "the bytes");
  EXPECT_EQ((*opened(*open_sqlite(restored.database()))->version("etcd", "1.0.0"))->digest, digest);
  auto of_older = sqlite::Database::open(DataPlaces{backup}.database());
  ASSERT_TRUE(of_older.ok());
  EXPECT_TRUE(of_older->migrate(sqlite_dialect().schema.first(1)).ok()) << "it is as the catalog was";
}

INSTANTIATE_TEST_SUITE_P(Databases, StoreTest, each_database(), name_of_database);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PostgresStoreTest);
INSTANTIATE_TEST_SUITE_P(Databases, PostgresStoreTest, postgres_alone(), name_of_database);
INSTANTIATE_TEST_SUITE_P(Databases, SqliteStoreTest, ::testing::Values(DatabaseKind::Sqlite),
                         name_of_database);

}  // namespace
}  // namespace mist::catalog
