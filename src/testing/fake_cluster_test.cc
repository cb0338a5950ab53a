#include "testing/fake_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "encoding/json.h"
#include "testing/crd.h"
#include "testing/yaml.h"

namespace mist::testing {
namespace {

using kube::ApplyOptions;
using kube::DeleteOptions;
using kube::ListOptions;
using kube::ObjectRef;
using kube::WatchEvent;
using kube::WatchEventType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeClusterTest : public ::testing::Test {
 protected:
  ObjectRef ref(std::string_view kind, std::string ns, std::string name) {
    return {*cluster.resource_for(apimachinery::parse_group_kind(kind), "", context), std::move(ns),
            std::move(name)};
  }
  static Value config_map(std::string_view name, Value data) {
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata", Value::object({{"name", name}})},
                          {"data", std::move(data)}});
  }
  static Value deployment(Value containers) {
    Value object = Value::object(
        {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", Value::object({{"name", "api"}})}});
    object["spec"]["template"]["spec"].set("containers", std::move(containers));
    return object;
  }
  Result<Value> apply(const Value& object, const ApplyOptions& options = {}) {
    const auto parsed = apimachinery::Object::from_value(object);
    return cluster.apply(
        ref(apimachinery::to_string(parsed->gvk().group_kind()), "default", std::string(parsed->name())),
        object, options, context);
  }

  FakeCluster cluster;
  Context context;
};

TEST_F(FakeClusterTest, ApplyCreatesThenChangesThenDoesNothing) {
  const auto first = apply(config_map("a", Value::object({{"x", "1"}})));
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_FALSE(first->string_at({"metadata", "uid"}).empty());
  const auto second = apply(config_map("a", Value::object({{"x", "2"}})));
  EXPECT_NE(first->string_at({"metadata", "resourceVersion"}),
            second->string_at({"metadata", "resourceVersion"}));
  const auto third = apply(config_map("a", Value::object({{"x", "2"}})));
  EXPECT_EQ(*second, *third);
}

TEST_F(FakeClusterTest, ApplyRemovesWhatItsManagerNoLongerSends) {
  ASSERT_TRUE(apply(config_map("a", Value::object({{"x", "1"}, {"y", "2"}}))).ok());
  ASSERT_TRUE(apply(config_map("a", Value::object({{"z", "3"}})), {.field_manager = "other"}).ok());
  const auto result = apply(config_map("a", Value::object({{"x", "1"}})));
  EXPECT_EQ(*result->find("data"), Value::object({{"x", "1"}, {"z", "3"}}));
}

TEST_F(FakeClusterTest, ApplyConflictNamesManagerAndFieldUnlessForced) {
  ASSERT_TRUE(apply(config_map("a", Value::object({{"x", "1"}})), {.field_manager = "kubectl"}).ok());
  const auto refused = apply(config_map("a", Value::object({{"x", "2"}})));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(refused.error().because, "Apply failed with 1 conflict: conflict with \"kubectl\": .data.x");
  EXPECT_TRUE(apply(config_map("a", Value::object({{"x", "1"}}))).ok()) << "the same value is shared";
  const auto forced = apply(config_map("a", Value::object({{"x", "2"}})), {.force = true});
  EXPECT_EQ(forced->string_at({"data", "x"}), "2");
}

TEST_F(FakeClusterTest, ApplyMergesKeyedListsItemByItem) {
  const Value web = Value::object({{"name", "web"}, {"image", "web:1"}});
  const Value sidecar = Value::object({{"name", "side"}, {"image", "side:1"}});
  ASSERT_TRUE(apply(deployment(Value::array({web}))).ok());
  ASSERT_TRUE(apply(deployment(Value::array({sidecar})), {.field_manager = "injector"}).ok());
  auto result = apply(deployment(Value::array({Value::object({{"name", "web"}, {"image", "web:2"}})})));
  const Value* containers = result->at_path({"spec", "template", "spec", "containers"});
  ASSERT_EQ(containers->size(), 2u);
  EXPECT_EQ(containers->as_array()[0].string_at("image"), "web:2");
  EXPECT_EQ(result->at_path({"metadata", "generation"})->as_int(), 3);

  result = apply(deployment(Value::array({Value::object({{"name", "job"}, {"image", "job:1"}})})));
  containers = result->at_path({"spec", "template", "spec", "containers"});
  ASSERT_EQ(containers->size(), 2u) << "web is gone, the injector's stays";
  EXPECT_EQ(containers->as_array()[0], sidecar);
}

TEST_F(FakeClusterTest, PlannedCreateWritesNothingOverWhatExists) {
  Value planned = config_map("a", Value::object({{"x", "mine"}}));
  planned["metadata"].set("resourceVersion", "1");
  ASSERT_TRUE(apply(planned).ok());
  const auto again = apply(planned);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(again.error().because, HasSubstr("the object has been modified"));
}

TEST_F(FakeClusterTest, UidGuardsApplyAndDelete) {
  Value guarded = config_map("a", Value::object({{"x", "1"}}));
  guarded["metadata"].set("uid", "11111111-1111-4111-8111-111111111111");
  EXPECT_EQ(apply(guarded).error().kind, ErrorKind::Conflict) << "nothing there";
  const Value stored = cluster.put(config_map("a", Value::object({{"x", "0"}})));
  EXPECT_EQ(apply(guarded).error().kind, ErrorKind::Conflict) << "another object";
  const ObjectRef a = ref("ConfigMap", "default", "a");
  EXPECT_EQ(cluster.remove(a, {.uid = "1111"}, context).error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(cluster.remove(a, {.uid = std::string(stored.string_at({"metadata", "uid"}))}, context).ok());
  EXPECT_EQ(cluster.remove(a, {}, context).error().kind, ErrorKind::NotFound);
}

TEST_F(FakeClusterTest, UpdateIsGuardedByResourceVersion) {
  const auto first = apply(config_map("a", Value::object({{"x", "1"}})));
  cluster.put(config_map("a", Value::object({{"x", "2"}})));
  const auto stale = cluster.update(ref("ConfigMap", "default", "a"), *first, context);
  EXPECT_EQ(stale.error().kind, ErrorKind::Conflict);
}

TEST_F(FakeClusterTest, FinalizersDelayDeletion) {
  Value object = config_map("a", Value::object());
  object["metadata"].set("finalizers", Value::array({"example.com/wait"}));
  cluster.put(object);
  const ObjectRef a = ref("ConfigMap", "default", "a");
  ASSERT_TRUE(cluster.remove(a, {}, context).ok());
  const auto live = cluster.get(a, context);
  EXPECT_FALSE(live->string_at({"metadata", "deletionTimestamp"}).empty());
  const Value patch = Value::object({{"metadata", Value::object({{"finalizers", nullptr}})}});
  ASSERT_TRUE(cluster.merge_patch(a, patch, context).ok());
  EXPECT_EQ(cluster.get(a, context).error().kind, ErrorKind::NotFound);
}

TEST_F(FakeClusterTest, NamespaceMustExistAndTakesItsContentsAway) {
  Value object = config_map("a", Value::object());
  const ObjectRef inside = ref("ConfigMap", "shop", "a");
  EXPECT_EQ(cluster.apply(inside, object, {}, context).error().kind, ErrorKind::NotFound);
  const Value ns = Value::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", "shop"}})}});
  ASSERT_TRUE(apply(ns).ok());
  ASSERT_TRUE(cluster.apply(inside, object, {}, context).ok());
  cluster.set_hold_namespaces(true);
  ASSERT_TRUE(cluster.remove(ref("Namespace", "", "shop"), {}, context).ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "shop", "a"));
  EXPECT_TRUE(cluster.has("Namespace", "", "shop"));
  EXPECT_EQ(cluster.apply(inside, object, {}, context).error().kind, ErrorKind::Forbidden);
  cluster.finish_namespaces();
  EXPECT_FALSE(cluster.has("Namespace", "", "shop"));
}

TEST_F(FakeClusterTest, OwnedObjectsGoWithTheirOwner) {
  const Value owner = cluster.put(config_map("owner", Value::object()));
  Value dependent = config_map("dependent", Value::object());
  dependent["metadata"].set(
      "ownerReferences",
      Value::array({Value::object({{"uid", owner.string_at({"metadata", "uid"})}, {"name", "owner"}})}));
  cluster.put(dependent);
  ASSERT_TRUE(cluster
                  .remove(ref("ConfigMap", "default", "owner"),
                          {.propagation = kube::Propagation::Foreground}, context)
                  .ok());
  EXPECT_TRUE(cluster.objects().empty());
}

TEST_F(FakeClusterTest, CustomResourceDefinitionServesItsKind) {
  Value crd = Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                             {"kind", "CustomResourceDefinition"},
                             {"metadata", Value::object({{"name", "toys.example.com"}})}});
  crd["spec"] = Value::object({{"group", "example.com"}, {"scope", "Namespaced"}});
  crd["spec"]["names"] = Value::object({{"kind", "Toy"}, {"plural", "toys"}});
  crd["spec"]["versions"] =
      Value::array({Value::object({{"name", "v1"}, {"served", true}, {"storage", true}}),
                    Value::object({{"name", "v1beta1"}, {"served", true}, {"storage", false}})});
  EXPECT_EQ(cluster.resource_for({"example.com", "Toy"}, "", context).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(apply(crd).ok());
  const auto toy = cluster.resource_for({"example.com", "Toy"}, "v1", context);
  ASSERT_TRUE(toy.ok());
  EXPECT_EQ(toy->resource, "toys");
  const auto served = cluster.served_apis(context);
  for (const std::string version : {"example.com/v1", "example.com/v1beta1"}) {
    EXPECT_EQ(std::ranges::count(served->group_versions, version), 1) << version;
    EXPECT_EQ(std::ranges::count(served->kinds, version + "/Toy"), 1) << version;
  }
  EXPECT_EQ(cluster.find("CustomResourceDefinition.apiextensions.k8s.io", "", "toys.example.com")
                ->at_path({"status", "conditions"})
                ->as_array()[1]
                .string_at("type"),
            "Established");
}

TEST_F(FakeClusterTest, ListSelectsByLabelAndGivesMetadataOnly) {
  for (const std::string_view name : {"a", "b", "c"}) {
    Value object = config_map(name, Value::object({{"x", "1"}}));
    object["metadata"]["labels"].set("name", name);
    if (name == "b") object["metadata"]["labels"].set("special", "");
    cluster.put(object);
  }
  const auto names = [&](std::string selector) {
    std::vector<std::string> found;
    const auto listed = cluster.list(ref("ConfigMap", "", "").resource,
                                     {.label_selector = std::move(selector), .metadata_only = true}, context);
    EXPECT_TRUE(listed.ok());
    for (const Value& item : listed->items) {
      EXPECT_EQ(item.find("data"), nullptr);
      EXPECT_EQ(item.string_at("kind"), "ConfigMap");
      found.emplace_back(item.string_at({"metadata", "name"}));
    }
    return found;
  };
  EXPECT_THAT(names("name=a"), ElementsAre("a"));
  EXPECT_THAT(names("name in (a, c)"), ElementsAre("a", "c"));
  EXPECT_THAT(names("name notin (a,c),name"), ElementsAre("b"));
  EXPECT_THAT(names("special"), ElementsAre("b"));
  EXPECT_THAT(names("name!=b,!special,name"), ElementsAre("a", "c"));
  EXPECT_EQ(cluster.list(ref("ConfigMap", "", "").resource, {.label_selector = "a b"}, context).error().kind,
            ErrorKind::Invalid);
}

TEST_F(FakeClusterTest, WatchFollowsChangesAndListsAgainAfterGone) {
  cluster.put(config_map("a", Value::object()));
  cluster.put(config_map("b", Value::object()));
  std::vector<std::string> seen;
  const auto handler = [&](const WatchEvent& event) {
    constexpr std::string_view kNames[] = {"added", "modified", "deleted", "bookmark"};
    if (event.object.string_at({"metadata", "name"}) == "kube-root-ca.crt") return true;
    if (event.type == WatchEventType::Bookmark) {
      seen.push_back("complete");
      return seen.size() < 9;
    }
    seen.push_back(fmt::format("{} {}", kNames[static_cast<int>(event.type)],
                               event.object.string_at({"metadata", "name"})));
    if (seen.size() == 2) cluster.put(config_map("c", Value::object()));
    if (seen.size() == 4) cluster.put(config_map("c", Value::object({{"x", "1"}})));
    if (seen.size() == 5) {
      cluster.drop({{"", "ConfigMap"}, "default", "a"});
      cluster.forget_history();
    }
    return true;
  };
  const auto status = cluster.watch(ref("ConfigMap", "", "").resource, {.ns = "default"}, handler, context);
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(seen, ElementsAre("added a", "added b", "complete", "added c", "modified c", "added b",
                                "added c", "deleted a", "complete"));
  EXPECT_EQ(cluster.count("list"), 2u);
}

TEST_F(FakeClusterTest, WatchEndsWithItsContext) {
  const auto status = cluster.watch(
      ref("ConfigMap", "", "").resource, {}, [](const WatchEvent&) { return true; },
      context.with_timeout(std::chrono::milliseconds(20)));
  EXPECT_EQ(status.error().kind, ErrorKind::Timeout);
}

TEST_F(FakeClusterTest, FaultsHideTheRequestOrItsAnswer) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.number == 1) return error(ErrorKind::Retryable, "connection refused");
    return std::nullopt;
  });
  cluster.set_after([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.executed_ok) return error(ErrorKind::Retryable, "connection reset");
    return std::nullopt;
  });
  EXPECT_FALSE(apply(config_map("a", Value::object())).ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "a"));
  EXPECT_FALSE(apply(config_map("a", Value::object())).ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a")) << "only the answer was lost";
}

