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
  metrics.watch_queue("operator", [] {
    QueueState state{.depth = 3, .additions = 17, .retries = 2};
    state.waits.add(std::chrono::milliseconds(50));
    state.waits.add(std::chrono::seconds(5000));
    return state;
  });
  metrics.watch_queue("releases", [] { return QueueState{.depth = 1}; });
  metrics.sends_to("10.0.0.1:6443");
  metrics.requested("GET", 200);
  metrics.requested("GET", 200);
  metrics.requested("PATCH", 0);
  const Metrics::Working busy(metrics, "app");
  {
    const Metrics::Working done(metrics, "app");
  }
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
           "workqueue_retries_total{name=\"operator\"} 2\n",
           "# TYPE workqueue_queue_duration_seconds histogram\n",
           "workqueue_queue_duration_seconds_bucket{name=\"operator\",le=\"1e-08\"} 0\n",
           "workqueue_queue_duration_seconds_bucket{name=\"operator\",le=\"0.01\"} 0\n",
           "workqueue_queue_duration_seconds_bucket{name=\"operator\",le=\"0.1\"} 1\n",
           "workqueue_queue_duration_seconds_bucket{name=\"operator\",le=\"1000\"} 1\n",
           "workqueue_queue_duration_seconds_bucket{name=\"operator\",le=\"+Inf\"} 2\n",
           "workqueue_queue_duration_seconds_sum{name=\"operator\"} 5000.05\n",
           "workqueue_queue_duration_seconds_count{name=\"operator\"} 2\n",
           "workqueue_depth{name=\"releases\"} 1\n",
           "rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method=\"GET\"} 2\n",
           "rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method=\"PATCH\"} 1\n",
           "controller_runtime_active_workers{controller=\"app\"} 1\n",
           "controller_runtime_active_workers{controller=\"a\\\"b\"} 0\n",
           "# TYPE process_cpu_seconds_total counter\n",
           "leader_election_master_status{name=\"operator\"} 1\n",
           "mistletoe_build_info{version=\"1.2.3\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("process_resident_memory_bytes 0\n")));
  EXPECT_THAT(text, Not(HasSubstr("process_start_time_seconds 0.00\n")));
}

TEST(Metrics, CountWhatIsNotReadyByItsReason) {
  Metrics metrics("1.2.3");
  for (int i = 0; i < 4; ++i) metrics.instance("app", "shop", "", "Waiting");
  metrics.instance("app", "shop", "Waiting", "Failed");
  metrics.instance("app", "shop", "Waiting", "Ready");
  metrics.instance("app", "shop", "Waiting", "Ready");
  metrics.instance("app", "shop", "Waiting", "");
  metrics.instance("db", "", "", "Waiting");
  metrics.rejected("app", false);
  metrics.rejected("db", true);
  metrics.rejected("gone", true);
  metrics.rejected("gone", std::nullopt);
  metrics.release("", "Deployed");
  metrics.release("Deployed", "UpgradeFailed");
  metrics.release("", "Deployed");
  const std::string text = metrics.text();
  for (const char* line :
       {"# TYPE mistletoe_instances gauge\n",
        "mistletoe_instances{blueprint=\"app\",namespace=\"shop\",reason=\"Ready\"} 2\n",
        "mistletoe_instances{blueprint=\"app\",namespace=\"shop\",reason=\"Failed\"} 1\n",
        "mistletoe_instances{blueprint=\"db\",namespace=\"\",reason=\"Waiting\"} 1\n",
        "mistletoe_blueprint_rejected{blueprint=\"app\"} 0\n",
        "mistletoe_blueprint_rejected{blueprint=\"db\"} 1\n", "mistletoe_releases{reason=\"Deployed\"} 1\n",
        "mistletoe_releases{reason=\"UpgradeFailed\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("namespace=\"shop\",reason=\"Waiting\"")));
  EXPECT_THAT(text, Not(HasSubstr("gone")));
  metrics.keeps_no_blueprints();
  metrics.keeps_no_releases();
  EXPECT_THAT(metrics.text(),
              Not(::testing::ContainsRegex("mistletoe_(instances|blueprint_rejected|releases)[{]")));
}

