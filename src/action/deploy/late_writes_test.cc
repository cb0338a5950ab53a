// A run is stopped with a request on its way, somebody else takes over, and then the request arrives.

#include "action/deploy/late_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "action/recover/recover.h"
#include "encoding/yaml.h"
#include "testing/api_refusal.h"
#include "testing/client_with_logs.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::Contains;
using testing::FakeCall;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kClaim =
    "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: "
    "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n";
constexpr std::string_view kHook =
    "---\n{apiVersion: v1, kind: Secret, metadata: {name: hooked, annotations: {helm.sh/hook: "
    "pre-install}}, stringData: {p: x}}\n";
// Of another selector: that can't be changed.
std::string web(std::string_view app) {
  return fmt::format(
      "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: "
      "{{selector: {{matchLabels: "
      "{{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: {{containers: [{{name: c, "
      "image: i}}]}}}}}}}}\n",
      app);
}

class LateWritesTest : public testing::ReleaseFixture {
 protected:
  const std::string kRest{testing::kTwoConfigMaps};

  Environment brief() {
    return {cluster,
            no_expiry,
            random,
            events,
            "tester",
            std::chrono::milliseconds(100),
            std::chrono::seconds(60)};
  }
  Intent with(Intent (*verb)(Render), std::string yaml, std::string engine = "") {
    return verb(rendering(std::move(yaml), {"test:1", "test", "1", "sha256:1", std::move(engine)}));
  }

  // `run` sends a DELETE of this, which doesn't arrive, and nothing more.
  template <typename Run>
  void stop_at_delete(std::string_view kind, const std::string& name, Run&& run) {
    std::atomic<bool> stopped{false};
    cluster.set_before([&, name](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "delete" && !call.dry_run && call.key.name == name) stopped = true;
      if (stopped) return error(ErrorKind::Retryable, "the process is stopped");
      // As the API server says it; the cluster in memory has no such rules.
      if (call.verb == "apply" && call.dry_run && call.key.group_kind.kind == "Deployment")
        return testing::api_refusal(
            ErrorKind::Invalid, "cannot apply",
            "Deployment.apps \"web\" is invalid: spec.selector: Invalid value: field is immutable");
      return std::nullopt;
    });
    const auto before = cluster.find(kind, "default", name);
    ASSERT_TRUE(before);
    EXPECT_FALSE(run());
    cluster.set_before({});
    ASSERT_TRUE(stopped) << "it sent no DELETE of " << name;
    const bool is_web = kind == "Deployment.apps";
    ref_ = {*cluster.resource_for({is_web ? "apps" : "", is_web ? "Deployment" : std::string(kind)}, "v1",
                                  Context()),
            "default", name};
    sent_ = {.uid = std::string(before->string_at({"metadata", "uid"})),
             .resource_version = std::string(before->string_at({"metadata", "resourceVersion"}))};
  }

  // And is refused; nothing else became of what it was for.
  void arrives_in_vain() {
    const auto late = cluster.remove(ref_, sent_, Context());
    ASSERT_FALSE(late.ok()) << "it was deleted";
    EXPECT_EQ(late.error().kind, ErrorKind::Conflict) << late.error().to_line();
    auto there = cluster.get(ref_, Context());
    ASSERT_TRUE(there.ok());
    const Value* const marks = there->at_path({"metadata", "annotations"});
    EXPECT_TRUE(marks == nullptr || marks->find("mistletoe.dev/touched") == nullptr);
    EXPECT_EQ(there->string_at({"metadata", "uid"}), sent_.uid);
  }

  bool deploys(const Intent& intent, const DeployOptions& options = {}) {
    return deploy(brief(), id, intent, options, Context()).ok();
  }
  bool uninstalls(const UninstallOptions& options) {
    auto plan = plan_uninstall(brief(), id, options, Context());
    return plan.ok() && uninstall(brief(), *plan, options, Context()).ok();
  }
  void undo() {
    const auto undone = recover(brief(), id, {.undo = true, .deploy = {}}, Context());
    ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  }
  std::vector<std::string> at_risk() {
    std::vector<std::string> names;
    for (const LateWrite& late : may_be_written_late(now())) names.push_back(late.item.key.name);
    return names;
  }

  kube::ObjectRef ref_;
  kube::DeleteOptions sent_;
};

