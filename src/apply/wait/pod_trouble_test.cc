#include "apply/wait/pod_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

Value pod_with(std::string_view status) {
  Value pod = testing::yaml(
      "{apiVersion: v1, kind: Pod, metadata: {name: api-1, namespace: shop}, spec: {containers: [{name: "
      "main}]}}");
  pod.set("status", testing::yaml(status));
  return pod;
}

PodTrouble of_container(std::string_view state) {
  return trouble_of(
      pod_with(fmt::format("{{phase: Pending, containerStatuses: [{{name: main, image: i, {}}}]}}", state)));
}

TEST(PodTrouble, NothingIsSaidOfAPodThatIsFineOrJustStarts) {
  EXPECT_EQ(trouble_of(pod_with("{phase: Pending}")).text, "");
  EXPECT_EQ(of_container("state: {waiting: {reason: ContainerCreating}}").text, "");
  EXPECT_EQ(of_container("ready: false, started: true, state: {running: {}}").text, "");
  EXPECT_EQ(trouble_of(pod_with("{phase: Running, conditions: [{type: Ready, status: 'True'}]}")).text, "");
}

TEST(PodTrouble, SaysWhyAPodCannotStart) {
  EXPECT_EQ(of_container("state: {waiting: {reason: ImagePullBackOff, message: no such tag}}").text,
            "container main: ImagePullBackOff: no such tag");
  EXPECT_EQ(of_container("restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: "
                         "{terminated: {exitCode: 3}}")
                .text,
            "container main: CrashLoopBackOff, 2 restarts: ended with exit code 3");
  EXPECT_EQ(of_container("restartCount: 1, ready: false, state: {running: {}}, lastState: {terminated: "
                         "{exitCode: 3}}")
                .text,
            "container main: running, but not started up, 1 restart; before, it ended with exit code 3");
  EXPECT_EQ(of_container("state: {waiting: {reason: CreateContainerConfigError, message: 'secret \"x\" not "
                         "found'}}")
                .text,
            "container main: CreateContainerConfigError: secret \"x\" not found");
  EXPECT_EQ(trouble_of(pod_with("{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
                                "Unschedulable, message: 0/3 nodes are available}]}"))
                .text,
            "no node takes it: 0/3 nodes are available");
}

TEST(PodTrouble, AnEarlierStateOfTheSameTroubleIsNoNews) {
  const PodTrouble pull = of_container("state: {waiting: {reason: ErrImagePull, message: not found}}");
  const PodTrouble back_off = of_container("state: {waiting: {reason: ImagePullBackOff}}");
  const PodTrouble crash = of_container("state: {terminated: {exitCode: 1}}");
  EXPECT_EQ(next_trouble(pull, back_off), back_off);
  EXPECT_EQ(next_trouble(back_off, pull), back_off);
  EXPECT_EQ(next_trouble(back_off, crash), crash);
  EXPECT_EQ(next_trouble(back_off, {}), PodTrouble());
}

TEST(PodTrouble, SelectorsAreAsARequestHasThem) {
  const std::string pods = "template: {spec: {containers: []}}";
  EXPECT_EQ(pod_selector(testing::yaml(fmt::format(
                "{{spec: {{selector: {{matchLabels: {{a: b}}, matchExpressions: [{{key: c, operator: In, "
                "values: [d, e]}}, {{key: f, operator: DoesNotExist}}]}}, {}}}}}",
                pods))),
            "a=b,c in (d,e),!f");
  EXPECT_EQ(pod_selector(testing::yaml(fmt::format("{{spec: {{selector: {{a: b}}, {}}}}}", pods))), "a=b");
  EXPECT_EQ(pod_selector(testing::yaml("{spec: {selector: {a: b}}}")), "") << "a Service";
}

// The latest reports of a watch, and a way to wait for them.
struct Told {
  PodWatch::Tell sink() {
    return [this](const apimachinery::ObjectKey&, const PodTrouble& trouble) {
      const std::scoped_lock lock(mutex);
      texts.push_back(trouble.text);
      changed.notify_all();
    };
  }
  std::string next() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return texts.size() > read; });
    return texts.size() > read ? texts[read++] : "nothing was told";
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> texts;
  std::size_t read = 0;
};

TEST(PodWatch, FollowsThePodsOfTheNewestTemplate) {
  testing::FakeCluster cluster;
  cluster.put(testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"));
  const auto put = [&](std::string_view name, std::string_view hash, std::string_view created,
                       std::string_view reason) {
    Value pod = testing::yaml(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: shop, creationTimestamp: "
                    "'{}', labels: "
                    "{{app: api, pod-template-hash: {}}}}}, spec: {{containers: [{{name: main}}]}}}}",
                    name, created, hash));
    pod.set("status",
            testing::yaml(fmt::format("{{phase: Pending, containerStatuses: [{{name: main, image: i, state: "
                                      "{{waiting: {{reason: {}}}}}}}]}}",
                                      reason)));
    cluster.put(pod);
  };
  put("old", "a", "2026-01-01T00:00:00Z", "CrashLoopBackOff");
  put("new", "b", "2026-01-02T00:00:00Z", "ImagePullBackOff");
  const Value deployment = testing::yaml(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: {selector: "
      "{matchLabels: {app: api}}, template: {spec: {containers: [{name: main}]}}}}");
  const apimachinery::ObjectKey key{{"apps", "Deployment"}, "shop", "api"};
  Told told;
  PodWatch watch(cluster, told.sink(), Context(), Duration::zero());
  watch.follow(key, deployment);
  EXPECT_EQ(told.next(), "container main: ImagePullBackOff (Pod new)");
  cluster.set_status({{"", "Pod"}, "shop", "new"},
                     testing::yaml("{phase: Running, conditions: [{type: Ready, status: 'True'}]}"));
  EXPECT_EQ(told.next(), "");
  watch.forget(key);
}

TEST(PodWatch, WithoutPodsTellsWhatIsReportedAboutTheWorkload) {
  testing::FakeCluster cluster;
  cluster.put(testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"));
  const Value job = cluster.put(testing::yaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: once, namespace: shop}, spec: {selector: "
      "{matchLabels: {controller-uid: u}}, template: {spec: {containers: [{name: main}]}}}}"));
  cluster.put(testing::yaml(
      fmt::format("{{apiVersion: v1, kind: Event, metadata: {{name: e, namespace: shop}}, involvedObject: "
                  "{{uid: {}, name: "
                  "once}}, type: Warning, reason: FailedCreate, message: 'exceeded quota: few'}}",
                  job.string_at({"metadata", "uid"}))));
  const apimachinery::ObjectKey key{{"batch", "Job"}, "shop", "once"};
  Told told;
  PodWatch watch(cluster, told.sink(), Context(), Duration::zero());
  watch.follow(key, job);
  EXPECT_EQ(told.next(), "FailedCreate: exceeded quota: few");
  watch.forget(key);
}

TEST(PodWatch, AsksForAFewWorkloadsAtATime) {
  testing::FakeCluster cluster;
  cluster.put(testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"));
  {
    Told told;
    PodWatch watch(cluster, told.sink(), Context(), std::chrono::hours(1));
    for (int i = 0; i < 50; ++i)
      watch.follow(
          {{"apps", "Deployment"}, "shop", fmt::format("d{}", i)},
          testing::yaml(fmt::format("{{spec: {{selector: {{a: d{}}}, template: {{spec: {{containers: "
                                    "[]}}}}}}}}",
                                    i)));
  }
  EXPECT_EQ(cluster.count("list"), 0u) << "what becomes ready soon is not looked into";
}

}  // namespace
}  // namespace mist::apply
