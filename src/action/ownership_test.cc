// Objects that belong to nobody, to another release or to another field manager.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/query/drift.h"
#include "action/query/status.h"
#include "action/recover/recover.h"
#include "apply/reserved_metadata.h"
#include "encoding/yaml.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

class OwnershipTest : public testing::ReleaseFixture {
 protected:
  std::string label(std::string_view kind, std::string_view ns, std::string_view name) {
    const auto object = cluster.find(kind, ns, name);
    return object ? std::string(object->string_at({"metadata", "labels", apply::kVersionLabel})) : "absent";
  }
};

TEST_F(OwnershipTest, ObjectsOfOthersAreRefusedBeforeAnyWrite) {
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})}}));
  cluster.clear_calls();
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(report.error().message, HasSubstr("ConfigMap default/two exists already"));
  EXPECT_EQ(report.error().where->line, 7u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(OwnershipTest, AllConflictsAreNamedAtOnce) {
  for (const std::string_view name : {"one", "two"})
    cluster.put(encoding::Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", encoding::Value::object({{"name", name}, {"namespace", "default"}})}}));
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("also: ConfigMap default/two exists already"));
  EXPECT_THAT(report.error().to_line(), HasSubstr("(all.yaml:7)"));
  EXPECT_THAT(report.error().hint, HasSubstr("--adopt"));
}

TEST_F(OwnershipTest, AdoptTakesWhatBelongsToNobodyAndSaysWhatDiffers) {
  encoding::Value data = encoding::Value::object({{"b", "theirs"}});
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})},
       {"data", data}}));
  const auto report = install_now(std::string(testing::kTwoConfigMaps),
                                  {.allowed = {.prune = {}, .adopt = true, .force_conflicts = true}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  const apply::PlannedAction& adopted = report->plan.writes[1];
  EXPECT_EQ(adopted.kind, apply::ActionKind::Adopt);
  EXPECT_TRUE(std::ranges::any_of(adopted.differences, [](const apply::FieldDifference& d) {
    return d.path == ".data.b" && d.before == encoding::Value("theirs");
  }));
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v0");
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(std::ranges::any_of(state->deployed->inventory, [](const apply::InventoryItem& item) {
    return item.key.name == "two" && item.adopted;
  }));
}

TEST_F(OwnershipTest, FieldsOfOthersAreAConflictThatNamesManagerAndField) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["data"].set("b", "edited");
  cluster.put(two, "kubectl-edit");
  cluster.clear_calls();
  const auto refused = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/two has fields that other managers own"));
  EXPECT_THAT(refused.error().message, HasSubstr("kubectl-edit"));
  EXPECT_THAT(refused.error().message, HasSubstr(".data.b"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-conflicts"));
  EXPECT_EQ(refused.error().where->line, 10u) << "of the field";
  EXPECT_EQ(cluster.writes(), 0u);
  ASSERT_TRUE(upgrade_now(std::string(testing::kTwoConfigMaps), {.allowed = {.force_conflicts = true}}).ok());
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "b"}), "2");
}

TEST_F(OwnershipTest, APermissionToTakeFieldsIsForOneRun) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps), {.allowed = {.force_conflicts = true}}).ok());
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}").ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["data"].set("b", "edited");
  cluster.put(two, "kubectl-edit");
  const auto refused = rollback_now(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("kubectl-edit"));
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "b"}), "edited");
  ASSERT_TRUE(rollback_now(0, {.allowed = {.force_conflicts = true}}).ok());
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "b"}), "2");
}

TEST_F(OwnershipTest, AdoptDoesNotTakeFromOtherReleases) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  DeployOptions options;
  options.allowed.adopt = true;
  const auto other =
      deploy(environment(), {"default", "other"},
             install_intent(rendering(std::string(testing::kTwoConfigMaps))), options, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().hint, HasSubstr("--take-over-from default/web"));
}

// The mark on the live object decides whose it is, whatever a record says.
TEST_F(OwnershipTest, WhatAnotherReleaseMarkedIsNeitherPrunedNorUninstalled) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["metadata"]["labels"].set(apply::kPartOfLabel, apply::apply_set_id({"default", "other"}));
  cluster.put(two);
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
}