TEST(Metrics, CountStalledInstancesUntilNoneIs) {
  Metrics metrics("1.2.3");
  EXPECT_THAT(metrics.text(), Not(HasSubstr("mistletoe_instances_stalled{")));
  metrics.stalled("app", "shop", true);
  metrics.stalled("app", "shop", true);
  metrics.stalled("app", "", true);
  EXPECT_THAT(metrics.text(),
              HasSubstr("mistletoe_instances_stalled{blueprint=\"app\",namespace=\"shop\"} 2\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("mistletoe_instances_stalled{blueprint=\"app\",namespace=\"\"} 1\n"));
  metrics.stalled("app", "", false);
  metrics.stalled("app", "shop", false);
  metrics.stalled("app", "shop", false);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("namespace=\"shop\"")));
  EXPECT_THAT(metrics.text(), HasSubstr("mistletoe_instances_stalled{blueprint=\"app\",namespace=\"\"} 0\n"));
  metrics.keeps_no_blueprints();
  EXPECT_THAT(metrics.text(), Not(HasSubstr("mistletoe_instances_stalled{")));
}

TEST(Metrics, NameTheNamespacesThatAreNotWatched) {
  const std::string line = "mistletoe_blueprint_not_watched{blueprint=\"app\",namespace=";
  Metrics metrics("1.2.3");
  metrics.not_watched("app", std::set<std::string>{"blog", "shop"});
  EXPECT_THAT(metrics.text(), HasSubstr(line + "\"blog\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr(line + "\"shop\"} 1\n"));
  metrics.not_watched("app", std::set<std::string>{""});
  EXPECT_THAT(metrics.text(), HasSubstr(line + "\"\"} 1\n")) << "the server lists none at all";
  metrics.not_watched("app", std::set<std::string>());
  EXPECT_THAT(metrics.text(), HasSubstr(line + "\"\"} 0\n"));
  std::set<std::string> many;
  for (int i = 0; i < 200; ++i) many.insert(std::to_string(i));
  metrics.not_watched("app", many);
  EXPECT_THAT(metrics.text(), HasSubstr(line + "\"\"} 200\n"));
  metrics.not_watched("app", std::nullopt);
  EXPECT_THAT(metrics.text(), Not(HasSubstr(line)));
}

TEST(Metrics, ShowSinceWhenTheOldestDeleteIsHeldBack) {
  const auto at = [](int time) { return WallTime(std::chrono::seconds(time)); };
  const std::string line = "mistletoe_oldest_pending_delete_timestamp_seconds{blueprint=\"app\",";
  Metrics metrics("1.2.3");
  metrics.pending_delete("app", "shop", {}, at(2000));
  metrics.pending_delete("app", "shop", {}, at(1000));
  metrics.pending_delete("app", "shop", {}, at(1000));
  metrics.pending_delete("app", "blog", {}, at(3000));
  EXPECT_THAT(metrics.text(), HasSubstr(line + "namespace=\"shop\"} 1000\n"));
  EXPECT_THAT(metrics.text(), HasSubstr(line + "namespace=\"blog\"} 3000\n"));
  metrics.pending_delete("app", "shop", at(1000), {});
  EXPECT_THAT(metrics.text(), HasSubstr(line + "namespace=\"shop\"} 1000\n")) << "of another instance";
  metrics.pending_delete("app", "shop", at(1000), at(4000));
  EXPECT_THAT(metrics.text(), HasSubstr(line + "namespace=\"shop\"} 2000\n"));
  metrics.pending_delete("app", "shop", at(2000), {});
  metrics.pending_delete("app", "shop", at(4000), {});
  EXPECT_THAT(metrics.text(), Not(HasSubstr("namespace=\"shop\"")));
  for (std::size_t i = 0; i < Metrics::kMostNamespaces; ++i)
    metrics.pending_delete("app", "ns" + std::to_string(i), {}, at(5000));
  EXPECT_THAT(metrics.text(), HasSubstr(line + "namespace=\"\"} 3000\n")) << "together, where they are many";
  metrics.keeps_no_blueprints();
  EXPECT_THAT(metrics.text(), Not(HasSubstr(line)));
}