TEST_F(LateWritesTest, OfAnUninstallSpareARetainedClaim) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  ASSERT_TRUE(upgrade_now(kRest).ok());
  stop_at_delete("PersistentVolumeClaim", "data",
                 [&] { return uninstalls({.rules = {.delete_pvcs = true}}); });
  undo();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAnUpgradeSpareARetainedClaim) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  ASSERT_TRUE(upgrade_now(kRest).ok());
  stop_at_delete("PersistentVolumeClaim", "data", [&] {
    return deploys(with(upgrade_intent, kRest), {.allowed = {.prune = {.delete_pvcs = true}}});
  });
  ASSERT_TRUE(deploys(with(upgrade_intent, kRest)));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  arrives_in_vain();
}

TEST_F(LateWritesTest, SpareWhatIsWantedAgain) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  stop_at_delete("ConfigMap", "two", [&] { return deploys(with(upgrade_intent, std::string(kClaim))); });
  EXPECT_THAT(at_risk(), UnorderedElementsAre("one", "two"));
  undo();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAnUninstallSpareAHookThatNobodyRunsAgain) {
  ASSERT_TRUE(deploys(with(install_intent, kRest + std::string(kHook), "helm")));
  stop_at_delete("Secret", "hooked", [&] { return uninstalls({}); });
  undo();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAHookThatWasToRunAgainSpareItWhereItIsKept) {
  const std::string hook =
      "---\n{apiVersion: v1, kind: Secret, metadata: {name: hooked, annotations: {helm.sh/hook: "
      "'pre-install,pre-upgrade'}}, stringData: {p: x}}\n";
  ASSERT_TRUE(deploys(with(install_intent, kRest + hook, "helm")));
  stop_at_delete("Secret", "hooked",
                 [&] { return deploys(with(upgrade_intent, std::string(kClaim) + hook, "helm")); });
  undo();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAReplacementSpareWhatIsKeptAfterAll) {
  ASSERT_TRUE(install_now(kRest + web("x")).ok());
  stop_at_delete("Deployment.apps", "web", [&] {
    return deploys(with(upgrade_intent, kRest + web("y")), {.allowed = {.replace = true}});
  });
  undo();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAReplacementSpareWhatIsNobodysAfterAll) {
  cluster.put(*encoding::parse_yaml(web("x")));
  stop_at_delete("Deployment.apps", "web", [&] {
    return deploys(with(install_intent, kRest + web("y")), {.allowed = {.adopt = true, .replace = true}});
  });
  undo();
  arrives_in_vain();
}

// Their record tells nothing of what the taker replaces.
TEST_F(LateWritesTest, OfAMoveSpareWhatDidNotMove) {
  ASSERT_TRUE(install_now(kRest + web("x")).ok());
  const release::ReleaseId ours = std::exchange(id, {"default", "taker"});
  stop_at_delete("Deployment.apps", "web", [&] {
    return deploys(with(install_intent, web("y")), {.allowed = {.replace = true, .take_over_from = ours}});
  });
  id = ours;
  const auto settled = recover(brief(), id, {}, Context());
  ASSERT_TRUE(settled.ok()) << settled.error().to_line();
  arrives_in_vain();
}

TEST_F(LateWritesTest, OfAMoveSpareWhatItsUndoingLeaves) {
  ASSERT_TRUE(install_now(kRest + web("x")).ok());
  const release::ReleaseId theirs = std::exchange(id, {"default", "taker"});
  stop_at_delete("Deployment.apps", "web", [&] {
    return deploys(with(install_intent, web("y")), {.allowed = {.replace = true, .take_over_from = theirs}});
  });
  undo();
  arrives_in_vain();
}