// A record names what its writer likes; only a mark, which takes the right to write the object, lets it go.
TEST_F(OwnershipTest, WhatARecordClaimsByUidAloneIsNeverDeleted) {
  cluster.put(encoding::Value::object({{"apiVersion", "v1"},
                                       {"kind", "Namespace"},
                                       {"metadata", encoding::Value::object({{"name", "prod"}})}}));
  const auto foreign = cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Secret"},
       {"metadata", encoding::Value::object({{"name", "theirs"}, {"namespace", "prod"}})}}));
  const auto claim = [&] {
    auto state = now();
    state.deployed->inventory.push_back({.key = {{"", "Secret"}, "prod", "theirs"},
                                         .version = "v1",
                                         .uid = std::string(foreign.string_at({"metadata", "uid"}))});
    ASSERT_TRUE(release::Store(cluster).finish_revision(*state.anchor, *state.deployed, Context()).ok());
  };
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  claim();
  const auto upgraded = upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_TRUE(cluster.has("Secret", "prod", "theirs")) << "pruned";
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "two"));
  ASSERT_TRUE(rollback_now(0).ok());
  EXPECT_TRUE(cluster.has("Secret", "prod", "theirs")) << "rolled back";
  claim();
  const auto uninstalled = uninstall_now();
  ASSERT_TRUE(uninstalled.ok());
  EXPECT_TRUE(cluster.has("Secret", "prod", "theirs")) << "uninstalled";
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_EQ(uninstalled->retained, 1u);
}

TEST_F(OwnershipTest, AnObjectThatLosesItsLabelBeforeItsDeletionStays) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto unmark = [&] {
    auto two = *cluster.find("ConfigMap", "default", "two");
    two["metadata"]["labels"].erase(apply::kPartOfLabel);
    cluster.put(two);
  };
  bool once = false;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete" && call.key.name == "two" && !std::exchange(once, true)) unmark();
    return std::nullopt;
  });
  const auto uninstalled = uninstall_now();
  ASSERT_TRUE(uninstalled.ok()) << uninstalled.error().to_line();
  EXPECT_TRUE(once);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  EXPECT_EQ(uninstalled->retained, 1u);
}

TEST_F(OwnershipTest, AnObjectThatLostItsLabelIsNotReplacedButWrittenAgain) {
  const auto job = [](std::string_view image) {
    return fmt::format(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{template: {{spec: "
        "{{containers: [{{name: c, image: {}}}]}}}}}}}}",
        image);
  };
  ASSERT_TRUE(install_now(job("a")).ok());
  auto live = *cluster.find("Job.batch", "default", "j");
  live["metadata"]["labels"].erase(apply::kPartOfLabel);
  cluster.put(live);
  const std::string uid(live.string_at({"metadata", "uid"}));
  ASSERT_TRUE(upgrade_now(job("a"), {.allowed = {.replace = true}}).ok());
  EXPECT_EQ(cluster.find("Job.batch", "default", "j")->string_at({"metadata", "uid"}), uid);
  EXPECT_FALSE(cluster.find("Job.batch", "default", "j")
                   ->string_at({"metadata", "labels", apply::kPartOfLabel})
                   .empty());
}

// A restored backup, `kubectl replace --force`: the release's mark with another uid.
TEST_F(OwnershipTest, WhatWasMadeAnewFromACopyStaysTheReleases) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto make_anew = [&](std::string_view name) {
    auto object = *cluster.find("ConfigMap", "default", name);
    const std::string uid(object.string_at({"metadata", "uid"}));
    object["metadata"].erase("uid");
    object["metadata"].erase("managedFields");
    cluster.drop({{"", "ConfigMap"}, "default", std::string(name)});
    EXPECT_NE(cluster.put(object, "restore").string_at({"metadata", "uid"}), uid);
  };
  make_anew("one");
  make_anew("two");
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->count(ObjectHealth::Ready), 2u);
  const auto upgraded = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_EQ(now().deployed->number, 1) << "its uids are recorded";
  EXPECT_EQ(now().deployed->inventory[0].uid,
            cluster.find("ConfigMap", "default", "one")->string_at({"metadata", "uid"}));
  EXPECT_TRUE(drift(environment(), id, Context())->found.empty());

  make_anew("two");
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "two")) << "pruned";
  make_anew("one");
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.objects().empty());
}

