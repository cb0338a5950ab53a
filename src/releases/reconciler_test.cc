#include "releases/reconciler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "apimachinery/conditions.h"
#include "kube/client_pool.h"
#include "releases/pause.h"
#include "testing/api_refusal.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kClassElsewhere = R"(
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: first}
value: 1
)";

class ReconcilerTest : public testing::ReleaseFixture {
 protected:
  void SetUp() override {
    cluster.register_kind(
        {{std::string(kGroup), std::string(kVersion), std::string(kKind)}, "releases", true, {}, true});
    install_as("default/web", release_uid());
  }

  /// Of the Release default/web.
  std::string release_uid() { return std::string(deleted("").string_at({"metadata", "uid"})); }
  /// The release default/web, on behalf of that Release; empty: of a person.
  void install_as(const std::string& release, const std::string& uid, const std::string& more = "") {
    action::Environment here = environment();
    here.managing_release = release;
    here.managing_release_uid = uid;
    const std::string yaml = std::string(testing::kTwoConfigMaps) + more;
    const auto installed = deploy(here, id, action::install_intent(rendering(yaml)), {}, Context());
    ASSERT_TRUE(installed.ok()) << installed.error().to_line();
  }

  /// The Release default/web.
  Value wanted(const std::string& spec) {
    return cluster.put(
        testing::yaml("apiVersion: mistletoe.dev/v1alpha1\nkind: Release\n"
                      "metadata: {name: web, namespace: default, finalizers: [mistletoe.dev/release]}\n"
                      "spec:\n" +
                      (spec.contains("package:") ? "" : std::string("  package: test:1\n")) + spec));
  }
  /// The same, which is being deleted.
  Value deleted(const std::string& spec) {
    Value object = wanted(spec);
    object["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
    return object;
  }
  /// Ready is False for that reason.
  static Value status_with(std::string_view reason) {
    return testing::yaml(fmt::format("conditions: [{{type: Ready, status: 'False', reason: {}}}]", reason));
  }
  Outcome reconcile(const Value& object) {
    const Reconciler reconciler(
        {.files = files_,
         .processes = processes_,
         .clock = clock,
         .random = random,
         .events = told,
         .paths = {},
         .oci = {},
         .transport = {},
         .engines = {},
         .holder = "tester",
         .client = cluster,
         .client_of = [&](const std::string&) -> Result<std::shared_ptr<kube::Client>> {
           return kube::borrowed(cluster);
         },
         .ns = "default",
         .default_account = ""});
    auto outcome = reconciler.reconcile(
        object,
        {[](const Key&) { return std::optional<Value>(); }, [this](const Value&) { return elder; },
         [](const Key&, const Key&) {}},
        [](const Value&) {}, Context());
    EXPECT_TRUE(outcome.ok()) << outcome.error().to_line();
    return outcome.ok() ? *outcome : Outcome();
  }
  /// A look, whose status is written.
  void see(Value& object) {
    if (auto status = reconcile(object).status) object.set("status", *std::move(status));
  }
  /// From now on no Secret can be read; or not by this verb.
  void refuse(const std::string& words, std::string_view verb = {}) {
    cluster.set_before([=](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.key.group_kind.kind != "Secret" || (!verb.empty() && call.verb != verb)) return std::nullopt;
      return testing::api_refusal(ErrorKind::Forbidden, "it is forbidden", words);
    });
  }
  /// From now on the server has no answer to that.
  void fail(std::string_view verb, std::string_view kind) {
    cluster.set_before([=](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != verb || call.key.group_kind.kind != kind) return std::nullopt;
      return error(ErrorKind::Retryable, "cannot {} {}", verb, kind).with_because("etcd has no leader");
    });
  }
  void begin_to_delete_namespace() {
    cluster.set_hold_namespaces(true);
    const kube::ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
    ASSERT_TRUE(cluster.remove({namespaces, "", "default"}, {}, Context()).ok());
  }
  /// A namespace that is deleted takes it along last.
  void hold(const std::string& secret_name) {
    Value secret = *cluster.find("Secret", "default", secret_name);
    secret["metadata"].set("finalizers", Value::array({"example.com/hold"}));
    cluster.put(secret);
  }
  void install_with_class() {
    ASSERT_TRUE(uninstall_now().ok());
    install_as("default/web", release_uid(), std::string(kClassElsewhere));
  }
  bool has_class() const { return cluster.has("PriorityClass.scheduling.k8s.io", "", "first"); }
  bool has_event(std::string_view words) const {
    return std::ranges::any_of(cluster.objects(), [&](const apimachinery::ObjectKey& key) {
      return key.group_kind.kind == "Event" && cluster.find(key)->string_at("message").contains(words);
    });
  }
  bool has_finalizer() const {
    const auto object = cluster.find("Release.mistletoe.dev", "default", "web");
    const Value* const all = object ? object->at_path({"metadata", "finalizers"}) : nullptr;
    return all != nullptr && all->size() > 0;
  }

  testing::RecordedEvents told;
  std::optional<Key> elder;

 private:
  HostFileSystem files_;
  HostProcessRunner processes_;
};

