#include "kube/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <set>
#include <thread>

#include "http/unanswered.h"
#include "testing/client_with_logs.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const Informer::Key kWeb{"default", "web"};

class InformerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    informer_.emplace(
        cluster_, maps_, ListOptions{.label_selector = "app"}, nullptr,
        [this](const std::optional<Informer::Key>& key) {
          const std::lock_guard lock(mutex_);
          if (!key) ++told_of_all_;
          changed_.notify_all();
        },
        clock_, events_, [this] { ++unlisted_; });
  }

  // Until the informer's own thread has made it so.
  template <typename Condition>
  void wait(Condition condition) {
    std::unique_lock lock(mutex_);
    while (!condition()) changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
  void wait_for(const Informer::Key& key, bool there) {
    wait([&] { return informer_->get(key).has_value() == there; });
  }
  Value put(std::string_view name, std::string_view text = "") {
    Value map = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"] = Value::object({{"name", name}, {"labels", Value::object({{"app", "shop"}})}});
    map["data"].set("text", text);
    return cluster_.put(std::move(map));
  }
  void drop(std::string_view name) { cluster_.drop({{"", "ConfigMap"}, "default", std::string(name)}); }

  // From now on nothing can be listed, and the watch ends: what happens is missed until end_gap().
  void begin_gap() {
    cluster_.set_before([this](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "list" || !gap_) return std::nullopt;
      ++refused_;
      return error(ErrorKind::Forbidden, "nobody may list");
    });
    gap_ = true;
    cluster_.forget_history();
    wait([&] { return refused_ > 0; });
  }
  void end_gap() { gap_ = false; }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  ResourceInfo maps_ = *cluster_.resource_for({"", "ConfigMap"}, "v1", Context());
  std::mutex mutex_;
  std::condition_variable changed_;
  int told_of_all_ = 0;
  std::atomic<bool> gap_ = false;
  std::atomic<int> refused_ = 0, unlisted_ = 0;
  std::optional<Informer> informer_;  // last: its thread uses the others
};

TEST_F(InformerTest, HoldsWhatIsThere) {
  put("web", "1");
  wait_for(kWeb, true);
  put("web", "2");
  wait([&] { return informer_->get(kWeb)->string_at({"data", "text"}) == "2"; });
  drop("web");
  wait_for(kWeb, false);
  EXPECT_TRUE(informer_->synced());
}

TEST_F(InformerTest, FindsObjectsByWhatStandsInThem) {
  put("web", "a-word");
  put("other", "another");
  wait_for(kWeb, true);
  wait_for({"default", "other"}, true);
  EXPECT_THAT(informer_->keys_with("a-word"), ElementsAre(kWeb));
  EXPECT_TRUE(informer_->keys_with("a-third").empty());
}

TEST_F(InformerTest, GivesManagedFieldsAsTheyWereThoughItKeepsThemApart) {
  const auto owned_by = [](std::string_view manager) {
    return Value::array({Value::object({{"manager", manager}, {"operation", "Apply"}})});
  };
  wait([&] { return informer_->synced(); });
  for (const std::string_view manager : {"first", "second"}) {
    for (const std::string_view name : {"web", "other"}) {
      Value object = put(name, manager);
      object["metadata"].set("resourceVersion", manager == "first" ? "1000000" : "1000001");
      object["metadata"].set("managedFields", owned_by(manager));
      informer_->put(object);
    }
    for (const Informer::Key& key : {kWeb, Informer::Key("default", "other")}) {
      const std::optional<Value> object = informer_->get(key);
      ASSERT_TRUE(object);
      EXPECT_EQ(*object->at_path({"metadata", "managedFields"}), owned_by(manager));
    }
  }
  Value without = put("web", "third");
  without["metadata"].set("resourceVersion", "1000002");
  without["metadata"].erase("managedFields");
  informer_->put(without);
  EXPECT_EQ(informer_->get(kWeb)->at_path({"metadata", "managedFields"}), nullptr);
}

TEST_F(InformerTest, TakesAnAnswerBeforeTheWatchTellsIt) {
  wait([&] { return informer_->synced(); });
  const Value first = put("web", "1");
  wait_for(kWeb, true);
  Value second = first;
  second["data"].set("text", "2");
  second["metadata"].set("resourceVersion", "1000000");
  informer_->put(second);
  EXPECT_EQ(informer_->get(kWeb)->string_at({"data", "text"}), "2");
  // Late, and older than what is known.
  informer_->put(first);
  EXPECT_EQ(informer_->get(kWeb)->string_at({"data", "text"}), "2");
}

TEST_F(InformerTest, IsNotToldOfTheDeadByLateAnswers) {
  const Value answer = put("web");
  wait_for(kWeb, true);
  drop("web");
  wait_for(kWeb, false);
  informer_->put(answer);
  EXPECT_EQ(informer_->get(kWeb), std::nullopt);
}