// A patch of metadata.managedFields to [{}].
TEST_F(OwnershipTest, WhatWasOursInAnObjectWithoutManagersIsOursAgainAtOnce) {
  const auto map = [](std::string_view data) {
    return fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: one}}, data: {}}}", data);
  };
  ASSERT_TRUE(install_now(map("{a: '1', b: '1'}")).ok());
  const kube::ObjectRef ref{*cluster.resource_for({"", "ConfigMap"}, "v1", Context()), "default", "one"};
  const encoding::Value nobody = encoding::Value::array({encoding::Value::object()});
  const auto forget = [&] {
    const encoding::Value patch =
        encoding::Value::object({{"metadata", encoding::Value::object({{"managedFields", nobody}})}});
    ASSERT_TRUE(cluster.merge_patch(ref, patch, Context()).ok());
    ASSERT_EQ(cluster.find("ConfigMap", "default", "one")->at_path({"metadata", "managedFields"}), nullptr);
  };
  const encoding::Value foreign =
      encoding::Value::object({{"data", encoding::Value::object({{"foreign", "kept"}})}});
  ASSERT_TRUE(cluster.merge_patch(ref, foreign, Context()).ok());
  forget();
  const auto upgraded = upgrade_now(map("{a: '1'}"));
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_EQ(*cluster.find("ConfigMap", "default", "one")->find("data"),
            encoding::Value::object({{"a", "1"}, {"foreign", "kept"}}));
  EXPECT_FALSE(upgrade_now(map("{a: '1'}"))->changed);

  forget();
  EXPECT_TRUE(upgrade_now(map("{a: '1'}")).ok());
  EXPECT_FALSE(upgrade_now(map("{a: '1'}"))->changed);
  ASSERT_TRUE(upgrade_now(map("{a: '2'}")).ok());
  EXPECT_EQ(cluster.find("ConfigMap", "default", "one")->string_at({"data", "a"}), "2");
}

TEST_F(OwnershipTest, AnotherReleasesObjectNamesItsOwner) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto other = deploy(environment(), {"default", "other"},
                            install_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("belongs to release default/web"));
}

// An object made by `kubectl apply` or Helm, with a container that the package doesn't have.
constexpr std::string_view kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: web, image: web:2}
)";

