#include "apply/wait/wait.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/object_waits.h"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnosis.h"
#include "encoding/yaml.h"
#include "testing/fake_cluster.h"

namespace mist::apply {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// Hands on what objects become, so that a test can act when something was seen.
class Seen final : public EventSink {
 public:
  explicit Seen(std::function<void(const ObjectProgress&)> act = {}) : act_(std::move(act)) {}
  void message(const Message&) override {}
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress& event) override {
    if (act_) act_(event);
  }

 private:
  std::function<void(const ObjectProgress&)> act_;
};

struct Wait : ::testing::Test {
  Wait() {
    for (const std::string_view ns : {"shop", "other", "elsewhere"})
      cluster.put(*encoding::parse_yaml(
          fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", ns)));
    cluster.register_kind(kind);
  }
  AwaitedObject widget(std::string_view name, std::string_view phase, std::string_view ns = "shop",
                       std::optional<Duration> timeout = {}) {
    auto object = *encoding::parse_yaml(fmt::format(
        "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: {}, namespace: {}, annotations: "
        "{{mistletoe.dev/ready-when: '{{.status.phase}}=Running'}}}}, status: {{phase: {}}}}}",
        name, ns, phase));
    object["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
    cluster.put(object);
    return {{kind.gvk.group_kind(), std::string(ns), std::string(name)}, kind, timeout};
  }
  void set_phase(const AwaitedObject& object, std::string_view phase) {
    cluster.set_status(object.key, encoding::Value::object({{"phase", phase}}));
  }
  Status wait(const std::vector<AwaitedObject>& objects, Duration timeout, EventSink& sink,
              const Context& context = Context()) {
    return wait_until_ready(cluster, id, objects, {.timeout = timeout}, sink, context);
  }

  testing::FakeCluster cluster;
  Seen quiet;
  const Owner id{"shop", "web"};
  const kube::ResourceInfo kind{{"example.com", "v1", "Widget"}, "widgets", true, {}};
};

TEST_F(Wait, OneWatchForEachKindAndNamespaceHoweverManyObjects) {
  std::vector<AwaitedObject> objects;
  for (int i = 0; i < 50; ++i)
    objects.push_back(widget(fmt::format("w{}", i), "Pending", i % 2 == 0 ? "shop" : "other"));
  std::atomic<int> waiting = 0;
  // When all were seen waiting, all become ready one after another.
  std::jthread controller;
  Seen sink([&](const ObjectProgress& event) {
    if (event.state != "waiting" || ++waiting != 50) return;
    controller = std::jthread([&] {
      for (const AwaitedObject& object : objects) set_phase(object, "Running");
    });
  });
  cluster.clear_calls();
  const Status done = wait(objects, 60s, sink);
  EXPECT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(cluster.count("watch"), 2u);
  EXPECT_EQ(cluster.count("list"), 2u);
  EXPECT_EQ(cluster.count("get"), 0u);
}

TEST_F(Wait, TimeoutNamesWhatIsNotReadyAndWhy) {
  const std::vector<AwaitedObject> objects = {widget("good", "Running"), widget("bad", "Pending")};
  const Status done = wait(objects, 50ms, quiet);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Timeout);
  EXPECT_EQ(done.error().message, "1 object is not ready after 0.0s");
  EXPECT_EQ(done.error().because, "Widget shop/bad: {.status.phase} is Pending, not Running");
  EXPECT_THAT(done.error().hint, HasSubstr("mistletoe.dev/timeout"));
  const Diagnosis* diagnosis = diagnosis_of(done.error());
  ASSERT_NE(diagnosis, nullptr);
  EXPECT_EQ(diagnosis->name, "shop/web");
  ASSERT_EQ(diagnosis->children.size(), 1u);
}

TEST_F(Wait, WhatPodsSayIsToldWhileTheirWorkloadIsWaitedFor) {
  auto deployment = *encoding::parse_yaml(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: {selector: "
      "{matchLabels: {app: api}}, template: {spec: {containers: [{name: main}]}}}}");
  deployment["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
  cluster.put(deployment);
  auto pod = *encoding::parse_yaml(
      "{apiVersion: v1, kind: Pod, metadata: {name: api-1, namespace: shop, labels: {app: api}}, spec: "
      "{containers: [{name: main}]}, status: {phase: Pending, containerStatuses: [{name: main, image: i, "
      "state: {waiting: {reason: ImagePullBackOff, message: no such tag}}}]}}");
  cluster.put(pod);
  const AwaitedObject object{{{"apps", "Deployment"}, "shop", "api"},
                             {{"apps", "v1", "Deployment"}, "deployments", true, {}}};
  std::stop_source stop;
  std::vector<std::string> told;
  Seen sink([&](const ObjectProgress& event) {
    told.push_back(event.detail);
    if (event.detail.find("ImagePullBackOff") != std::string::npos) stop.request_stop();
  });
  const Status done = wait_until_ready(cluster, id, {object},
                                       {.timeout = 60s, .diagnose = false, .pods_after = Duration::zero()},
                                       sink, Context(stop.get_token()));
  EXPECT_EQ(done.error().kind, ErrorKind::Cancelled);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.back(),
              ::testing::StartsWith("container main: ImagePullBackOff: no such tag (Pod api-1); "));
}

TEST_F(Wait, ThePodThatAStatefulSetWaitsForIsInTheHint) {
  auto set = *encoding::parse_yaml(
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}, spec: {replicas: 1, "
      "selector: {matchLabels: {app: db}}, template: {spec: {containers: [{name: main}]}}}, status: "
      "{observedGeneration: 1, replicas: 1, currentRevision: db-1, updateRevision: db-2}}");
  set["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
  const std::string uid(cluster.put(set).string_at({"metadata", "uid"}));
  cluster.put(*encoding::parse_yaml(fmt::format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: db-0, namespace: shop, labels: {{app: db, "
      "controller-revision-hash: db-1}}, ownerReferences: [{{uid: {}}}]}}, status: {{phase: Pending}}}}",
      uid)));
  const AwaitedObject object{{{"apps", "StatefulSet"}, "shop", "db"},
                             {{"apps", "v1", "StatefulSet"}, "statefulsets", true, {}}};
  const Status done = wait({object}, 50ms, quiet);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().because, HasSubstr("Pod db-0 is of an earlier revision"));
  EXPECT_THAT(done.error().hint, HasSubstr("--timeout"));
  EXPECT_THAT(done.error().hint, HasSubstr("kubectl delete pod db-0 -n shop"));
}

TEST_F(Wait, AJobThatHasBegunIsEnoughIfThatIsSaid) {
  const auto put = [&](std::string_view name, std::string_view status) {
    auto job = *encoding::parse_yaml(fmt::format(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, namespace: shop}}, spec: {{}}}}", name));
    job["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
    cluster.put(job);
    const ObjectKey key{{"batch", "Job"}, "shop", std::string(name)};
    cluster.set_status(key, *encoding::parse_yaml(std::string(status)));
    return AwaitedObject{key, {{"batch", "v1", "Job"}, "jobs", true, {}}};
  };
  const auto begun = put("begun", "{startTime: '2026-01-01T00:00:00Z', active: 1}");
  const auto pending = put("pending", "{}");
  const auto failed = put("failed",
                          "{startTime: '2026-01-01T00:00:00Z', conditions: [{type: Failed, status: "
                          "'True', reason: BackoffLimitExceeded}]}");
  const auto of = [&](const AwaitedObject& object, bool jobs_end) {
    const Status done =
        wait_until_ready(cluster, id, {object}, {.timeout = 50ms, .jobs_end = jobs_end}, quiet, Context());
    return done.ok() ? std::string("ready") : std::string(to_string(done.error().kind));
  };
  EXPECT_EQ(of(begun, true), "Timeout");
  EXPECT_EQ(of(begun, false), "ready");
  EXPECT_EQ(of(pending, false), "Timeout");
  EXPECT_EQ(of(failed, false), "Invalid");
}

struct WaitForJobs : Wait {
  // A Job that removes itself; it carries the release's mark.
  AwaitedObject job(std::string_view name, std::string_view status) {
    auto object = *encoding::parse_yaml(
        fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, namespace: shop}}, spec: "
                    "{{ttlSecondsAfterFinished: 0}}}}",
                    name));
    object["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
    const ObjectKey key{{"batch", "Job"}, "shop", std::string(name)};
    const std::string uid(cluster.put(object).string_at({"metadata", "uid"}));
    cluster.set_status(key, *encoding::parse_yaml(std::string(status)));
    return {.key = key,
            .resource = {{"batch", "v1", "Job"}, "jobs", true, {}},
            .removal_delay = std::chrono::seconds(0),
            .uid = uid};
  }
  void event(const AwaitedObject& object, std::string_view reason) {
    cluster.put(*encoding::parse_yaml(fmt::format(
        "{{apiVersion: v1, kind: Event, metadata: {{name: e-{}, namespace: shop}}, involvedObject: "
        "{{uid: {}}}, reason: {}, message: m}}",
        object.key.name, object.uid, reason)));
  }
  static constexpr std::string_view kComplete = "{conditions: [{type: Complete, status: 'True'}]}";
  static constexpr std::string_view kFailed =
      "{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too often}]}";
};

TEST_F(WaitForJobs, OneThatIsGoneWhenTheWaitBeginsIsWhatItsEventsSay) {
  const AwaitedObject good = job("good", kComplete), bad = job("bad", kFailed);
  event(good, "Completed");
  event(bad, "BackoffLimitExceeded");
  cluster.drop(good.key);
  cluster.drop(bad.key);
  EXPECT_TRUE(wait({good}, 60min, quiet).ok());
  const Status failed = wait({bad}, 60min, quiet);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "Job shop/bad failed");
  EXPECT_THAT(failed.error().because, HasSubstr("BackoffLimitExceeded"));
}