// The second run fails, and says so: that the first one may still delete something is true all the same.
TEST_F(LateWritesTest, AreOutdatedByWhoeverKeepsTheObjectHoweverManyFailedBefore) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  stop_at_delete("ConfigMap", "two", [&] { return deploys(with(upgrade_intent, std::string(kClaim))); });
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "three")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  EXPECT_FALSE(
      deploys(with(upgrade_intent, std::string(kClaim) +
                                       "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}\n")));
  cluster.set_before({});
  undo();
  arrives_in_vain();
}

// Of many objects, one would always be hit.
TEST_F(LateWritesTest, AreOutdatedOnAServerThatBreaksMostConnections) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  stop_at_delete("ConfigMap", "two", [&] { return deploys(with(upgrade_intent, std::string(kClaim))); });
  std::mutex mutex;
  std::map<std::string, int> patches;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    const std::lock_guard lock(mutex);
    if (call.verb == "patch" && call.key.group_kind.kind == "ConfigMap" && ++patches[call.key.name] % 4 != 0)
      return error(ErrorKind::Retryable, "the connection broke");
    return std::nullopt;
  });
  undo();
  EXPECT_THAT(patches, Contains(Pair("two", 8)));
  cluster.set_before({});
  arrives_in_vain();
}

// A client that is stopped when it applies the object of this name: the request is on its way.
class StoppedClient final : public testing::ClientWithLogs {
 public:
  StoppedClient(testing::FakeCluster& cluster, std::string name)
      : ClientWithLogs(cluster), name_(std::move(name)) {
    cluster.set_before([this](const FakeCall&) -> std::optional<Error> {
      if (!stopped_) return std::nullopt;
      return error(ErrorKind::Retryable, "the process is stopped");
    });
  }
  Result<Value> apply(const kube::ObjectRef& ref, const Value& object, const kube::ApplyOptions& options,
                      const Context& context) override {
    const bool mine = ref.name == name_ && options.dry_run == kube::DryRun::No;
    if (mine && !stopped_.exchange(true)) {
      ref_ = ref;
      object_ = object;
      options_ = options;
    }
    return ClientWithLogs::apply(ref, object, options, context);
  }
  bool stopped() const { return stopped_; }
  Result<Value> arrive() { return ClientWithLogs::apply(ref_, object_, options_, Context()); }

 private:
  const std::string name_;
  std::atomic<bool> stopped_{false};
  kube::ObjectRef ref_;
  Value object_;
  kube::ApplyOptions options_;
};

class LateApplyTest : public LateWritesTest {
 protected:
  static std::string maps(std::string_view disputed) {
    return fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: stays}}}}\n---\n{{apiVersion: v1, kind: "
        "ConfigMap, metadata: {{name: disputed}}, data: {{key: '{}'}}}}\n",
        disputed);
  }
  // An upgrade from 1 to 2, whose apply of "disputed" doesn't arrive yet.
  void stop_upgrade() {
    stop_upgrade(maps("2"), "disputed");
    EXPECT_THAT(at_risk(), UnorderedElementsAre("disputed"));
  }
  void stop_upgrade(const std::string& to, const std::string& name) {
    ASSERT_TRUE(deploys(with(upgrade_or_install(), maps("1"))));
    held_ = std::make_unique<StoppedClient>(cluster, name);
    Environment brief_one = brief();
    const Environment stopped{*held_,           brief_one.clock,     brief_one.random,   brief_one.events,
                              brief_one.holder, brief_one.lock_term, brief_one.lock_wait};
    EXPECT_FALSE(deploy(stopped, id, with(upgrade_intent, to), {}, Context()).ok());
    cluster.set_before({});
    ASSERT_TRUE(held_->stopped());
  }
  Intent (*upgrade_or_install())(Render) { return now().anchor ? upgrade_intent : install_intent; }
  void arrives_without_effect() {
    const auto late = held_->arrive();
    ASSERT_FALSE(late.ok()) << "it was changed";
    EXPECT_EQ(late.error().kind, ErrorKind::Conflict) << late.error().to_line();
  }
  std::string disputed() {
    const auto there = cluster.find("ConfigMap", "default", "disputed");
    return there ? std::string(there->string_at({"data", "key"})) : "absent";
  }

  std::unique_ptr<StoppedClient> held_;
};

