#include "operator/executor.h"

#include <gtest/gtest.h>

#include "testing/api_refusal.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::operator_ {
namespace {

class ExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override { cluster_.put(object_); }

  void write() {
    Plan plan;
    plan.applies.push_back({.node = "a", .id = kObject, .object = object_, .hash = "h1"});
    plan.nodes.emplace_back().node = "a";
    const auto done = executor_.write_ahead(Value::object(), plan, memory_, kItem, Span(), Context());
    EXPECT_TRUE(done.ok()) << done.error().to_line();
  }
  void refuse(const std::string& words, const std::vector<kube::ApiFailure::Cause>& causes) {
    cluster_.set_before([=](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply") return std::nullopt;
      return testing::api_refusal(ErrorKind::Invalid, "it is refused", words, causes);
    });
  }

  const ObjectId kObject{"v1", "ConfigMap", "default", "a"};
  const Item kItem{"app", {"shop", "web"}};
  const Value object_ =
      Value::object({{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", Value::object({{"name", "a"}, {"namespace", "default"}})}});
  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  Notices notices_{cluster_, clock_, events_};
  Memory memory_;
  Observer observer_{cluster_, {}, clock_, events_, [](const Item&) {}};
  Executor executor_{cluster_, clock_, events_, observer_, notices_, mutex_};
};

TEST_F(ExecutorTest, RemembersThatAnObjectCannotBeChangedInPlaceUntilItIsWritten) {
  refuse("data: Forbidden: field is immutable when `immutable` is set", {{"FieldValueForbidden", "data"}});
  write();
  EXPECT_TRUE(memory_.immutable(kObject, "h1"));
  cluster_.set_before(nullptr);
  write();
  EXPECT_FALSE(memory_.immutable(kObject, "h1"));
}

TEST_F(ExecutorTest, LogsWhoseObjectItWrites) {
  write();
  ASSERT_EQ(events_.messages.size(), 1u);
  EXPECT_EQ(events_.messages[0], "changed ConfigMap default/a");
  EXPECT_EQ(events_.fields[0], (MessageFields{{"blueprint", "app", false},
                                              {"namespace", "shop", false},
                                              {"instance", "web", false},
                                              {"object", "ConfigMap default/a"},
                                              {"kind", "ConfigMap"},
                                              {"name", "a"}}));
}

TEST_F(ExecutorTest, AnObjectThatWouldBeRefusedAnewIsNotToBeReplaced) {
  refuse("type: Invalid value: \"a\": field is immutable, data[username]: Required value",
         {{"FieldValueInvalid", "type"}, {"FieldValueRequired", "data[username]"}});
  write();
  EXPECT_FALSE(memory_.immutable(kObject, "h1"));
  EXPECT_TRUE(memory_.held(kObject, "h1", clock_.steady_now()));
}

}  // namespace
}  // namespace mist::operator_
