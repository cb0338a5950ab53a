#include "release/lock.h"

#include <atomic>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/fake_cluster.h"
#include "testing/laptop_clock.h"

namespace mist::release {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class LockTest : public ::testing::Test {
 protected:
  LockDependencies dependencies() { return {store, cluster, clock, random, events}; }
  Anchor born() {
    Anchor anchor;
    anchor.id = {"default", "web"};
    anchor.seed = SecretString(std::string(32, 's'));
    anchor.frozen_clock = "2026-01-01T00:00:00Z";
    return anchor;
  }
  Anchor now() { return **store.read_anchor({"default", "web"}, Context()); }
  static LockOptions options(std::string holder, Duration term = 15s) {
    return {.holder = std::move(holder), .operation = "upgrade", .term = term};
  }

  testing::FakeCluster cluster;
  Store store{cluster};
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
};

TEST_F(LockTest, CreateLocksAndFinishUnlocksInOneRequest) {
  auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  EXPECT_EQ(now().lock->holder, "alice");
  cluster.clear_calls();
  Head head;
  head.latest = 0;
  ASSERT_TRUE(
      (*lock)->finish({.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}}).ok());
  EXPECT_EQ(cluster.writes(), 1u);
  EXPECT_FALSE(now().lock.has_value());
  EXPECT_EQ(now().head.latest, 0);
}

TEST_F(LockTest, SaysThatSomebodyLivingHasIt) {
  const auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  const auto second = ReleaseLock::acquire(dependencies(), now(), {}, options("bob"), Context());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().detail<LockHeld>(), nullptr);
  EXPECT_FALSE(anchor_moved(second.error()));
}

TEST_F(LockTest, DestructionUnlocks) {
  {
    auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  }
  EXPECT_FALSE(now().lock.has_value());
}

// Of a run that ended after Ctrl-C: what it had sent may be carried out after the next one has looked.
TEST_F(LockTest, StaysWhereAWriteWasLeftUnanswered) {
  Head head;
  head.latest = 0;
  {
    auto lock = ReleaseLock::create(dependencies(), born(), options("alice", 100ms), Context());
    cluster.leave_unanswered();
    ASSERT_TRUE(
        (*lock)->finish({.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}}).ok());
  }
  EXPECT_EQ(now().head.latest, 0);
  ASSERT_TRUE(now().lock.has_value());
  LockOptions patient = options("bob", 100ms);
  patient.max_wait = 60s;
  const auto silent = ReleaseLock::await_silence(dependencies(), now(), patient, Context());
  ASSERT_TRUE(silent.ok()) << silent.error().to_line();
  patient.silent_lock = *silent;
  {
    auto next = ReleaseLock::acquire(dependencies(), now(), {}, patient, Context());
    ASSERT_TRUE(next.ok()) << next.error().to_line();
    EXPECT_EQ(now().lock->holder, "bob");
    cluster.leave_unanswered();
  }
  EXPECT_TRUE(now().lock.has_value()) << "nobody finished it";
  {
    patient.silent_lock = *ReleaseLock::await_silence(dependencies(), now(), patient, Context());
    auto last = ReleaseLock::acquire(dependencies(), now(), {}, patient, Context());
  }
  EXPECT_FALSE(now().lock.has_value()) << "what earlier ones left does not count again";
}

TEST_F(LockTest, SecondCreateConflicts) {
  auto first = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  EXPECT_EQ(ReleaseLock::create(dependencies(), born(), options("bob"), Context()).error().kind,
            ErrorKind::Conflict);
}

TEST_F(LockTest, OutdatedLookIsToldToLookAgain) {
  {
    auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  }
  const Anchor looked = now();
  ASSERT_TRUE(ReleaseLock::acquire(dependencies(), looked, {}, options("alice"), Context())
                  .ok());  // and unlocked again at once
  const auto late = ReleaseLock::acquire(dependencies(), looked, {}, options("bob"), Context());
  ASSERT_FALSE(late.ok());
  EXPECT_TRUE(anchor_moved(late.error()));
}

TEST_F(LockTest, LivingHolderIsWaitedForWhenAsked) {
  auto first = ReleaseLock::create(dependencies(), born(), options("alice", 300ms), Context());
  LockOptions patient = options("bob", 300ms);
  patient.max_wait = 60s;
  const Anchor looked = now();
  std::jthread release([&] {
    std::this_thread::sleep_for(400ms);
    first->reset();
  });
  const auto second = ReleaseLock::acquire(dependencies(), looked, {}, patient, Context());
  // The anchor that was read is out of date by then: the caller reads it again, and gets the lock.
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(anchor_moved(second.error())) << second.error().to_line();
  EXPECT_TRUE(ReleaseLock::acquire(dependencies(), now(), {}, patient, Context()).ok());
}