TEST_F(FakeClusterTest, LogNamesVerbKeyAndUser) {
  const auto other = cluster.client_for("alice");
  ASSERT_TRUE(
      other->create(ref("ConfigMap", "", "").resource, "default", config_map("a", Value::object()), context)
          .ok());
  (void)cluster.get(ref("ConfigMap", "default", "a"), context);
  const std::vector<FakeCall> calls = cluster.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].user, "alice");
  EXPECT_EQ(calls[0].verb, "create");
  EXPECT_EQ(calls[0].key.display(), "ConfigMap default/a");
  EXPECT_EQ(cluster.writes(), 1u);
}

TEST_F(FakeClusterTest, DryRunStoresNothing) {
  ASSERT_TRUE(apply(config_map("a", Value::object()), {.dry_run = kube::DryRun::Server}).ok());
  EXPECT_TRUE(cluster.objects().empty());
}

TEST_F(FakeClusterTest, SecretKeepsStringDataEncoded) {
  Value secret =
      Value::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", Value::object({{"name", "s"}})}});
  secret["stringData"].set("key", "value");
  const auto stored = apply(secret);
  EXPECT_EQ(stored->string_at({"data", "key"}), "dmFsdWU=");
  EXPECT_EQ(stored->find("stringData"), nullptr);
}