TEST_F(ReconcilerTest, UninstallsWhateverElseIsWrongWithTheSpec) {
  const Outcome done =
      reconcile(deleted("  interval: 1s\n  timeout: soon\n  retries: many\n  valuesFrom: 3\n  prune: [x]\n"));
  EXPECT_FALSE(done.failed);
  EXPECT_FALSE(done.again);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
}

TEST_F(ReconcilerTest, LeavesTheReleaseWhereAnythingElseIsWrong) {
  EXPECT_FALSE(reconcile(deleted("  interval: 1s\n  onDelete: Keep\n  serviceAccountName: 'a b'\n")).failed);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
}

// Somebody made it by hand, and nothing could be deployed over it, as for a package that there isn't.
TEST_F(ReconcilerTest, LeavesAReleaseThatItNeitherDeployedNorTookOver) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("", "");
  EXPECT_FALSE(reconcile(deleted("")).failed);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
  EXPECT_TRUE(has_event("this Release neither deployed it nor took it over"));
  // Another Release deployed it meanwhile.
  ASSERT_TRUE(uninstall_now().ok());
  install_as("default/other", "another");
  EXPECT_FALSE(reconcile(deleted("")).failed);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(ReconcilerTest, LeavesWhatAnEarlierReleaseOfItsNameLeft) {
  for (const std::string spec : {"  onDelete: Keep\n", "  suspend: true\n"}) {
    EXPECT_FALSE(reconcile(deleted(spec)).failed);
    cluster.drop({{std::string(kGroup), std::string(kKind)}, "default", "web"});
    EXPECT_FALSE(reconcile(deleted("")).failed);
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "one")) << spec;
    EXPECT_FALSE(has_finalizer());
  }
  EXPECT_TRUE(has_event("this Release neither deployed it nor took it over"));
}

TEST_F(ReconcilerTest, UninstallsWhatAnOlderOperatorRecordedWithoutAUid) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("default/web", "");
  EXPECT_FALSE(reconcile(deleted("")).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
  EXPECT_FALSE(has_event("the release stays"));
}

TEST_F(ReconcilerTest, UninstallsWhatItsStatusSaysThatItTookOver) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("", "");
  Value object = deleted("");
  object["status"].set("appliedGeneration", 1);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

// Without appliedGeneration, so that the next look deploys it again.
TEST_F(ReconcilerTest, UninstallsWhatItFailedToUpgrade) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("", "");
  Value object = deleted("");
  object["status"].set("attempt", Value::object({{"inputs", "sha256:1"}, {"failures", 1}}));
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

// As after `mistctl recover --from-labels`: the record that it makes names no Release.
TEST_F(ReconcilerTest, UninstallsWhatItsStatusRemembersThoughTheRecordDoesNot) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("", "");
  Value object = deleted("");
  object["status"].set("owned", true);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