TEST_F(LockTest, SilentHolderLosesItToATakerAndStopsWriting) {
  auto first = ReleaseLock::create(dependencies(), born(), options("alice", 2s), Context());
  const Context writing = (*first)->context();
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "patch" && call.user == "mistctl")
      return error(ErrorKind::Retryable, "the network is gone");
    return std::nullopt;
  });
  const auto other = cluster.client_for("bob");
  Store bobs_store(*other);
  LockOptions patient = options("bob", 2s);
  patient.max_wait = 60s;
  const auto second =
      ReleaseLock::acquire({bobs_store, *other, clock, random, events}, now(), {}, patient, Context());
  ASSERT_TRUE(second.ok()) << second.error().to_line();
  EXPECT_TRUE(writing.stop().stop_requested()) << "it stopped before anybody else could begin";
  EXPECT_TRUE((*first)->lost());
  cluster.set_before({});
  EXPECT_THAT((*first)->finish({}).error().message, HasSubstr("was lost"));
  EXPECT_EQ(now().lock->holder, "bob");
}

// Nothing says by its time that it died: it renewed just now.
TEST_F(LockTest, AHolderThatDiedOnThisMachineIsWaitedForAndNamedAsDead) {
  Anchor abandoned = born();
  abandoned.lock = Lock{.holder = "alice@here pid 1",
                        .token = "0",
                        .operation = "upgrade",
                        .acquired = format_time(clock.now()),
                        .renewed = format_micro_time(clock.now()),
                        .term_ms = 300,
                        .process = "boot/ns/1/2"};
  ASSERT_TRUE(store.create_anchor(abandoned, Context()).ok());
  const auto refused = ReleaseLock::await_silence(dependencies(), now(), options("bob"), Context());
  ASSERT_FALSE(refused.ok()) << "of a holder that may live nobody waits for the end";
  class Words final : public EventSink {
   public:
    void message(const Message& event) override { said += event.text + "\n"; }
    void began(const ActivityBegan& event) override { said += event.text + "\n"; }
    void ended(const ActivityEnded&) override {}
    void object(const ObjectProgress&) override {}
    std::string said;
  } words;
  const auto life = [](std::string_view process) {
    return process == "boot/ns/1/2" ? ProcessLife::Dead : ProcessLife::Unknown;
  };
  const auto silent = ReleaseLock::await_silence({store, cluster, clock, random, words, life}, now(),
                                                 options("bob"), Context());
  EXPECT_TRUE(silent.ok()) << silent.error().to_line();
  EXPECT_THAT(words.said, HasSubstr("for the lock of default/web: alice@here pid 1 (\"upgrade\") is dead"));
  EXPECT_THAT(words.said, HasSubstr("taking over the lock of default/web: alice@here pid 1 is dead"));
}

// Two wait for a dead holder, and one of them is faster: it has a term of its own.
TEST_F(LockTest, WhoTookOverIsNotTakenForItsSilentPredecessor) {
  Anchor abandoned = born();
  abandoned.lock = Lock{.holder = "dead",
                        .token = "0",
                        .operation = "upgrade",
                        .acquired = "2026-01-01T00:00:00Z",
                        .renewed = "2026-01-01T00:00:00.000000Z",
                        .term_ms = 400};
  ASSERT_TRUE(store.create_anchor(abandoned, Context()).ok());
  const auto others = cluster.client_for("bob");
  Store bobs_store(*others);
  const Anchor looked = now();
  std::unique_ptr<ReleaseLock> alices;
  std::atomic<bool> taken{false};
  LockOptions alice = options("alice");
  alice.silent_lock = looked.lock;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "watch" || call.user != "bob" || taken.exchange(true)) return std::nullopt;
    auto lock = ReleaseLock::acquire(dependencies(), looked, {}, alice, Context());
    if (lock.ok()) alices = *std::move(lock);
    return std::nullopt;
  });
  const auto second = ReleaseLock::await_silence({bobs_store, *others, clock, random, events}, looked,
                                                 options("bob"), Context());
  ASSERT_TRUE(alices != nullptr) << "a lock that was seen silent is taken at once";
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("alice"));
  EXPECT_EQ(now().lock->holder, "alice");
}

