#include "releases/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "kube/client_pool.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kStatusManager = "mistletoe-operator-status";

// Releases that are suspended, or whose spec can't be read: a look at one only says so.
class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.register_kind(
        {{std::string(kGroup), std::string(kVersion), std::string(kKind)}, "releases", true, {}, true});
  }
  void put(std::string_view name, std::string_view more = "suspend: true") {
    cluster_.put(testing::yaml(
        fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: Release\n"
                    "metadata: {{name: {}, namespace: default}}\nspec: {{package: test:1, {}}}\n",
                    name, more)));
  }
  // The server stores no such status from now on, `times` times.
  void refuse_status(int times, ErrorKind kind = ErrorKind::Retryable) {
    cluster_.set_before([left = std::make_shared<std::atomic<int>>(times),
                         kind](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.field_manager != kStatusManager || --*left < 0) return std::nullopt;
      return error(kind, "etcd has no leader, or a policy forbids it");
    });
  }
  bool has_status(std::string_view name) const {
    const auto object = cluster_.find("Release.mistletoe.dev", "default", name);
    return object && object->at_path({"status", "conditions"}) != nullptr;
  }
  std::ptrdiff_t count_events() const {
    return std::ranges::count_if(
        cluster_.objects(), [](const testing::ObjectKey& key) { return key.group_kind.kind == "Event"; });
  }
  template <typename Condition>
  void run_until(const Condition& condition) {
    run_until(controller_, condition);
  }
  template <typename Condition>
  static void run_until(Controller& controller, const Condition& condition) {
    std::stop_source stop;
    std::jthread running([&] { EXPECT_TRUE(controller.run(Context(stop.get_token())).ok()); });
    for (int i = 0; i < 10000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(condition());
    stop.request_stop();
  }

  testing::FakeCluster cluster_;
  testing::RecordedEvents events_;
  operator_::Metrics metrics_{"1.0.0"};

 private:
  HostFileSystem files_;
  HostProcessRunner processes_;
  SystemClock clock_;
  SystemRandom random_;

 protected:
  Dependencies dependencies() {
    return {.files = files_,
            .processes = processes_,
            .clock = clock_,
            .random = random_,
            .events = events_,
            .paths = {},
            .oci = {},
            .transport = {},
            .engines = {},
            .holder = "tester",
            .client = cluster_,
            .client_of = [this](const std::string&) -> Result<std::shared_ptr<kube::Client>> {
              return kube::borrowed(cluster_);
            },
            .ns = "default",
            .default_account = ""};
  }
  Controller controller_{dependencies(), metrics_, {}, 4};
};

TEST(ControllerScope, TellsWhichReleasesItIsNotFor) {
  const auto in = [](std::string_view ns) {
    return Value::object({{"metadata", Value::object({{"name", "web"}, {"namespace", ns}})}});
  };
  const Controller::Scope everywhere;
  EXPECT_EQ(Controller::why_not_kept(everywhere, in("bank")), "");
  Controller::Scope some;
  some.namespaces = operator_::WatchedNamespaces({"shop", "blog"});
  EXPECT_EQ(Controller::why_not_kept(some, in("shop")), "");
  EXPECT_EQ(
      Controller::why_not_kept(some, in("bank")),
      "this operator looks only at Releases of namespaces blog, shop: start it with --releases all, and, "
      "where it has --watch-namespace, with that namespace too");
}

// Another look would try again what it tried, without knowing that it failed.
TEST_F(ControllerTest, AStatusThatCouldNotBeWrittenIsWrittenWithoutAnotherLook) {
  put("web");
  refuse_status(2);
  run_until([&] { return has_status("web"); });
  EXPECT_TRUE(events_.has("while the status of Release default/web was written"));
  EXPECT_THAT(metrics_.text(), HasSubstr("controller_runtime_reconcile_total{controller=\"Release\",result="
                                         "\"success\"} 1\n"));
}

// A fault is told once, as where the status says it; so an upgrade that is given up stays so.
TEST_F(ControllerTest, AStatusThatIsRefusedForGoodCountsForTheNextLookUntilItIsStored) {
  put("web", "retries: many");
  refuse_status(2, ErrorKind::Forbidden);
  run_until([&] { return has_status("web"); });
  EXPECT_TRUE(events_.has("while the status of Release default/web was written"));
  EXPECT_THAT(metrics_.text(), HasSubstr("controller_runtime_reconcile_total{controller=\"Release\",result="
                                         "\"success\"} 3\n"));
  EXPECT_EQ(count_events(), 1);
}

TEST_F(ControllerTest, ReleasesAreCountedByTheReasonOfTheirConditionReady) {
  put("web");
  put("shop");
  put("wrong", "retries: many");
  const auto has = [&](std::string_view line) { return metrics_.text().find(line) != std::string::npos; };
  run_until([&] {
    return has("mistletoe_releases{reason=\"Suspended\"} 2\n") &&
           has("mistletoe_releases{reason=\"InvalidSpec\"} 1\n") &&
           has("workqueue_adds_total{name=\"releases\"} ");
  });
  EXPECT_FALSE(has("mistletoe_releases{")) << "nobody keeps them any more";
  EXPECT_FALSE(has("workqueue_adds_total{")) << "nor is there a queue";
}

// One at a time.
// Somebody deleted it, or its Role.
TEST_F(ControllerTest, ANamespaceThatIsRefusedStopsNothingInTheOthers) {
  cluster_.put(testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: bank}}"));
  put("local");
  put("across", "suspend: true, targetNamespace: bank");
  std::atomic<bool> is_refused = true;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (!is_refused || call.verb != "list" || call.key.ns != "bank") return std::nullopt;
    return error(ErrorKind::Forbidden, "nobody may list in bank");
  });
  Controller some(dependencies(), metrics_,
                  {.namespaces = operator_::WatchedNamespaces({"bank", "default"}), .selector = {}}, 4);
  run_until(some, [&] {
    if (!has_status("local")) return false;
    if (is_refused) {
      EXPECT_FALSE(has_status("across")) << "an older one may be in bank";
      is_refused = false;
    }
    return has_status("across");
  });
  EXPECT_TRUE(events_.has("Releases in namespace bank can't be listed"));
  is_refused = true;
  Controller none(dependencies(), metrics_,
                  {.namespaces = operator_::WatchedNamespaces({"bank"}), .selector = {}}, 4);
  const Status refused = none.run(Context());
  ASSERT_FALSE(refused.ok()) << "nothing is left that it could do";
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
}

TEST_F(ControllerTest, TheReleasesOfANamespaceWaitTheirTurn) {
  for (int i = 0; i < 6; ++i) put(fmt::format("web-{}", i));
  run_until([&] {
    for (int i = 0; i < 6; ++i)
      if (!has_status(fmt::format("web-{}", i))) return false;
    return true;
  });
}

}  // namespace
}  // namespace mist::releases