// The listing that goes on when its wait begins asked for another Job alone.
TEST_F(WaitForJobs, OneThatIsGoneIsJudgedByAListingThatAskedForIt) {
  const AwaitedObject other = job("other", "{active: 1}"), good = job("good", kComplete);
  event(good, "Completed");
  cluster.drop(good.key);
  std::promise<WaitEnd> end;
  std::once_flag once;
  ObjectWaits waits(cluster, id,
                    {.changed = [](ObjectWaits::Id, const std::string&) {},
                     .ended =
                         [&](ObjectWaits::Id which, WaitEnd how) {
                           if (which == 1) end.set_value(std::move(how));
                         }},
                    Context());
  const auto begin = [&](ObjectWaits::Id which, const AwaitedObject& object) {
    std::vector<std::pair<ObjectWaits::Id, ObjectWait>> one;
    one.emplace_back(which,
                     ObjectWait{.key = object.key,
                                .resource = object.resource,
                                .judge = [](const Value*) { return Readiness{Health::InProgress, ""}; },
                                .asks_pods = false,
                                .uid = object.uid,
                                .removal_delay = object.removal_delay,
                                .limit = std::chrono::minutes(1)});
    waits.begin(std::move(one));
  };
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "watch" && call.key.group_kind == GroupKind{"batch", "Job"})
      std::call_once(once, [&] { begin(1, good); });
    return std::nullopt;
  });
  begin(0, other);
  auto how = end.get_future();
  const bool ended = how.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  cluster.set_before({});
  waits.stop();
  ASSERT_TRUE(ended);
  const WaitEnd result = how.get();
  EXPECT_EQ(result.how, WaitEnd::How::Met) << result.detail;
  EXPECT_TRUE(result.gone);
}