TEST_F(LateApplyTest, DoesNotChangeWhatItsUndoingLeft) {
  stop_upgrade();
  undo();
  arrives_without_effect();
  EXPECT_EQ(disputed(), "1");
  const auto there = cluster.find("ConfigMap", "default", "disputed");
  const Value* const marks = there->at_path({"metadata", "annotations"});
  EXPECT_TRUE(marks == nullptr || marks->find("mistletoe.dev/touched") == nullptr);
}

TEST_F(LateApplyTest, DoesNotChangeWhatItsSuccessorWrote) {
  stop_upgrade();
  ASSERT_TRUE(deploys(with(upgrade_intent, maps("3"))));
  arrives_without_effect();
  EXPECT_EQ(disputed(), "3");
}

TEST_F(LateApplyTest, DoesNotChangeWhatAnUpgradeFoundAsWanted) {
  stop_upgrade();
  ASSERT_TRUE(deploys(with(upgrade_intent, maps("1"))));
  arrives_without_effect();
  EXPECT_EQ(disputed(), "1");
}

// Before any of its requests.
TEST_F(LateApplyTest, IsUndoneWheneverItArrives) {
  for (std::size_t point = 1; point < 80; ++point) {
    stop_upgrade();
    const std::size_t begin = cluster.calls().size();
    std::atomic<bool> arrived{false};
    cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number < begin + point || arrived.exchange(true)) return std::nullopt;
      (void)held_->arrive();
      return std::nullopt;
    });
    undo();
    cluster.set_before({});
    EXPECT_EQ(disputed(), "1") << point;
    if (!arrived) {
      EXPECT_GT(point, 10u);
      return;
    }
  }
  FAIL() << "it always arrived";
}

// It arrives after its successor had looked, and a finalizer is put on it at once.
TEST_F(LateApplyTest, IsTheReleasesUntilItIsGoneWhereNobodyWantsIt) {
  stop_upgrade(maps("1") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}\n", "extra");
  std::atomic<bool> arrived{false};
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "disputed" || arrived.exchange(true))
      return std::nullopt;
    (void)held_->arrive();
    Value extra = *cluster.find("ConfigMap", "default", "extra");
    extra["metadata"].set("finalizers", Value::array({"example.com/hold"}));
    cluster.put(std::move(extra));
    return std::nullopt;
  });
  ASSERT_TRUE(deploys(with(upgrade_intent, maps("3"))));
  cluster.set_before({});
  ASSERT_TRUE(arrived);
  const auto owned = now().owned();
  const auto extra = std::ranges::find_if(owned, [](const auto& item) { return item.key.name == "extra"; });
  ASSERT_NE(extra, owned.end());
  EXPECT_TRUE(extra->retained);
  EXPECT_EQ(extra->uid, cluster.find(extra->key)->string_at({"metadata", "uid"}));
  cluster.drop(extra->key);
  ASSERT_TRUE(deploys(with(upgrade_intent, maps("4"))));
  EXPECT_EQ(now().owned().size(), 2u) << "it is forgotten once it is gone";
}

TEST_F(LateWritesTest, OfARunThatEndedThereAreNone) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "three")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  ASSERT_FALSE(upgrade_now("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}\n").ok());
  EXPECT_THAT(at_risk(), IsEmpty());
}

TEST_F(LateWritesTest, OfAClaimThereAreNoneWhereItsFlagWasNotGiven) {
  ASSERT_TRUE(install_now(kRest + std::string(kClaim)).ok());
  ASSERT_TRUE(upgrade_now(kRest).ok());
  stop_at_delete("ConfigMap", "two", [&] { return uninstalls({}); });
  EXPECT_THAT(at_risk(), UnorderedElementsAre("one", "two"));
}

}  // namespace
}  // namespace mist::action