class AdoptTest : public OwnershipTest {
 protected:
  void put(std::string_view manager, std::string_view more = {}) {
    auto object = encoding::parse_yaml(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  annotations: {{kubectl.kubernetes.io/last-applied-configuration: "{{}}"}}
spec:
  template:
    spec:
      containers:
      - {{name: web, image: "web:1"}}
      - {{name: evil, image: evil, securityContext: {{privileged: true}}}}
{})",
                                                   more));
    ASSERT_TRUE(object.ok()) << object.error().to_line();
    cluster.put(*object, manager);
  }
  std::vector<std::string> containers() {
    std::vector<std::string> names;
    const auto object = cluster.find("Deployment.apps", "default", "web");
    for (const encoding::Value& each :
         object->at_path({"spec", "template", "spec", "containers"})->as_array())
      names.emplace_back(each.string_at("name"));
    return names;
  }
  std::vector<std::string> managers() {
    std::vector<std::string> names;
    const auto object = cluster.find("Deployment.apps", "default", "web");
    for (const encoding::Value& entry : object->at_path({"metadata", "managedFields"})->as_array())
      names.push_back(fmt::format("{} {}", entry.string_at("manager"), entry.string_at("operation")));
    return names;
  }
  std::string last_applied() {
    return std::string(
        cluster.find("Deployment.apps", "default", "web")
            ->string_at({"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}));
  }
  const std::string package{kDeployment};
};

TEST_F(AdoptTest, WhatHelmAndKubectlOwnedBecomesOursAndGoesIfItIsNotWanted) {
  for (const std::string_view manager :
       {"helm", "kubectl-client-side-apply", "kubectl-create", "some-tool-that-applies-as-kubectl"}) {
    cluster.drop({{"apps", "Deployment"}, "default", "web"});
    put(manager);
    const release::ReleaseId other{"default", fmt::format("by-{}", manager.size())};
    const auto report = deploy(environment(), other, install_intent(rendering(package)),
                               {.allowed = {.adopt = true}}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    const apply::PlannedAction& adopted = report->plan.writes[0];
    EXPECT_EQ(adopted.kind, apply::ActionKind::Adopt);
    EXPECT_THAT(adopted.reason, HasSubstr(fmt::format("with the fields of {}", manager)));
    EXPECT_THAT(adopted.reason, HasSubstr(".spec.template.spec.containers[name=evil]"));
    EXPECT_THAT(containers(), ::testing::ElementsAre("web"));
    EXPECT_THAT(managers(), ::testing::ElementsAre("mistctl Apply"));
    EXPECT_EQ(last_applied(), "");
    const auto same = deploy(environment(), other, upgrade_intent(rendering(package)), {}, Context());
    ASSERT_TRUE(same.ok());
    EXPECT_FALSE(same->changed);
    const auto state = read_release(environment(), other, Context());
    EXPECT_TRUE(state->deployed->inventory[0].adopted);
    EXPECT_TRUE(state->deployed->inventory[0].fields_taken);
  }
}

TEST_F(AdoptTest, WhatOthersOwnStaysUnlessItIsNamed) {
  put("deployer");
  auto edited = *cluster.find("Deployment.apps", "default", "web");
  edited["metadata"]["annotations"].erase("kubectl.kubernetes.io/last-applied-configuration");
  cluster.put(edited, "deployer");
  const auto refused = install_now(package, {.allowed = {.adopt = true}});
  ASSERT_FALSE(refused.ok()) << "its image differs";
  EXPECT_THAT(refused.error().message, HasSubstr("deployer"));
  const auto report = install_now(package, {.allowed = {.adopt = true, .adopt_from = {"deployer"}}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(containers(), ::testing::ElementsAre("web"));
}

TEST_F(AdoptTest, WhatControllersAndSubresourcesWroteIsNeverTaken) {
  put("helm", "  replicas: 2\n");
  auto scaled = *cluster.find("Deployment.apps", "default", "web");
  scaled["spec"].set("replicas", 7);
  cluster.put(scaled, "kube-controller-manager");
  const auto report =
      install_now(package, {.allowed = {.adopt = true, .adopt_from = {"kube-controller-manager"}}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(cluster.find("Deployment.apps", "default", "web")->at_path({"spec", "replicas"})->as_int(), 7);
}

// As a Mistletoe recorded it that left their fields to the managers before it.
TEST_F(AdoptTest, WhatWasAdoptedWithoutItsFieldsCatchesUpOnce) {
  put("helm");
  ASSERT_TRUE(
      install_now(package, {.allowed = {.adopt = true, .leave_fields = true, .force_conflicts = true}}).ok());
  auto state = now();
  state.deployed->inventory[0].fields_taken = false;
  release::Store store(cluster);
  ASSERT_TRUE(store.finish_revision(*state.anchor, *state.deployed, Context()).ok());
  auto object = *cluster.find("Deployment.apps", "default", "web");
  object["spec"]["template"]["spec"]["containers"].push_back(
      encoding::Value::object({{"name", "evil"}, {"image", "evil"}}));
  cluster.put(object, "helm");
  const auto drifted = drift(environment(), id, Context());
  ASSERT_TRUE(drifted.ok());
  EXPECT_EQ(drifted->count(DriftKind::Changed), 0u) << "nobody changed anything";
  const auto caught_up = upgrade_now(package);
  ASSERT_TRUE(caught_up.ok()) << caught_up.error().to_line();
  EXPECT_THAT(caught_up->plan.writes[0].reason, HasSubstr("with the fields of helm"));
  EXPECT_THAT(containers(), ::testing::ElementsAre("web"));
  // A later change by somebody is theirs.
  object = *cluster.find("Deployment.apps", "default", "web");
  object["spec"].set("paused", true);
  cluster.put(object, "helm");
  const auto later = upgrade_now(package);
  ASSERT_TRUE(later.ok());
  EXPECT_FALSE(later->changed);
}

TEST_F(AdoptTest, ARunThatDiesBetweenTakingAndApplyingIsFinishedByTheNext) {
  for (const bool before : {true, false}) {
    for (const std::string_view verb : {"patch", "apply"}) {
      testing::FakeCluster fresh;
      const Environment here{fresh, no_expiry, random, events, "tester", std::chrono::milliseconds(100)};
      cluster.drop({{"apps", "Deployment"}, "default", "web"});
      put("helm");
      fresh.put(*cluster.find("Deployment.apps", "default", "web"), "helm");
      const auto dies = [&](const testing::FakeCall& call) -> std::optional<Error> {
        if (call.verb == verb && call.key.name == "web" && !call.dry_run)
          return error(ErrorKind::Forbidden, "dead");
        return std::nullopt;
      };
      before ? fresh.set_before(dies) : fresh.set_after(dies);
      EXPECT_FALSE(
          deploy(here, id, install_intent(rendering(package)), {.allowed = {.adopt = true}}, Context()).ok());
      fresh.set_before({});
      fresh.set_after({});
      const auto finished = recover(here, id, {}, Context());
      ASSERT_TRUE(finished.ok()) << finished.error().to_line();
      const auto object = fresh.find("Deployment.apps", "default", "web");
      EXPECT_EQ(object->at_path({"spec", "template", "spec", "containers"})->size(), 1u) << verb << before;
      EXPECT_EQ(object->at_path({"metadata", "managedFields"})->size(), 1u);
    }
  }
}

TEST_F(AdoptTest, WhatTheEarlierManagerWroteSinceThePlanIsNotTaken) {
  put("helm");
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "create" && call.key.name == "mistletoe.web.v0") {
      auto object = *cluster.find("Deployment.apps", "default", "web");
      object["spec"].set("minReadySeconds", 5);
      cluster.put(object, "helm");
    }
    return std::nullopt;
  });
  const auto refused = install_now(package, {.allowed = {.adopt = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("written by helm since"));
  EXPECT_EQ(containers().size(), 2u);
}
}  // namespace
}  // namespace mist::action