TEST_F(FakeClusterTest, InstantControllersMakeWorkloadsReady) {
  cluster.set_instant_controllers(true);
  ASSERT_TRUE(apply(deployment(Value::array())).ok());
  const auto live = cluster.find("Deployment.apps", "default", "api");
  EXPECT_EQ(live->at_path({"status", "readyReplicas"})->as_int(), 1);
  EXPECT_EQ(live->at_path({"status", "observedGeneration"})->as_int(), 1);
}

TEST_F(FakeClusterTest, ClientsOfManyThreadsShareOneCluster) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i)
        EXPECT_TRUE(apply(config_map(fmt::format("c-{}-{}", t, i), Value::object())).ok());
    });
  threads.clear();
  EXPECT_EQ(cluster.objects().size(), 100u);
  EXPECT_EQ(cluster.count("apply"), 100u);
}

TEST_F(FakeClusterTest, AnotherProcessGoesOnWithWhatWasSaved) {
  cluster.put(yaml(crd_yaml("Cache", "caches")));
  ASSERT_TRUE(apply(config_map("a", Value::object({{"x", "1"}}))).ok());
  FakeCluster other;
  other.restore(*encoding::parse_json(encoding::to_json(cluster.saved())));
  EXPECT_EQ(other.objects(), cluster.objects());
  EXPECT_EQ(other.find("ConfigMap", "default", "a"), cluster.find("ConfigMap", "default", "a"));
  EXPECT_TRUE(other.resource_for({"example.com", "Cache"}, "", context).ok());
  other.set_now([] { return WallTime(std::chrono::seconds(1772357400)); });
  EXPECT_EQ(other.put(config_map("c", Value::object())).string_at({"metadata", "creationTimestamp"}),
            "2026-03-01T09:30:00Z");
  cluster.put(config_map("c", Value::object()));
  other.set_now({});
  // A version or uid that was given away isn't given again.
  const Value more = config_map("b", Value::object({{"x", "1"}}));
  EXPECT_EQ(other.put(more), cluster.put(more));
}

}  // namespace
}  // namespace mist::testing