TEST(Metrics, DoNotGrowWithNamespaces) {
  Metrics metrics("1.2.3");
  const auto add = [&](std::size_t i) {
    metrics.instance("many", "ns" + std::to_string(i), "", i == 0 ? "Failed" : "Ready");
  };
  for (std::size_t i = 0; i < Metrics::kMostNamespaces; ++i) add(i);
  metrics.instance("few", "ns0", "", "Ready");
  EXPECT_THAT(metrics.text(), HasSubstr("{blueprint=\"many\",namespace=\"ns1\",reason=\"Ready\"} 1\n"));
  add(Metrics::kMostNamespaces);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("{blueprint=\"many\",namespace=\"\",reason=\"Failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{blueprint=\"many\",namespace=\"\",reason=\"Ready\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("{blueprint=\"few\",namespace=\"ns0\",reason=\"Ready\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("namespace=\"ns1\"")));
}

TEST(Metrics, SayNothingOfWhatIsNotThere) {
  Metrics metrics("1.2.3");
  metrics.watch_queue("operator", [] { return QueueState(); });
  metrics.watch_queue("operator", {});
  const std::string text = metrics.text();
  EXPECT_THAT(text, Not(HasSubstr("controller=\"app\"")));
  EXPECT_THAT(text, Not(HasSubstr("workqueue_")));
  EXPECT_THAT(text, Not(HasSubstr("leader_election")));
}

TEST(Metrics, ConversionsAreCountedByBlueprintAndResult) {
  Metrics metrics("1.2.3");
  EXPECT_THAT(metrics.text(), Not(HasSubstr("webhook")));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("conversion")));
  Metrics::Answering open(metrics, "/convert/app");
  {
    Metrics::Answering ended(metrics, "/convert/app");
    ended.ends(200, std::chrono::milliseconds(20));
    Metrics::Answering refused(metrics, "/convert/");
    refused.ends(400, std::chrono::milliseconds(1));
  }
  metrics.converted("app", "App", true, 3, std::chrono::milliseconds(20));
  metrics.converted("app", "App", true, 4, std::chrono::milliseconds(300));
  metrics.converted("app", "App", false, 1, std::chrono::seconds(26));
  const std::string text = metrics.text();
  for (const char* const line : {
           "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/convert/app\"} 1\n",
           "controller_runtime_webhook_requests_total{code=\"400\",webhook=\"/convert/\"} 1\n",
           "controller_runtime_webhook_requests_in_flight{webhook=\"/convert/app\"} 1\n",
           "controller_runtime_webhook_requests_in_flight{webhook=\"/convert/\"} 0\n",
           "controller_runtime_webhook_latency_seconds_bucket{webhook=\"/convert/app\",le=\"0.01\"} 0\n",
           "controller_runtime_webhook_latency_seconds_bucket{webhook=\"/convert/app\",le=\"0.025\"} 1\n",
           "mistletoe_conversion_objects_total{blueprint=\"app\",kind=\"App\",result=\"success\"} 7\n",
           "mistletoe_conversion_objects_total{blueprint=\"app\",kind=\"App\",result=\"error\"} 1\n",
           "mistletoe_conversion_seconds_bucket{blueprint=\"app\",kind=\"App\",result=\"error\",le=\"10\"} "
           "0\n",
           "mistletoe_conversion_seconds_bucket{blueprint=\"app\",kind=\"App\",result=\"error\",le=\"30\"} "
           "1\n",
           "mistletoe_conversion_seconds_count{blueprint=\"app\",kind=\"App\",result=\"success\"} 2\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace mist::operator_