// A release that is made by hand under its name next is not its own, whatever kept it from deploying
// meanwhile.
TEST_F(ReconcilerTest, NoticesThatItsReleaseIsGoneThoughItsPackageOrValuesCannotBeHad) {
  for (const std::string spec :
       {"  valuesFrom: [{kind: ConfigMap, name: missing}]\n", "  package: oci://registry.invalid/a b:1\n"}) {
    Value object = wanted(spec);
    object["status"].set("appliedGeneration", 1);
    see(object);
    EXPECT_TRUE(is_owned(object)) << "the release is there: " << spec;
    ASSERT_TRUE(uninstall_now().ok());
    fail("list", "Secret");
    see(object);
    EXPECT_TRUE(is_owned(object)) << "nobody knows whether it is there: " << spec;
    cluster.set_before({});
    see(object);
    EXPECT_FALSE(is_owned(object)) << spec;
    EXPECT_NE(apimachinery::condition_of(object, "Ready")->string_at("message"), "");

    install_as("", "");
    object["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
    EXPECT_FALSE(reconcile(object).failed);
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "one")) << spec;
  }
}

TEST_F(ReconcilerTest, NoticesThatItsReleaseIsGoneWhileItWaitsForAnother) {
  Value object = wanted("  dependsOn: [{name: missing}]\n");
  object["status"].set("appliedGeneration", 1);
  see(object);
  EXPECT_TRUE(is_owned(object)) << "the release is there";
  EXPECT_EQ(reconcile(object).again, Duration(10min)) << "nothing wakes it when somebody uninstalls that";
  ASSERT_TRUE(uninstall_now().ok());
  see(object);
  EXPECT_FALSE(is_owned(object));
  EXPECT_EQ(apimachinery::condition_of(object, "Ready")->string_at("reason"), reason::kDependency);
  EXPECT_FALSE(reconcile(object).again);
  install_as("", "");
  object["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(ReconcilerTest, NoticesThatItsReleaseIsGoneWhereItHasGivenUp) {
  for (const auto& [spec, reason] : std::initializer_list<std::pair<std::string, std::string_view>>{
           {"  retries: many\n", reason::kInvalidSpec}, {"", reason::kDuplicate}}) {
    elder = std::nullopt;
    if (reason == reason::kDuplicate) elder = Key{"default", "elder"};
    Value object = wanted(spec);
    object["status"].set("appliedGeneration", 1);
    see(object);
    EXPECT_TRUE(is_owned(object)) << "the release is there: " << reason;
    EXPECT_EQ(reconcile(object).again, Duration(10min)) << reason;
    ASSERT_TRUE(uninstall_now().ok());
    see(object);
    EXPECT_FALSE(is_owned(object)) << reason;
    EXPECT_EQ(apimachinery::condition_of(object, "Ready")->string_at("reason"), reason);
    EXPECT_FALSE(reconcile(object).again) << reason;
    install_as("", "");
    elder = std::nullopt;
    object["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
    EXPECT_FALSE(reconcile(object).failed);
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "one")) << reason;
  }
}

// It was uninstalled by hand, and another Release made it again, while this one could look at nothing.
TEST_F(ReconcilerTest, LeavesWhatTheRecordSaysIsAnothersWhateverItsStatusRemembers) {
  ASSERT_TRUE(uninstall_now().ok());
  install_as("default/other", "another");
  Value object = deleted("");
  object["status"].set("appliedGeneration", 1);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
  EXPECT_TRUE(has_event("this Release neither deployed it nor took it over"));
}