TEST_F(LockTest, WhatOthersWriteToTheAnchorIsNoSignOfItsHolder) {
  Anchor abandoned = born();
  abandoned.lock = Lock{.holder = "dead",
                        .token = "0",
                        .operation = "upgrade",
                        .acquired = "2026-01-01T00:00:00Z",
                        .renewed = "2026-01-01T00:00:00.000000Z",
                        .term_ms = 300};
  ASSERT_TRUE(store.create_anchor(abandoned, Context()).ok());
  const Anchor looked = now();
  std::atomic<int> writes{0};
  std::jthread annotates([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const encoding::Value patch = *encoding::parse_yaml(
          fmt::format("{{metadata: {{annotations: {{example.com/round: '{}'}}}}}}", ++writes));
      (void)cluster.merge_patch({Store::secrets(), "default", "mistletoe.web"}, patch, Context());
      std::this_thread::sleep_for(20ms);
    }
  });
  const auto lock = ReleaseLock::acquire(dependencies(), looked, {}, options("bob"), Context());
  annotates.request_stop();
  annotates.join();
  EXPECT_GT(writes, 3);
  // Only a write at the very moment of the taking gets in its way.
  EXPECT_TRUE(lock.ok() || anchor_moved(lock.error())) << lock.error().to_line();
  LockOptions bob = options("bob");
  bob.silent_lock = looked.lock;
  if (!lock.ok()) {
    EXPECT_TRUE(ReleaseLock::acquire(dependencies(), now(), {}, bob, Context()).ok());
  }
}

TEST_F(LockTest, AHolderWhoseClockIsAheadIsWaitedForOneTerm) {
  Anchor abandoned = born();
  abandoned.lock = Lock{.holder = "dead",
                        .token = "0",
                        .operation = "upgrade",
                        .acquired = "2999-01-01T00:00:00Z",
                        .renewed = "2999-01-01T00:00:00.000000Z",
                        .term_ms = 300};
  ASSERT_TRUE(store.create_anchor(abandoned, Context()).ok());
  const auto lock = ReleaseLock::acquire(dependencies(), now(), {}, options("bob"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  EXPECT_EQ(now().lock->holder, "bob");
}

TEST_F(LockTest, ASilentHolderIsWaitedForOnlyOnce) {
  Anchor abandoned = born();
  abandoned.lock = Lock{.holder = "dead",
                        .token = "0",
                        .operation = "upgrade",
                        .acquired = "2026-01-01T00:00:00Z",
                        .renewed = "2026-01-01T00:00:00.000000Z",
                        .term_ms = 300};
  ASSERT_TRUE(store.create_anchor(abandoned, Context()).ok());
  const auto silent = ReleaseLock::await_silence(dependencies(), now(), options("bob"), Context());
  ASSERT_TRUE(silent.ok()) << silent.error().to_line();
  cluster.clear_calls();
  LockOptions bob = options("bob");
  bob.silent_lock = *silent;
  ASSERT_TRUE(ReleaseLock::acquire(dependencies(), now(), {}, bob, Context()).ok());
  EXPECT_EQ(cluster.count("watch"), 0u);
}

TEST_F(LockTest, AMachineThatSleptHasLostItsRightBeforeTheRenewerNotices) {
  testing::LaptopClock laptop;
  auto lock =
      ReleaseLock::create({store, cluster, laptop, random, events}, born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  EXPECT_TRUE((*lock)->check().ok());
  laptop.suspend(10s);
  EXPECT_TRUE((*lock)->check().ok()) << "for less than its right lasts";
  laptop.suspend(20min);
  EXPECT_FALSE((*lock)->lost());
  const Status refused = (*lock)->check();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
}

// By now a later holder may have stored something under the names that are left.
TEST_F(LockTest, AMachineThatSleptWhileItDeletedRecordsDeletesNoMore) {
  const ReleaseId id{"default", "web"};
  testing::LaptopClock laptop;
  auto lock =
      ReleaseLock::create({store, cluster, laptop, random, events}, born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  Store small(cluster, {.inline_bytes = 50, .chunk_bytes = 20});
  for (const int number : {0, 1}) {
    Revision revision;
    revision.number = number;
    revision.action = "install";
    revision.attempt = "abcd";
    revision.user_values = Value::object();
    revision.options = Value::object();
    ASSERT_TRUE(small.create_revision((*lock)->anchor(), revision, *Store::pack(revision), Context()).ok());
  }
  cluster.drop({{"", "Secret"}, "default", revision_name(id, 1)});
  const Context held = (*lock)->context();
  const auto sleeps_at_the_first_delete = [&](const std::function<Status()>& work) {
    cluster.clear_calls();
    cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb == "delete") laptop.suspend(20min);
      return std::nullopt;
    });
    const Status stopped = work();
    cluster.set_before({});
    ASSERT_FALSE(stopped.ok());
    EXPECT_THAT(stopped.error().message, HasSubstr("the lock of release default/web ran out"));
  };
  sleeps_at_the_first_delete([&]() -> Status {
    MIST_TRY_VOID(store.sweep_chunks(id, held));
    return {};
  });
  EXPECT_EQ(cluster.count("delete"), 1u);
  EXPECT_FALSE(store.delete_revision(id, {.number = 0, .uid = "1"}, held).ok());
  EXPECT_FALSE(store.delete_revisions(id, {}, held).ok());
  EXPECT_EQ(cluster.count("delete"), 1u);
  EXPECT_TRUE(cluster.has("Secret", "default", revision_name(id, 0)));
}

// The client sends the write again, and by then the next one has the lock.
TEST_F(LockTest, AFinishWhoseAnswerWasLostIsDoneThoughSomebodyLocksBeforeItIsSentAgain) {
  for (const int deployed : {0, -1}) {
    auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
    ASSERT_TRUE(lock.ok()) << lock.error().to_line();
    std::unique_ptr<ReleaseLock> next;
    bool sent = false;
    cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "patch" || std::exchange(sent, true)) return std::nullopt;
      auto locked = ReleaseLock::acquire(dependencies(), now(), {}, options("bob"), Context());
      EXPECT_TRUE(locked.ok());
      if (locked.ok()) next = *std::move(locked);
      return error(ErrorKind::Conflict, "the object has been modified");
    });
    Head head;
    head.latest = 0;
    head.deployed = deployed;
    const Status finished =
        (*lock)->finish({.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}});
    cluster.set_after({});
    // A head that deploys nothing new may be anybody's.
    EXPECT_EQ(finished.ok(), deployed == 0);
    ASSERT_TRUE(now().lock.has_value());
    EXPECT_EQ(now().lock->holder, "bob");
    next.reset();
    lock->reset();
    cluster.drop({{"", "Secret"}, "default", "mistletoe.web"});
  }
}