TEST_F(WaitForJobs, OneThatIsGoneLongBeforeItsDelayIsOverWasDeleted) {
  AwaitedObject begun = job("begun", "{active: 1}"), quick = job("quick", "{active: 1}");
  begun.removal_delay = std::chrono::minutes(10);
  for (const AwaitedObject& each : {begun, quick}) {
    event(each, "SuccessfulCreate");
    cluster.drop(each.key);
  }
  const Status failed = wait({begun}, 60min, quiet);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "Job shop/begun was deleted while it was waited for");
  EXPECT_TRUE(wait({quick}, 60min, quiet).ok()) << "its end may not have been told yet";
}

TEST_F(WaitForJobs, OneThatIsBeingRemovedIsWhatItWasWhenItEnded) {
  for (const auto& [name, status, ready] :
       {std::tuple("good", kComplete, true), std::tuple("bad", kFailed, false)}) {
    const AwaitedObject object = job(name, status);
    auto live = *cluster.find(object.key);
    live["metadata"].set("finalizers", *encoding::parse_yaml("[foregroundDeletion]"));
    cluster.put(live);
    ASSERT_TRUE(cluster.remove({object.resource, "shop", name}, {}, Context()).ok());
    EXPECT_EQ(wait({object}, 60min, quiet).ok(), ready) << name;
  }
}