TEST_F(ReconcilerTest, StaysWhereADamagedRecordDoesNotTellWhoseItIs) {
  const Value object = deleted("");
  Value anchor = *cluster.find("Secret", "default", "mistletoe.web");
  anchor["metadata"]["annotations"].erase("mistletoe.dev/head");
  cluster.put(anchor);
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(told.has("doesn't tell whether this Release deployed it"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(has_finalizer());
  Value applied = object;
  applied["status"].set("appliedGeneration", 1);
  EXPECT_FALSE(reconcile(applied).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(ReconcilerTest, LetsGoInANamespaceThatGoesWithoutTheRightsToUninstall) {
  const Value object = deleted("");
  refuse("secrets \"mistletoe.web\" is forbidden: User \"web\" cannot get resource \"secrets\"");
  EXPECT_TRUE(reconcile(object).failed) << "its namespace stays";
  EXPECT_TRUE(has_finalizer());
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
}

// It has an object elsewhere.
TEST_F(ReconcilerTest, StaysInANamespaceThatGoesWhereAnythingElseIsRefused) {
  install_with_class();
  hold("mistletoe.web");
  hold("mistletoe.web.v0");
  const Value object = deleted("");
  begin_to_delete_namespace();
  refuse("admission webhook \"w\" denied the request: not now");
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(has_finalizer());
  cluster.set_before(nullptr);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_class());
  EXPECT_FALSE(has_finalizer());
  EXPECT_FALSE(told.has("may be left"));
}

TEST_F(ReconcilerTest, SaysWhatMayBeLeftWhereItsRecordWentWithItsNamespace) {
  install_with_class();
  Value object = deleted("");
  object["status"].set("revision", 0);
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
  EXPECT_TRUE(has_class());
  EXPECT_TRUE(told.has("objects outside of that may be left"));
  EXPECT_TRUE(told.has("mistctl recover web -n default --from-labels"));
  EXPECT_FALSE(told.has("uninstalled"));
}

// A first install that fails leaves no revision in the status.
class TriedReleaseTest : public ReconcilerTest, public ::testing::WithParamInterface<std::string_view> {};

TEST_P(TriedReleaseTest, SaysWhatMayBeLeftWhereItsRecordWentWithItsNamespace) {
  install_with_class();
  Value object = deleted("");
  object.set("status", status_with(GetParam()));
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
  EXPECT_TRUE(told.has("objects outside of that may be left"));
  EXPECT_FALSE(told.has("uninstalled"));
}

INSTANTIATE_TEST_SUITE_P(Reasons, TriedReleaseTest,
                         ::testing::Values(reason::kProgressing, reason::kFailed, reason::kRolledBack,
                                           reason::kUninstallFailed));

TEST_F(ReconcilerTest, SaysNothingIsLeftOfWhatWasNeverTried) {
  ASSERT_TRUE(uninstall_now().ok());
  Value object = deleted("");
  object.set("status", status_with(reason::kPackage));
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(told.has("may be left"));
}

TEST_F(ReconcilerTest, StaysWithoutItsAnchorAsLongAsItsNamespaceDoes) {
  install_with_class();
  const Value object = deleted("");
  hold("mistletoe.web.v0");
  cluster.drop({{"", "Secret"}, "default", "mistletoe.web"});
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(has_finalizer());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(told.has("has lost its Secret mistletoe.web"));
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
  EXPECT_TRUE(told.has("objects outside of that may be left"));
}

// It may be gone by itself at the next look, and then nothing tells any more what there was.
TEST_F(ReconcilerTest, LooksAgainWhereNobodySaysWhatIsLeftOfItsRecord) {
  install_with_class();
  Value object = deleted("");
  object["status"].set("revision", 0);
  hold("mistletoe.web.v0");
  cluster.drop({{"", "Secret"}, "default", "mistletoe.web"});
  fail("list", "Secret");
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(told.has("etcd has no leader"));
  begin_to_delete_namespace();
  EXPECT_TRUE(reconcile(object).failed);
  fail("get", "Namespace");
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(told.has("while looking whether namespace default stays"));
  EXPECT_TRUE(has_finalizer());
  cluster.set_before(nullptr);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_TRUE(told.has("objects outside of that may be left"));
}

// With `get` alone an account installs, but it can't uninstall.
TEST_F(ReconcilerTest, StaysWithoutTheRightToListRevisionsIfSomethingWasDeployed) {
  ASSERT_TRUE(uninstall_now().ok());
  Value object = deleted("");
  object["status"].set("revision", 0);
  refuse("secrets is forbidden: User \"web\" cannot list resource \"secrets\"", "list");
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_TRUE(has_finalizer());
  object = deleted("");
  object["status"].set("owned", true);
  EXPECT_TRUE(reconcile(object).failed);
  EXPECT_FALSE(reconcile(deleted("")).failed) << "nothing was ever tried";
  EXPECT_FALSE(has_finalizer());
}

// A first install that is refused, and a deletion that failed before the rights were there.
TEST_F(ReconcilerTest, GoesWithoutTheRightToListRevisionsIfNothingWasDeployed) {
  ASSERT_TRUE(uninstall_now().ok());
  refuse("secrets is forbidden: User \"web\" cannot list resource \"secrets\"", "list");
  for (const std::string_view reason : {reason::kFailed, reason::kUninstallFailed}) {
    Value object = deleted("");
    object.set("status", status_with(reason));
    EXPECT_FALSE(reconcile(object).failed) << reason;
    EXPECT_FALSE(has_finalizer());
    EXPECT_FALSE(told.has("may be left"));
  }
}

TEST_F(ReconcilerTest, UninstallsThoughTheOperatorMayNotReadNamespaces) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Namespace") return std::nullopt;
    return testing::api_refusal(ErrorKind::Forbidden, "it is forbidden",
                                "namespaces \"default\" is forbidden: User \"operator\" cannot get resource "
                                "\"namespaces\"");
  });
  EXPECT_FALSE(reconcile(deleted("")).failed);
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_FALSE(has_finalizer());
}

