#include "catalog/trial_remains.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using std::chrono::minutes;

constexpr TrialTimes kTimes{.timeout = minutes(1), .longest = minutes(4)};

class TrialRemainsTest : public mist::testing::ReleaseFixture {
 protected:
  TrialRemains remains() {
    return TrialRemains(
        {environment_, "test", kTimes, [this](const std::string& text) { warnings_.push_back(text); }});
  }
  Value namespace_of_test(const std::string& name, std::string_view more) {
    return cluster.put(mist::testing::yaml(fmt::format(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {}, labels: {{mistletoe.dev/catalog: "
        "test}}, annotations: {{{}}}}}}}",
        name, more)));
  }
  std::string annotation_until(Duration from_now) {
    return fmt::format("mistletoe.dev/catalog-test-until: '{}'", format_time(clock.now() + from_now));
  }

  action::Environment environment_ = environment();
  std::vector<std::string> warnings_;
};

TEST_F(TrialRemainsTest, ATestIsOverWhenItsNamespaceSaysSoAndElseAfterTheLongestLife) {
  EXPECT_EQ(kTimes.longest_life(), minutes(9));
  EXPECT_TRUE(remains().is_older_than_any_test(namespace_of_test("a", annotation_until(-minutes(1)))));
  EXPECT_FALSE(remains().is_older_than_any_test(namespace_of_test("b", annotation_until(minutes(1)))));
  const auto created = [&](Duration ago) {
    return mist::testing::yaml(
        fmt::format("{{metadata: {{name: c, creationTimestamp: '{}'}}}}", format_time(clock.now() - ago)));
  };
  EXPECT_TRUE(remains().is_older_than_any_test(created(minutes(10))));
  EXPECT_FALSE(remains().is_older_than_any_test(created(minutes(8))));
}

TEST_F(TrialRemainsTest, DeadTestsGoButForTheOwnAndTwoAtATime) {
  for (const char* name : {"own", "one", "two", "three"})
    namespace_of_test(name, annotation_until(-minutes(1)));
  namespace_of_test("running", annotation_until(minutes(1)));
  const auto left = [&] {
    int count = 0;
    for (const char* name : {"one", "two", "three"}) count += cluster.has("Namespace", "", name) ? 1 : 0;
    return count;
  };
  remains().remove_abandoned("own", 1, Context());
  EXPECT_EQ(left(), 1);
  remains().remove_abandoned("own", 2, Context());
  EXPECT_EQ(left(), 0);
  EXPECT_TRUE(cluster.has("Namespace", "", "own"));
  EXPECT_TRUE(cluster.has("Namespace", "", "running"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TrialRemainsTest, AnAttemptThatLeftNoNamespaceLeftNothing) {
  cluster.clear_calls();
  EXPECT_TRUE(remains().remove_attempt({"catalog-test-1-1", "web"}, Context()).ok());
  EXPECT_EQ(cluster.writes(), 0u);
}

}  // namespace
}  // namespace mist::catalog