// Whichever comes first, the answer to a write or the news that a label went before it.
TEST_F(InformerTest, IsNotToldOfWhatIsNoLongerSelectedByAnswers) {
  Value left = put("web", "1");
  wait_for(kWeb, true);
  left["metadata"].erase("labels");
  left["data"].set("text", "2");
  Value answer = left;
  answer["metadata"].set("resourceVersion", "1000000");
  informer_->put(answer);
  EXPECT_EQ(informer_->get(kWeb)->string_at({"data", "text"}), "1");
  cluster_.put(left);
  wait_for(kWeb, false);
  informer_->put(answer);
  EXPECT_EQ(informer_->get(kWeb), std::nullopt);
}

TEST_F(InformerTest, TellsThatItsKindIsNoLongerServed) {
  put("web");
  wait_for(kWeb, true);
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list") return std::nullopt;
    return error(ErrorKind::NotFound, "the server has no such kind");
  });
  cluster_.forget_history();
  wait([&] { return told_of_all_ == 2; });
  EXPECT_EQ(informer_->failure()->kind, ErrorKind::NotFound);
  cluster_.set_before(nullptr);
}

TEST_F(InformerTest, TellsOnceThatItIsRefusedAndOnceThatItIsNot) {
  put("web");
  wait_for(kWeb, true);
  wait([&] { return told_of_all_ == 1; });
  EXPECT_EQ(informer_->refusal(), std::nullopt);
  begin_gap();
  wait([&] { return refused_ > 3; });
  EXPECT_TRUE(informer_->synced());
  EXPECT_EQ(informer_->refusal()->kind, ErrorKind::Forbidden);
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(told_of_all_, 2);
  }
  end_gap();
  wait([&] { return told_of_all_ == 3; });
  EXPECT_EQ(informer_->refusal(), std::nullopt);
}

TEST_F(InformerTest, TellsOnceWhyItCannotListAndKeepsWhatIsKnown) {
  put("web");
  wait_for(kWeb, true);
  const auto fails_with = [this](std::string words) {
    cluster_.set_before([this, words](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "list") return std::nullopt;
      ++refused_;
      return error(ErrorKind::Retryable, "{}", words);
    });
  };
  fails_with("App shop/a can't be converted");
  cluster_.forget_history();
  wait([&] { return refused_ > 5; });
  EXPECT_EQ(unlisted_, 1) << "the same words are no news";
  EXPECT_EQ(informer_->list_failure()->message, "App shop/a can't be converted");
  EXPECT_TRUE(informer_->synced());
  EXPECT_TRUE(informer_->get(kWeb));
  EXPECT_EQ(informer_->refusal(), std::nullopt);
  fails_with("App shop/b can't be converted");
  wait([&] { return unlisted_ == 2; });
  EXPECT_EQ(informer_->list_failure()->message, "App shop/b can't be converted");
  cluster_.set_before(nullptr);
  wait([&] { return !informer_->list_failure(); });
  EXPECT_EQ(unlisted_, 2);
}

TEST_F(InformerTest, ASilentServerIsNoNewsAboutTheCollection) {
  put("web");
  wait_for(kWeb, true);
  cluster_.set_before([this](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list") return std::nullopt;
    ++refused_;
    return error(ErrorKind::Retryable, "connection refused").with_detail(http::Unanswered());
  });
  cluster_.forget_history();
  wait([&] { return refused_ > 3; });
  EXPECT_EQ(informer_->list_failure(), std::nullopt);
  EXPECT_EQ(unlisted_, 0);
  cluster_.set_before(nullptr);
}

TEST_F(InformerTest, TriesOftenWhatIsRefusedAndWarnsOnceAMinute) {
  wait([&] { return informer_->synced(); });
  begin_gap();
  wait([&] { return refused_ > 30; });
  end_gap();
  wait([&] { return !informer_->refusal(); });
  informer_.reset();
  const std::vector<Duration> sleeps = clock_.sleeps();
  EXPECT_THAT(sleeps, ::testing::Each(::testing::Le(std::chrono::seconds(15))));
  const auto warnings = std::ranges::count_if(
      events_.messages, [](const std::string& each) { return each.contains("nobody may list"); });
  EXPECT_GE(warnings, 2);
  EXPECT_LE(warnings, 1 + clock_.slept() / std::chrono::minutes(1));
}

TEST_F(InformerTest, MissesNoDeletionWhileTheServerRefusesIt) {
  put("web");
  put("other");
  wait_for({"default", "other"}, true);
  begin_gap();
  drop("web");
  // Written by ourselves, and deleted before any watch told of it.
  informer_->put(put("own"));
  drop("own");
  end_gap();
  wait_for(kWeb, false);
  wait_for({"default", "own"}, false);
  EXPECT_THAT(informer_->keys(), ElementsAre(Pair("default", "other")));
}