// Ctrl-C while the write that takes it is on its way.
TEST_F(LockTest, WhatWasTakenByAWriteThatWasCutOffIsGivenBack) {
  std::string cut = "create";
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != cut) return std::nullopt;
    cut.clear();
    return error(ErrorKind::Cancelled, "stopped on request");
  });
  const auto created = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().kind, ErrorKind::Cancelled);
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));

  ASSERT_TRUE(
      ReleaseLock::create(dependencies(), born(), options("alice"), Context()).ok());  // and given back
  const auto looked = store.read_anchor({"default", "web"}, Context());
  cut = "patch";
  const auto taken = ReleaseLock::acquire(dependencies(), **looked, {}, options("alice"), Context());
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().kind, ErrorKind::Cancelled);
  EXPECT_FALSE((*store.read_anchor({"default", "web"}, Context()))->lock);
}

TEST_F(LockTest, AnAnchorThatASuccessorLockedIsNotDeletedByARequestThatComesLate) {
  auto lock = ReleaseLock::create(dependencies(), born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  const Anchor mine = (*lock)->anchor();
  Anchor there = mine;
  Lock theirs = *mine.lock;
  theirs.token = "bob's";
  ASSERT_TRUE(store
                  .change_anchor(there,
                                 {.head = {},
                                  .lock = std::optional<Lock>(theirs),
                                  .group_kinds = {},
                                  .additional_namespaces = {}},
                                 Context())
                  .ok());
  EXPECT_FALSE(store.delete_anchor(mine, Context()).ok());
  EXPECT_TRUE(cluster.has("Secret", "default", "mistletoe.web"));
  // But its own renewals don't keep it.
  Lock renewed = theirs;
  renewed.renewed = "2026-01-01T00:00:00.000000Z";
  const Anchor before = there;
  ASSERT_TRUE(store
                  .change_anchor(there,
                                 {.head = {},
                                  .lock = std::optional<Lock>(renewed),
                                  .group_kinds = {},
                                  .additional_namespaces = {}},
                                 Context())
                  .ok());
  EXPECT_TRUE(store.delete_anchor(before, Context()).ok());
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
  (*lock)->drop();
}

TEST_F(LockTest, ARenewerThatWakesUpTooLateRenewsNothing) {
  testing::LaptopClock laptop;
  auto lock =
      ReleaseLock::create({store, cluster, laptop, random, events}, born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  const Context writing = (*lock)->context();
  cluster.clear_calls();
  laptop.suspend(20min);
  laptop.wake();
  for (int i = 0; i < 1000 && !(*lock)->lost(); ++i) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE((*lock)->lost());
  EXPECT_TRUE(writing.stop().stop_requested());
  EXPECT_EQ(cluster.calls().size(), 0u);
  EXPECT_THAT((*lock)->loss().because, HasSubstr("nothing ran here for 20m"));
}

TEST_F(LockTest, ARenewerThatWakesUpInTimeRenews) {
  testing::LaptopClock laptop;
  auto lock =
      ReleaseLock::create({store, cluster, laptop, random, events}, born(), options("alice"), Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  laptop.suspend(10s);
  laptop.wake();
  for (int i = 0; i < 1000 && cluster.count("patch") == 0; ++i) std::this_thread::sleep_for(5ms);
  ASSERT_TRUE((*lock)->change({}).ok()) << "after the renewal, which holds the same mutex";
  laptop.suspend(10s);
  EXPECT_TRUE((*lock)->check().ok()) << "its right began again";
}

}  // namespace
}  // namespace mist::release
