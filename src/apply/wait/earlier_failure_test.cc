#include "apply/wait/earlier_failure.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using encoding::Value;
using testing::yaml;

Value deployment(std::string_view conditions, int generation = 1) {
  return yaml(
      fmt::format("{{apiVersion: apps/v1, kind: Deployment, metadata: {{generation: {0}}}, spec: "
                  "{{replicas: 1}}, status: {{observedGeneration: {0}, conditions: [{1}]}}}}",
                  generation, conditions));
}
std::string exceeded(std::string_view time) {
  return fmt::format(
      "{{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: too slow, "
      "lastUpdateTime: '{}'}}",
      time);
}
constexpr std::string_view kProgress =
    "{type: Progressing, status: 'True', reason: ReplicaSetUpdated, lastUpdateTime: '2'}";

Health seen(EarlierFailure& earlier, const Value& live) {
  return earlier.judge(readiness(live), live).health;
}

TEST(EarlierFailure, CountsOnceTheRolloutFailedAgain) {
  EarlierFailure earlier;
  const Readiness first = earlier.judge(readiness(deployment(exceeded("1"))), deployment(exceeded("1")));
  EXPECT_EQ(first.health, Health::InProgress);
  EXPECT_EQ(first.detail, "ProgressDeadlineExceeded: too slow");
  EXPECT_EQ(seen(earlier, deployment(exceeded("1"))), Health::InProgress);
  EXPECT_EQ(seen(earlier, deployment(exceeded("3"))), Health::Failed);
}

TEST(EarlierFailure, CountsOnceThereWasProgressWithinTheSameSecond) {
  EarlierFailure earlier;
  EXPECT_EQ(seen(earlier, deployment(exceeded("1"))), Health::InProgress);
  EXPECT_EQ(seen(earlier, deployment(kProgress)), Health::InProgress);
  EXPECT_EQ(seen(earlier, deployment(exceeded("1"))), Health::Failed);
}

TEST(EarlierFailure, IsNoneThatCameAfterTheWrite) {
  EarlierFailure written(passing_failure(deployment(kProgress)));
  EXPECT_EQ(seen(written, deployment(exceeded("3"))), Health::Failed);
  EarlierFailure unwritten;
  EXPECT_EQ(seen(unwritten, deployment(kProgress)), Health::InProgress);
  EXPECT_EQ(seen(unwritten, deployment(exceeded("3"))), Health::Failed);
}

TEST(EarlierFailure, OfADeploymentOutlivesANewGeneration) {
  EarlierFailure scaled(passing_failure(deployment(exceeded("1"), 1)));
  EXPECT_EQ(seen(scaled, deployment(exceeded("1"), 2)), Health::InProgress);
}

TEST(EarlierFailure, OfAStalledResourceIsAboutAGeneration) {
  const auto stalled = [](int generation) {
    return yaml(
        fmt::format("{{apiVersion: example.com/v1, kind: Widget, metadata: {{generation: {0}}}, status: "
                    "{{observedGeneration: {0}, conditions: [{{type: Stalled, status: 'True', reason: "
                    "NoSource, lastTransitionTime: '1'}}]}}}}",
                    generation));
  };
  EarlierFailure earlier;
  EXPECT_EQ(seen(earlier, stalled(1)), Health::InProgress);
  EXPECT_EQ(seen(earlier, stalled(2)), Health::Failed);
}

TEST(EarlierFailure, IsNoneOfWhatHasFailedForGood) {
  const Value job =
      yaml("{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True'}]}}");
  EarlierFailure earlier;
  EXPECT_EQ(seen(earlier, job), Health::Failed);
}

}  // namespace
}  // namespace mist::apply