// A server whose watch tells what the test says, in whatever versions.
class ToldClient final : public testing::ClientWithLogs {
 public:
  using ClientWithLogs::ClientWithLogs;
  void tell(WatchEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  Status watch(const ResourceInfo&, const ListOptions&, const WatchHandler& handler,
               const Context& context) override {
    while (!context.stop().stop_requested()) {
      const std::optional<WatchEvent> event = next();
      if (event && !handler(*event)) return {};
      if (!event) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return context.check();
  }

 private:
  std::optional<WatchEvent> next() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    std::optional<WatchEvent> event(std::move(events_.front()));
    events_.erase(events_.begin());
    return event;
  }
  std::mutex mutex_;
  std::vector<WatchEvent> events_;
};

class InformerVersionsTest : public ::testing::Test {
 protected:
  static Value object(std::string_view name, int version, std::string_view text = "") {
    Value object = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    object["metadata"] = Value::object(
        {{"name", name}, {"namespace", "default"}, {"resourceVersion", fmt::format("{}", version)}});
    object["data"].set("text", text);
    return object;
  }
  void tell(WatchEventType type, std::string_view name, int version, std::string_view text = "") {
    client_.tell({type, object(name, version, text)});
  }
  void end_list(int version) { tell(WatchEventType::Bookmark, "", version); }
  std::string text_of(std::string_view name) const {
    const auto found = informer_.get({"default", std::string(name)});
    return found ? std::string(found->string_at({"data", "text"})) : std::string();
  }
  bool was_told(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return told_.contains({"default", std::string(name)});
  }
  // Of all that was told before.
  void wait_for_lists(int count) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (lists_ >= count) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void wait_for(std::string_view name, std::string_view text) {
    while (text_of(name) != text) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void forget_told() {
    const std::lock_guard lock(mutex_);
    told_.clear();
  }

  testing::FakeCluster cluster_;
  ToldClient client_{cluster_};
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::set<Informer::Key> told_;
  int lists_ = 0;
  // Last: its thread uses the others.
  Informer informer_{client_,
                     *cluster_.resource_for({"", "ConfigMap"}, "v1", Context()),
                     ListOptions{},
                     nullptr,
                     [this](const std::optional<Informer::Key>& key) {
                       const std::lock_guard lock(mutex_);
                       if (key)
                         told_.insert(*key);
                       else
                         ++lists_;
                     },
                     clock_,
                     events_};
};

// As after etcd was restored from a snapshot.
TEST_F(InformerVersionsTest, AnEarlierStateOfTheServerReplacesWhatWasKnown) {
  tell(WatchEventType::Added, "b", 50, "old");
  end_list(100);
  tell(WatchEventType::Modified, "b", 105, "new");
  tell(WatchEventType::Added, "a", 110, "ghost");
  wait_for("a", "ghost");
  informer_.put(object("b", 108, "own"), Informer::Echo::Silent);
  forget_told();
  tell(WatchEventType::Added, "b", 50, "old");
  tell(WatchEventType::Deleted, "a", 60);
  end_list(60);
  wait_for_lists(2);
  EXPECT_THAT(informer_.keys(), ElementsAre(Pair("default", "b")));
  EXPECT_EQ(text_of("b"), "old");
  EXPECT_TRUE(was_told("a"));
  EXPECT_TRUE(was_told("b"));
  forget_told();
  tell(WatchEventType::Modified, "b", 61, "changed");
  end_list(61);
  wait_for_lists(3);
  EXPECT_EQ(text_of("b"), "changed");
  EXPECT_TRUE(was_told("b"));
  // Answers to writes now have versions of the new state.
  informer_.put(object("c", 62, "own"));
  EXPECT_EQ(text_of("c"), "own");
}

// It went back, and then on until its versions were higher than those that were known.
TEST_F(InformerVersionsTest, AListSaysInWhichVersionItsObjectsAre) {
  tell(WatchEventType::Added, "b", 50, "old");
  end_list(100);
  tell(WatchEventType::Modified, "b", 105, "new");
  wait_for("b", "new");
  forget_told();
  tell(WatchEventType::Added, "b", 50, "old");
  end_list(120);
  wait_for_lists(2);
  EXPECT_EQ(text_of("b"), "old");
  EXPECT_TRUE(was_told("b"));
}

TEST_F(InformerVersionsTest, AnswersThatAreLaterThanAListStay) {
  tell(WatchEventType::Added, "b", 50, "old");
  end_list(100);
  wait_for_lists(1);
  informer_.put(object("b", 130, "own"));
  informer_.put(object("c", 131, "own"));
  tell(WatchEventType::Added, "b", 50, "old");
  end_list(120);
  wait_for_lists(2);
  EXPECT_EQ(text_of("b"), "own");
  EXPECT_EQ(text_of("c"), "own");
}

}  // namespace
}  // namespace mist::kube