TEST_F(WaitForJobs, OneThatIsRemovedMeanwhileIsWhatItsLastStateSays) {
  const AwaitedObject object = job("late", "{}");
  std::jthread later;
  Seen ends([&](const ObjectProgress& progress) {
    if (progress.state != "waiting") return;
    later = std::jthread([&] {
      cluster.set_status(object.key, *encoding::parse_yaml(std::string(kComplete)));
      cluster.drop(object.key);
    });
  });
  EXPECT_TRUE(wait({object}, 60min, ends).ok());
}

TEST_F(WaitForJobs, OneThatSomebodyDeletesBeforeItsEndIsMissed) {
  const AwaitedObject object = job("early", "{active: 1}");
  std::jthread later;
  Seen deletes([&](const ObjectProgress& progress) {
    if (progress.state == "waiting") later = std::jthread([&] { cluster.drop(object.key); });
  });
  const Status done = wait({object}, 60min, deletes);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("was deleted while it was waited for"));
}

TEST_F(Wait, HowLongSomethingMayTakeToGoIsSaid) {
  const AwaitedObject object = widget("held", "Running");
  auto live = *cluster.find(object.key);
  live["metadata"].set("finalizers", *encoding::parse_yaml("[example.com/hold]"));
  const std::string uid(cluster.put(live).string_at({"metadata", "uid"}));
  const kube::ObjectRef ref{kind, "shop", "held"};
  ASSERT_TRUE(cluster.remove(ref, {}, Context()).ok());
  const Status waited = wait_until_gone(cluster, ref, uid, 20ms, Context());
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(waited.error().because, HasSubstr("example.com/hold"));
}

TEST_F(Wait, AnObjectsOwnTimeoutCountsForItAlone) {
  // One may take longer than --timeout …
  const AwaitedObject patient = widget("patient", "Pending", "shop", 60s);
  std::jthread later;
  Seen sink([&](const ObjectProgress& event) {
    if (event.state == "waiting")
      later = std::jthread([&] {
        std::this_thread::sleep_for(50ms);
        set_phase(patient, "Running");
      });
  });
  const Status done = wait({patient}, 1ms, sink);
  EXPECT_TRUE(done.ok()) << done.error().to_line();
  // … another must be quicker, and is the only one to blame.
  const Status late =
      wait({widget("hasty", "Pending", "shop", 20ms), widget("other", "Pending")}, 60s, quiet);
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().because, HasSubstr("shop/hasty"));
  EXPECT_THAT(late.error().because, Not(HasSubstr("shop/other")));
}

TEST_F(Wait, AFailureEndsTheRestAtOnce) {
  const AwaitedObject broken = widget("broken", "Pending"), other = widget("other", "Pending", "elsewhere");
  auto object = *cluster.find(broken.key);
  object.set("status",
             *encoding::parse_yaml("{conditions: [{type: Stalled, status: 'True', reason: Stuck}]}"));
  cluster.put(object);
  const Status done = wait({broken, other}, 60min, quiet);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(done.error().message, "Widget shop/broken failed");
  EXPECT_EQ(done.error().because, "Widget shop/broken: Stuck");
}

