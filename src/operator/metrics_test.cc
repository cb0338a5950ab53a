#include "operator/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, AreWhatPrometheusReads) {
  Metrics metrics("1.2.3", "operator");
  metrics.reconciled("app", true, std::chrono::milliseconds(7));
  metrics.reconciled("app", false, std::chrono::seconds(61));
  metrics.reconciled("a\"b", true, Duration::zero());
  metrics.watch_queue([] { return QueueState{3, 17}; });
  metrics.leads(true);
  const std::string text = metrics.text();
  for (const char* line : {
           "# TYPE controller_runtime_reconcile_time_seconds histogram\n",
           "controller_runtime_reconcile_total{controller=\"app\",result=\"error\"} 1\n",
           "controller_runtime_reconcile_total{controller=\"app\",result=\"success\"} 1\n",
           "controller_runtime_reconcile_errors_total{controller=\"app\"} 1\n",
           "controller_runtime_reconcile_time_seconds_bucket{controller=\"app\",le=\"0.005\"} 0\n",
           "controller_runtime_reconcile_time_seconds_bucket{controller=\"app\",le=\"0.01\"} 1\n",
           "controller_runtime_reconcile_time_seconds_bucket{controller=\"app\",le=\"60\"} 1\n",
           "controller_runtime_reconcile_time_seconds_bucket{controller=\"app\",le=\"+Inf\"} 2\n",
           "controller_runtime_reconcile_time_seconds_count{controller=\"app\"} 2\n",
           "controller_runtime_reconcile_time_seconds_sum{controller=\"app\"} 61.007\n",
           "controller_runtime_reconcile_errors_total{controller=\"a\\\"b\"} 0\n",
           "workqueue_depth{name=\"operator\"} 3\n",
           "workqueue_adds_total{name=\"operator\"} 17\n",
           "leader_election_master_status{name=\"operator\"} 1\n",
           "mistletoe_build_info{version=\"1.2.3\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("process_resident_memory_bytes 0\n")));
}

TEST(Metrics, SayNothingOfWhatIsNotThere) {
  Metrics metrics("1.2.3");
  metrics.watch_queue({});
  const std::string text = metrics.text();
  EXPECT_THAT(text, Not(HasSubstr("controller=\"app\"")));
  EXPECT_THAT(text, Not(HasSubstr("workqueue_depth{")));
  EXPECT_THAT(text, Not(HasSubstr("leader_election")));
}

}  // namespace
}  // namespace mist::operator_