// Somebody has uninstalled it by hand, or it never was deployed.
TEST_F(ReconcilerTest, GoesWithoutAWarningWhereThereIsNothing) {
  ASSERT_TRUE(uninstall_now().ok());
  Value object = deleted("");
  object["status"].set("revision", 0);
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
  object = deleted("");
  begin_to_delete_namespace();
  EXPECT_FALSE(reconcile(object).failed);
  EXPECT_FALSE(has_finalizer());
  EXPECT_FALSE(told.has("may be left"));
}

TEST_F(ReconcilerTest, SaysWhichFieldDeletionNeedsAndWaitsLonger) {
  for (const auto& [spec, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"  serviceAccountName: 'a b'\n", "spec.serviceAccountName \"a b\" is not the name"},
           {"  releaseName: 7\n", "spec.releaseName is not a text"},
           {"  suspend: perhaps\n", "spec.suspend is neither true nor false"},
           {"  onDelete: Perhaps\n", "spec.onDelete \"Perhaps\" is none of Uninstall, Keep"}}) {
    const Outcome done = reconcile(deleted(spec));
    ASSERT_TRUE(done.status) << spec;
    const Value object = Value::object({{"status", *done.status}});
    const Value* const ready = apimachinery::condition_of(object, "Ready");
    EXPECT_EQ(ready->string_at("reason"), reason::kUninstallFailed);
    EXPECT_NE(ready->string_at("message").find(words), std::string::npos) << ready->string_at("message");
    EXPECT_TRUE(done.failed);
    EXPECT_EQ(pause_after(done, 40s), 40s);
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
    EXPECT_TRUE(has_finalizer());
  }
}

// While it is uninstalled the status says so; what comes of it was there before.
TEST_F(ReconcilerTest, AFailureThatRepeatsItselfIsTheStatusAgain) {
  Value object = deleted("");
  fail("delete", "ConfigMap");
  see(object);
  const Value failed = *apimachinery::condition_of(object, "Ready");
  EXPECT_EQ(failed.string_at("reason"), reason::kUninstallFailed);
  const Outcome again = reconcile(object);
  ASSERT_TRUE(again.status) << "it would stay Progressing";
  EXPECT_EQ(*apimachinery::condition_of(Value::object({{"status", *again.status}}), "Ready"), failed);
}

TEST(PauseAfter, IsNeverNone) {
  EXPECT_EQ(pause_after({.failed = true, .again = Duration()}, 200ms), Duration(200ms));
  EXPECT_EQ(pause_after({.failed = true, .again = 10min}, 200ms), Duration(200ms));
  EXPECT_EQ(pause_after({.failed = true, .again = 10s}, 5min), Duration(10s));
  EXPECT_EQ(pause_after({.failed = true, .wrote = true}, 200ms), kLeastPause);
  EXPECT_EQ(pause_after({.again = Duration()}, {}), std::nullopt);
  EXPECT_EQ(pause_after({.again = 10min}, {}), Duration(10min));
  EXPECT_EQ(pause_after({}, {}), std::nullopt);
}

}  // namespace
}  // namespace mist::releases