TEST_F(Wait, ADeletedObjectAndAStopEndIt) {
  const AwaitedObject object = widget("gone", "Pending");
  std::jthread later;
  Seen deletes([&](const ObjectProgress& event) {
    if (event.state == "waiting") later = std::jthread([&] { cluster.drop(object.key); });
  });
  const Status done = wait({object}, 60min, deletes);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("was deleted"));

  const AwaitedObject another = widget("another", "Pending");
  std::stop_source stop;
  Seen stops([&](const ObjectProgress& event) {
    if (event.state == "waiting") stop.request_stop();
  });
  const Status stopped = wait({another}, 60min, stops, Context(stop.get_token()));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
  EXPECT_EQ(stopped.error().message, "stopped on request while 1 object was not ready");
  EXPECT_THAT(stopped.error().because, HasSubstr("shop/another"));
  EXPECT_EQ(diagnosis_of(stopped.error()), nullptr) << "who stops does not want to wait for explanations";
}

TEST_F(Wait, AnObjectThatLostOurLabelIsSaidToHaveLostIt) {
  const auto strip = [&](const AwaitedObject& object) {
    auto live = *cluster.find(object.key);
    live["metadata"]["labels"].erase(kPartOfLabel);
    cluster.put(live);
  };
  const AwaitedObject before = widget("before", "Running");
  strip(before);
  const Status unlisted = wait({before}, 60min, quiet);
  ASSERT_FALSE(unlisted.ok());
  EXPECT_EQ(unlisted.error().message,
            "Widget shop/before lost the label applyset.kubernetes.io/part-of, by which it is the release's");
  const AwaitedObject meanwhile = widget("meanwhile", "Pending");
  Seen stripper([&](const ObjectProgress& event) {
    if (event.state == "waiting") std::jthread([&] { strip(meanwhile); }).join();
  });
  const Status gone = wait({meanwhile}, 60min, stripper);
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, HasSubstr("Widget shop/meanwhile lost the label"));
}

TEST_F(Wait, ARolloutThatFailedBeforeThisRunIsInProgress) {
  auto deployment = *encoding::parse_yaml(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: {replicas: 1}}");
  deployment["metadata"]["labels"].set(kPartOfLabel, apply_set_id(id));
  cluster.put(deployment);
  const ObjectKey key{{"apps", "Deployment"}, "shop", "api"};
  const auto conditions = [](std::string_view time) {
    return *encoding::parse_yaml(
        fmt::format("{{observedGeneration: 1, conditions: [{{type: Progressing, status: 'False', reason: "
                    "ProgressDeadlineExceeded, lastUpdateTime: '{}'}}]}}",
                    time));
  };
  cluster.set_status(key, conditions("1"));
  AwaitedObject object{key, {{"apps", "v1", "Deployment"}, "deployments", true, {}}};
  object.earlier_failure = std::nullopt;  // this run did not write it
  const auto waited = [&](EventSink& sink) {
    return wait_until_ready(cluster, id, {object}, {.timeout = 60min, .diagnose = false}, sink, Context());
  };
  std::jthread controller;
  Seen ready([&](const ObjectProgress& event) {
    if (event.state == "waiting" && !controller.joinable())
      controller = std::jthread([&] {
        cluster.set_status(key,
                           *encoding::parse_yaml("{observedGeneration: 1, replicas: 1, updatedReplicas: 1, "
                                                 "readyReplicas: 1, availableReplicas: 1}"));
      });
  });
  const Status recovered = waited(ready);
  EXPECT_TRUE(recovered.ok()) << recovered.error().to_line();
  controller = std::jthread();
  cluster.set_status(key, conditions("1"));
  Seen again([&](const ObjectProgress& event) {
    if (event.state == "waiting" && !controller.joinable())
      controller = std::jthread([&] { cluster.set_status(key, conditions("2")); });
  });
  const Status failed = waited(again);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "Deployment shop/api failed");
  object.earlier_failure = "";  // it was written, and had not failed then
  EXPECT_EQ(waited(quiet).error().message, "Deployment shop/api failed");
}

TEST_F(Wait, ARefusedWatchIsTheClustersError) {
  const AwaitedObject object = widget("w", "Pending");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot list widgets");
  });
  const Status done = wait({object}, 60min, quiet);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Forbidden);
}

}  // namespace
}  // namespace mist::apply
