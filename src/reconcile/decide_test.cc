#include "reconcile/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <algorithm>

#include "reconcile/facts.h"
#include "reconcile/ownership.h"
#include "reconcile/status.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing::yaml;

// A cluster in memory that does what plans say, and a blueprint whose functions are the test's own.
class ReconcileTest : public ::testing::Test {
 protected:
  void SetUp() override { describe(kChain); }
  void describe(std::string_view description) {
    auto parsed = blueprint::Blueprint::parse(yaml(description));
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_line();
    blueprint = *std::move(parsed);
  }

  Queries queries() {
    return {.make = [this](const std::string& node, const Value& environment) -> Result<Value> {
              if (failing == node) return error(ErrorKind::Invalid, "no such field");
              Value object =
                  yaml(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, "
                                   "namespace: shop}}, data: {{size: '{}'}}}}",
                                   node, environment.at_path({"instance", "spec", "size"})->as_int()));
              if (const Value* address = environment.find("address")) object["data"].set("address", *address);
              return object;
            },
            .observe =
                [this](const ObjectId& id, bool) {
                  const auto found = objects.find(id.name);
                  if (found == objects.end()) return Observation{Observation::State::Absent, {}, {}};
                  return Observation{Observation::State::There, found->second, {}};
                }};
  }

  Plan next() {
    last = decide(blueprint, instance, record, queries());
    return last;
  }
  // Carries a plan out; deleted objects are gone at once.
  void carry_out(const Plan& todo) {
    record = todo.record;
    for (const Apply& each : todo.applies) {
      Value object = each.object;
      object["metadata"].set("uid", each.id.name);
      object["metadata"].set("managedFields", Value::array({}));
      if (each.node == "a") object["data"].set("ip", "10.0.0.1");
      objects[each.id.name] = std::move(object);
      applied.push_back(each.node);
    }
    for (const Delete& each : todo.deletes) {
      EXPECT_EQ(each.uid, each.what.id.name);
      objects.erase(each.what.id.name);
      deleted.push_back(each.what.node);
    }
  }
  void settle() {
    for (int round = 0; round < 10; ++round) {
      const Plan todo = next();
      if (todo.applies.empty() && todo.deletes.empty()) return;
      carry_out(todo);
    }
    FAIL() << "it never ends";
  }
  NodeReport report(const std::string& node) const {
    for (const NodeReport& each : last.nodes)
      if (each.node == node) return each;
    return {};
  }

  static constexpr std::string_view kChain = R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own}
also: [{from: instance, to: a}, {from: instance, to: b, when: spec.more}]
sequence: [{from: a, to: b, until: present, extract: {address: data.ip}}]
)";

  blueprint::Blueprint blueprint = *blueprint::Blueprint::parse(yaml(kChain));
  Value instance = yaml(
      "{apiVersion: example.com/v1, kind: App, metadata: {name: x, namespace: shop, uid: u1, generation: 3}, "
      "spec: {size: 1, more: true}}");
  Record record;
  std::map<std::string, Value> objects;
  std::vector<std::string> applied, deleted;
  std::string failing;
  Plan last;
};

TEST_F(ReconcileTest, WritesANodeOnceWhatItNeedsIsThere) {
  const Plan first = next();
  ASSERT_EQ(first.applies.size(), 1U);
  EXPECT_EQ(first.applies[0].node, "a");
  EXPECT_TRUE(first.applies[0].create);
  ASSERT_EQ(first.record.objects.size(), 1U) << "recorded before it is created";
  EXPECT_EQ(report("b").state, NodeState::Waiting);
  settle();
  EXPECT_THAT(applied, ElementsAre("a", "b"));
  EXPECT_EQ(objects["b"].string_at({"data", "address"}), "10.0.0.1");
  EXPECT_EQ(report("b").state, NodeState::Ready);
  EXPECT_EQ(
      status_of(last, instance, "2026-01-01T00:00:00Z").find("conditions")->as_array()[0].string_at("status"),
      "True");
}

TEST_F(ReconcileTest, WritesNothingWhereNothingChanged) {
  settle();
  const Plan again = next();
  EXPECT_THAT(again.applies, IsEmpty());
  EXPECT_EQ(again.record, record);
}

TEST_F(ReconcileTest, RepairsWhatIsGoneOrChanged) {
  settle();
  applied.clear();
  objects.erase("b");
  objects["a"]["data"].set("size", "evil");
  settle();
  EXPECT_THAT(applied, ::testing::UnorderedElementsAre("a", "b"));
  EXPECT_EQ(objects["a"].string_at({"data", "size"}), "1");
}

// It may be another one when the write arrives.
TEST_F(ReconcileTest, AChangeNamesTheObjectThatWasSeen) {
  EXPECT_EQ(next().applies.at(0).uid, "") << "nothing is there";
  settle();
  objects["a"]["data"].set("size", "evil");
  ASSERT_THAT(next().applies, ::testing::SizeIs(1));
  EXPECT_FALSE(last.applies[0].create);
  EXPECT_EQ(last.applies[0].uid, "a");
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: {type: own, adopt: true}}, "
      "also: [{from: instance, to: a}], sequence: []}");
  record = {};
  objects["a"] = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: z}}");
  ASSERT_THAT(next().applies, ::testing::SizeIs(1));
  EXPECT_EQ(last.applies[0].uid, "z") << "what is taken over";
}

TEST_F(ReconcileTest, AnotherVersionOfAKindIsTheSameObject) {
  settle();
  for (Recorded& each : record.objects) each.id.api_version = "example.com/v1beta1";
  for (auto& [name, object] : objects) object.set("apiVersion", "example.com/v1");
  Queries served = queries();
  const auto make = served.make;
  served.make = [make](const std::string& node, const Value& environment) {
    auto object = make(node, environment);
    object->set("apiVersion", "example.com/v1");
    return object;
  };
  const Plan plan = decide(blueprint, instance, record, served);
  EXPECT_THAT(plan.deletes, IsEmpty());
  ASSERT_EQ(plan.record.objects.size(), 2U);
  for (const Recorded& each : plan.record.objects) EXPECT_EQ(each.id.api_version, "example.com/v1");
}

// Its kind moves to another version or group, and the server can't tell yet what is there under that name.
TEST_F(ReconcileTest, KeepsAnObjectOfWhichTheNewVersionCannotBeSeenYet) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own}, "
      "also: [{from: instance, to: a}]}");
  for (const std::string_view moved : {"example.com/v1", "example.org/v1"}) {
    const auto queries_in = [&](std::string_view api_version, bool is_seen) {
      Queries moving = queries();
      moving.make = [make = moving.make, api_version](const std::string& node, const Value& environment) {
        auto object = make(node, environment);
        object->set("apiVersion", api_version);
        return object;
      };
      moving.observe = [observe = moving.observe, api_version, is_seen](const ObjectId& id, bool owned) {
        return id.api_version == api_version && !is_seen ? Observation{Observation::State::Unknown, {}, {}}
                                                         : observe(id, owned);
      };
      return moving;
    };
    objects.clear();
    record = {};
    carry_out(decide(blueprint, instance, record, queries_in("example.com/v1beta1", true)));
    ASSERT_EQ(record.objects.front().id.api_version, "example.com/v1beta1");
    last = decide(blueprint, instance, record, queries_in(moved, false));
    EXPECT_TRUE(last.writes_nothing()) << moved;
    EXPECT_EQ(last.record, record) << moved;
    EXPECT_EQ(report("a").state, NodeState::Waiting);
    // It is the same, or another one.
    last = decide(blueprint, instance, record, queries_in(moved, true));
    EXPECT_THAT(last.deletes, IsEmpty()) << moved;
    ASSERT_THAT(last.record.objects, ::testing::SizeIs(1));
    EXPECT_EQ(last.record.objects.front().id.api_version, moved);
  }
}

// One object in two versions of its kind.
TEST_F(ReconcileTest, NodesThatNameAnObjectInTwoVersionsNeedAnOrder) {
  Queries versions = queries();
  versions.make = [](const std::string& node, const Value&) -> Result<Value> {
    return yaml(
        fmt::format("{{apiVersion: example.com/{}, kind: Database, metadata: {{name: a, namespace: "
                    "shop}}, spec: {{by: {}}}}}",
                    node == "a" ? "v1beta1" : "v1", node));
  };
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own}
also: [{from: instance, to: a}, {from: instance, to: b}]
sequence: []
)");
  last = decide(blueprint, instance, record, versions);
  EXPECT_THAT(last.applies, IsEmpty());
  EXPECT_THAT(report("a").detail, HasSubstr("no order leads from one to the other"));
  EXPECT_THAT(report("b").detail, HasSubstr("no order leads from one to the other"));
  // With one they are its states.
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own}
also: [{from: instance, to: a}, {from: instance, to: b}]
sequence: [{from: a, to: b, until: present}]
)");
  for (int round = 0; round < 4; ++round) {
    last = decide(blueprint, instance, record, versions);
    carry_out(last);
  }
  EXPECT_THAT(applied, ElementsAre("a", "b"));
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_EQ(report("a").state, NodeState::Superseded);
  EXPECT_THAT(record.objects, ::testing::SizeIs(1));
  EXPECT_EQ(record.objects.front().id.api_version, "example.com/v1");
}

TEST_F(ReconcileTest, AListHasEachObjectOnceInWhateverVersion) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own}, "
      "also: [{from: instance, to: a}]}");
  Queries twice = queries();
  twice.make = [](const std::string&, const Value&) {
    return yaml(
        "[{apiVersion: example.com/v1beta1, kind: Database, metadata: {name: a}}, "
        "{apiVersion: example.com/v1, kind: Database, metadata: {name: a}}]");
  };
  last = decide(blueprint, instance, record, twice);
  EXPECT_EQ(report("a").state, NodeState::Failed);
  EXPECT_THAT(report("a").detail, EndsWith("twice"));
}

// Its CRD is being made again: a wanted object has no namespace meanwhile, and the recorded one has.
TEST_F(ReconcileTest, KeepsWhatIsWantedWhileNobodyKnowsWhereObjectsOfItsKindAre) {
  settle();
  Queries away = queries();
  const auto make = away.make;
  away.make = [make](const std::string& node, const Value& environment) {
    auto object = make(node, environment);
    (*object)["metadata"].erase("namespace");
    return object;
  };
  away.unplaced = [](const apimachinery::GroupKind& kind) { return kind.kind == "ConfigMap"; };
  const auto observe = away.observe;
  for (const bool is_back : {false, true}) {  // between the call of the function and the look at the object
    away.observe = [is_back, observe](const ObjectId& id, bool owned) {
      if (!is_back) return Observation{Observation::State::Unknown, {}, {}};
      return id.ns.empty() ? Observation{Observation::State::Absent, {}, {}} : observe(id, owned);
    };
    last = decide(blueprint, instance, record, away);
    EXPECT_TRUE(last.writes_nothing());
    EXPECT_EQ(last.record, record);
    EXPECT_THAT(last.nodes, ::testing::SizeIs(2)) << "none of them is about to go";
    EXPECT_EQ(report("a").state, is_back ? NodeState::Ready : NodeState::Waiting);
    EXPECT_EQ(report("a").detail, is_back ? "" : "the kind of ConfigMap shop/a is being looked up");
  }
  // The record has it elsewhere, or nowhere.
  for (const std::string_view ns : {"other", ""}) {
    Record elsewhere = record;
    if (ns.empty()) elsewhere.objects.clear();
    for (Recorded& each : elsewhere.objects) each.id.ns = ns;
    last = decide(blueprint, instance, elsewhere, away);
    EXPECT_TRUE(last.writes_nothing());
    EXPECT_EQ(last.record, elsewhere);
    EXPECT_EQ(report("a").detail, "the kind of ConfigMap a is being looked up");
  }
  // An object that nothing wants is deleted meanwhile, if it can be seen.
  record.objects.push_back(record.objects.front());
  record.objects.back().id.name = "old";
  objects["old"] = objects["a"];
  objects["old"]["metadata"].set("uid", "old");
  last = decide(blueprint, instance, record, away);
  ASSERT_EQ(last.deletes.size(), 1U);
  EXPECT_EQ(last.deletes.front().what.id.name, "old");
}

TEST_F(ReconcileTest, DeletesNothingOfAnInstanceThatIsSuspended) {
  settle();
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  for (const std::string_view value : {"true", "True", "yes"}) {
    instance["metadata"]["annotations"].set(kSuspendAnnotation, value);
    for (const Plan& plan : {next(), tear_down(instance, record, queries())}) {
      EXPECT_THAT(plan.deletes, IsEmpty()) << value;
      EXPECT_FALSE(plan.finished) << value;
      EXPECT_EQ(plan.record, record) << value;
    }
  }
  instance["metadata"]["annotations"].set(kSuspendAnnotation, "false");
  settle();
  EXPECT_THAT(deleted, ::testing::UnorderedElementsAre("a", "b"));
}

TEST_F(ReconcileTest, WithoutABlueprintAnInstanceStaysAsItIsAndSaysSo) {
  settle();
  instance["status"] = yaml("{address: 10.0.0.1, conditions: []}");
  const Plan plan = tear_down(instance, record, queries());
  EXPECT_TRUE(plan.writes_nothing());
  EXPECT_EQ(plan.record, record);
  const Value status = status_of(plan, instance, "2026-01-01T00:00:00Z");
  const Value& ready = status.find("conditions")->as_array()[0];
  EXPECT_EQ(ready.string_at("status"), "Unknown");
  EXPECT_EQ(ready.string_at("reason"), "NoBlueprint");
  EXPECT_EQ(status.string_at("address"), "10.0.0.1") << "what was written before stays";
}

TEST_F(ReconcileTest, SaysWhyAnActOrAWorkloadOfItDoesNotRun) {
  for (const std::string_view type : {"act", "own"}) {
    describe(
        fmt::format("{{kind: {{group: example.com, version: v1, kind: App}}, nodes: {{a: {}}}, "
                    "also: [{{from: instance, to: a}}], sequence: []}}",
                    type));
    objects.clear();
    record = {};
    Queries stuck = queries();
    stuck.make = [](const std::string&, const Value&) -> Result<Value> {
      return yaml(
          "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}, spec: {parallelism: 1}}");
    };
    std::string cause;
    stuck.trouble = [&](const ObjectId& id, const Value& live) {
      EXPECT_EQ(id.kind, "Job");
      EXPECT_FALSE(live.is_null());
      return cause;
    };
    last = decide(blueprint, instance, record, stuck);
    ASSERT_EQ(last.applies.size(), 1U);
    carry_out(last);
    last = decide(blueprint, instance, record, stuck);
    EXPECT_EQ(report("a").state, NodeState::Progressing);
    const std::string before = report("a").detail;
    cause = "FailedCreate: exceeded quota";
    last = decide(blueprint, instance, record, stuck);
    EXPECT_EQ(report("a").state, NodeState::Progressing);
    EXPECT_EQ(report("a").detail, fmt::format("{}; {}", before, cause)) << type;
  }
}

TEST_F(ReconcileTest, WhatStaysWhenTheInstanceGoesLosesItsMark) {
  settle();
  for (Recorded& each : record.objects) each.policy = blueprint::Policy::Retain;
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  const Plan plan = next();
  EXPECT_THAT(plan.deletes, IsEmpty());
  ASSERT_EQ(plan.releases.size(), 1U) << "the one after it first";
  EXPECT_EQ(plan.releases.front().what, Release::What::LiveOwner);
}

TEST_F(ReconcileTest, WhatStaysAlthoughNothingWantsItLosesItsMarkWithTheInstance) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own, b: {type: own, policy: retain}}, "
      "also: [{from: instance, to: a}, {from: instance, to: b, when: spec.more}], "
      "sequence: [{from: a, to: b}]}");
  settle();
  instance["spec"].set("more", false);
  const Plan kept = next();
  EXPECT_TRUE(kept.writes_nothing());
  EXPECT_EQ(kept.record, record);
  EXPECT_EQ(report("b").state, NodeState::NotWanted);
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  const Plan plan = next();
  EXPECT_THAT(plan.deletes, IsEmpty()) << "what came before it goes later";
  ASSERT_EQ(plan.releases.size(), 1U);
  EXPECT_EQ(plan.releases.front().node, "b");
  EXPECT_EQ(plan.releases.front().what, Release::What::LiveOwner);
}

// Nothing else would take the finalizer of an act's Job from it.
TEST_F(ReconcileTest, AJobThatStaysCanBeDeleted) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: {type: act, policy: retain}}, "
      "also: [{from: instance, to: a, when: spec.more}]}");
  Queries acting = queries();
  acting.make = [](const std::string&, const Value&) {
    return yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}}");
  };
  last = decide(blueprint, instance, record, acting);
  ASSERT_THAT(last.applies, ::testing::SizeIs(1));
  const std::string job = last.applies[0].id.name;
  carry_out(last);
  objects[job].set("status", yaml("{conditions: [{type: Failed, status: 'True'}]}"));
  instance["spec"].set("more", false);
  last = decide(blueprint, instance, record, acting);
  EXPECT_TRUE(last.writes_nothing());
  EXPECT_EQ(last.record, record);
  // A person deletes it.
  Value& live = objects[job];
  live["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  last = decide(blueprint, instance, record, acting);
  ASSERT_THAT(last.releases, ::testing::SizeIs(1));
  EXPECT_EQ(last.releases[0].what, Release::What::Finalizer);
  EXPECT_EQ(report("a").state, NodeState::NotWanted) << "the node; its Job is going";
  // The instance goes first.
  live["metadata"].erase("deletionTimestamp");
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  last = decide(blueprint, instance, record, acting);
  EXPECT_THAT(last.deletes, IsEmpty());
  ASSERT_THAT(last.releases, ::testing::SizeIs(1));
  EXPECT_EQ(last.releases[0].what, Release::What::LiveOwner);
  remove_ownership(live);
  EXPECT_FALSE(has_finalizer(live));
  EXPECT_TRUE(decide(blueprint, instance, record, acting).finished);
}

TEST_F(ReconcileTest, TakesOverNothingOfOthers) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: {type: own, adopt: true}}, "
      "also: [{from: instance, to: a}], sequence: []}");
  for (const auto& [metadata, owner] : std::vector<std::pair<std::string, std::string>>{
           {"ownerReferences: [{kind: Deployment, name: web, uid: u9, controller: true}]", "Deployment web"},
           {"annotations: {meta.helm.sh/release-name: prod}", "Helm's release prod"},
           {"annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:shop/a'}", "Argo CD"},
           {"labels: {kustomize.toolkit.fluxcd.io/name: prod}", "Flux's prod"},
           {"annotations: {mistletoe.dev/release: shop/web}", "release shop/web"},
           {"labels: {mistletoe.dev/instance-uid: u9}",
            "another instance (its mistletoe.dev/instance-uid is u9; remove that if no instance has this "
            "uid)"}}) {
    objects["a"] = yaml(fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: shop, uid: a, {}}}}}", metadata));
    EXPECT_THAT(next().applies, IsEmpty()) << metadata;
    EXPECT_EQ(report("a").state, NodeState::Failed) << metadata;
    EXPECT_THAT(report("a").detail, EndsWith("exists already and belongs to " + owner));
  }
  objects["a"] = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: a}}");
  EXPECT_EQ(next().applies.size(), 1U);
}

TEST_F(ReconcileTest, PrunesWhatNothingWantsAnyMore) {
  settle();
  instance["spec"].set("more", false);
  settle();
  EXPECT_THAT(deleted, ElementsAre("b"));
  EXPECT_EQ(last.record.objects.size(), 1U);
  EXPECT_EQ(report("b").state, NodeState::NotWanted);
}

// A revision gives the object db a node of its own, which needs a value that isn't there yet.
class MovedObjectTest : public ReconcileTest {
 protected:
  void SetUp() override {
    describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {all: own}
also: [{from: instance, to: all}]
)");
    carry_out(play());
    ASSERT_TRUE(play().writes_nothing());
    describe_revision("");
    makes = {"web"};
  }
  void describe_revision(std::string_view more_edges) {
    describe(fmt::format(R"(
kind: {{group: example.com, version: v1, kind: App}}
nodes: {{all: own, secret: own, db: own}}
also: [{{from: instance, to: all}}, {{from: instance, to: secret}}, {{from: instance, to: db}}]
sequence: [{{from: secret, to: db, until: present, extract: {{address: data.password}}}}{}]
)",
                         more_edges));
  }
  const Plan& play() {
    Queries moved = queries();
    moved.make = [make = moved.make, this](const std::string& node,
                                           const Value& environment) -> Result<Value> {
      if (node == "address") return *environment.find("answer");
      if (node == "secret" && told("secret").type == blueprint::NodeType::Http)
        return yaml("{service: web, port: 8080}");
      if (node != "all") return make(node, environment);
      Value::Array all;
      for (const std::string& each : makes) {
        MIST_TRY(Value object, make(each, environment));
        all.push_back(std::move(object));
      }
      return Value(std::move(all));
    };
    moved.observe = [observe = moved.observe, this](const ObjectId& id, bool owned) {
      return id.name == unseen ? Observation{} : observe(id, owned);
    };
    moved.ask = [this](const std::string&, const HttpQuestion&) { return answer; };
    moved.check_edge = [this](std::size_t, const Value&) {
      return is_ready ? Status() : Status(error(ErrorKind::Invalid, "it isn't ready"));
    };
    moved.identities = [this](const std::string&, const Value&, const std::vector<std::string>&) {
      return names;
    };
    moved.kinds = [this](const std::string&, const Value&, const std::vector<std::string>&) { return kinds; };
    last = decide(blueprint, instance, record, moved);
    return last;
  }
  std::string message() const {
    return std::string(status_of(last, instance, "2026-01-01T00:00:00Z")
                           .find("conditions")
                           ->as_array()[0]
                           .string_at("message"));
  }
  void expect_it_stays() {
    for (int round = 0; round < 3; ++round) carry_out(play());
    EXPECT_THAT(deleted, IsEmpty());
    ASSERT_NE(record.find({"v1", "ConfigMap", "shop", "db"}), nullptr);
    EXPECT_EQ(record.find({"v1", "ConfigMap", "shop", "db"})->node, "all");
    EXPECT_THAT(message(), EndsWith("; not deleted before it is known what db will make: ConfigMap shop/db"));
    applied.clear();
    objects["secret"]["data"].set("password", "x");
    for (int round = 0; round < 3; ++round) carry_out(play());
    EXPECT_THAT(applied, ElementsAre("db"));
    EXPECT_THAT(deleted, IsEmpty());
    EXPECT_EQ(record.find({"v1", "ConfigMap", "shop", "db"})->node, "db");
  }
  // The object db was of another kind all the time.
  void is_a(std::string_view api_version, std::string_view kind) {
    for (Recorded& each : record.objects)
      if (each.id.name == "db") each.id = {std::string(api_version), std::string(kind), "shop", "db"};
    objects["db"].set("apiVersion", api_version);
    objects["db"].set("kind", kind);
  }
  void expect_it_goes() {
    for (int round = 0; round < 3; ++round) carry_out(play());
    EXPECT_THAT(deleted, ElementsAre("all"));
    EXPECT_FALSE(objects.contains("db"));
  }

  const blueprint::Node& told(std::string_view node) const {
    return blueprint.nodes()[*blueprint.node_called(node)];
  }
  // db needs a value that secret answers over HTTP once web is ready, unless it has other edges.
  static constexpr std::string_view kFromAnswer =
      "  - {from: address, to: db, until: present, extract: {address: '.'}}\n";
  void describe_question(std::string_view edges_into_db = kFromAnswer) {
    describe(fmt::format(R"(
kind: {{group: example.com, version: v1, kind: App}}
nodes: {{all: own, secret: http, address: value, plain: own, hidden: own, db: own}}
also:
  - {{from: instance, to: all}}
  - {{from: instance, to: secret}}
  - {{from: instance, to: address}}
  - {{from: instance, to: plain}}
  - {{from: instance, to: hidden}}
  - {{from: instance, to: db}}
sequence:
  - {{from: all, to: secret, contract: true}}
  - {{from: secret, to: address, extract: {{answer: address}}}}
{})",
                         edges_into_db));
  }

  std::vector<std::string> makes = {"web", "db"};
  std::optional<Value> names, kinds;
  std::string unseen;
  HttpAnswer answer;
  bool is_ready = true;
};

TEST_F(MovedObjectTest, StaysIfANodeThatWaitsMakesItByItsName) {
  names = yaml("[{apiVersion: v1, kind: ConfigMap, metadata: {name: db, namespace: shop}}]");
  kinds = Value::array({});
  expect_it_stays();
}

TEST_F(MovedObjectTest, StaysIfANodeThatWaitsMakesSuchAKind) {
  kinds = yaml("[{apiVersion: v1, kind: ConfigMap}]");
  expect_it_stays();
}

TEST_F(MovedObjectTest, StaysIfNobodyKnowsWhatANodeThatWaitsMakes) { expect_it_stays(); }

// A Deployment may occupy a volume that its successor needs, for whose value that node may wait.
TEST_F(MovedObjectTest, OfWhatOnlyRunsGoesIfNobodyKnowsWhatANodeThatWaitsMakes) {
  is_a("apps/v1", "Deployment");
  expect_it_goes();
}

TEST_F(MovedObjectTest, WithDataStaysIfNobodyKnowsWhatANodeThatWaitsMakes) {
  is_a("apps/v1", "StatefulSet");
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_THAT(deleted, IsEmpty());
}

TEST_F(MovedObjectTest, OfWhatOnlyRunsStaysIfItIsKnownOrItsMakerFails) {
  is_a("apps/v1", "Deployment");
  kinds = yaml("[{apiVersion: apps/v1, kind: Deployment}]");
  carry_out(play());
  objects["secret"]["data"].set("password", "x");
  kinds.reset();
  failing = "db";
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_EQ(report("db").state, NodeState::Failed);
  EXPECT_THAT(deleted, IsEmpty());
}

TEST_F(MovedObjectTest, OfWhatOnlyRunsStaysWhileAValueForItsMakerCannotBeRead) {
  is_a("apps/v1", "Deployment");
  unseen = "secret";
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_THAT(message(), EndsWith("; not deleted before it is known what db will make: Deployment shop/db"));
  unseen.clear();
  expect_it_goes();
}

// It may occupy what web needs to become ready.
TEST_F(MovedObjectTest, OfWhatOnlyRunsGoesIfAValueForItsMakerIsNotAskedForBeforeAnotherIsReady) {
  describe_question();
  is_a("apps/v1", "Deployment");
  is_ready = false;
  unseen = "web";
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_THAT(deleted, IsEmpty()) << "nobody knows whether web is there";
  unseen.clear();
  expect_it_goes();
  EXPECT_EQ(report("secret").detail, "waits for all: it isn't ready");
  EXPECT_EQ(report("db").waits_on, "address");
}

// The first value isn't asked for yet, the second is known to be missing, and the third may be there.
TEST_F(MovedObjectTest, OfWhatOnlyRunsStaysForAValueThatCannotBeReadInWhateverOrder) {
  std::vector<std::string> edges{std::string(kFromAnswer),
                                 "  - {from: plain, to: db, until: present, extract: {one: data.one}}\n",
                                 "  - {from: hidden, to: db, until: present, extract: {two: data.two}}\n"};
  std::ranges::sort(edges);
  is_a("apps/v1", "Deployment");
  is_ready = false;
  unseen = "hidden";
  do {
    describe_question(edges[0] + edges[1] + edges[2]);
    for (int round = 0; round < 3; ++round) carry_out(play());
    EXPECT_THAT(deleted, IsEmpty()) << "first " << edges[0];
  } while (std::ranges::next_permutation(edges).found);
  unseen.clear();
  expect_it_goes();
}

TEST_F(MovedObjectTest, OfWhatOnlyRunsStaysUntilItIsKnownThatNobodyAnswersForItsMaker) {
  describe_question();
  is_a("apps/v1", "Deployment");
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_THAT(deleted, IsEmpty()) << "it is being asked";
  answer = {.failure = "no endpoint", .stale = true};
  expect_it_goes();
}

TEST_F(MovedObjectTest, ThatStaysAnywayIsNoneOfWhichSomethingHasToBeKnown) {
  for (Recorded& each : record.objects) each.policy = blueprint::Policy::Retain;
  for (int round = 0; round < 3; ++round) carry_out(play());
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_THAT(last.undecided, IsEmpty());
  EXPECT_NE(record.find({"v1", "ConfigMap", "shop", "db"}), nullptr);
}

TEST_F(MovedObjectTest, GoesIfWhatWaitsMakesOthers) {
  names = yaml("[{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}}]");
  expect_it_goes();
}

TEST_F(MovedObjectTest, GoesIfWhatWaitsMakesOtherKinds) {
  kinds = yaml("[{apiVersion: v1, kind: Secret}]");
  expect_it_goes();
}

// Else it would stay because of a node that waits until it is gone.
TEST_F(MovedObjectTest, GoesIfSomethingWaitsForThat) {
  describe_revision(", {from: all, to: secret, until: gone}");
  expect_it_goes();
}

TEST_F(ReconcileTest, TearsDownInReverseOrderFromTheRecordAlone) {
  settle();
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  failing = "a";  // no function is called
  const Plan first = next();
  ASSERT_EQ(first.deletes.size(), 1U);
  EXPECT_EQ(first.deletes[0].what.node, "b");
  EXPECT_FALSE(first.finished);
  // Terminating isn't gone.
  objects["b"]["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_THAT(next().deletes, IsEmpty());
  objects.erase("b");
  EXPECT_EQ(next().deletes.at(0).what.node, "a");
  objects.erase("a");
  EXPECT_TRUE(next().finished);
}

TEST_F(ReconcileTest, DeletesBeforeItsTurnOnlyWhatAPersonNames) {
  settle();
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  // Somebody's finalizer holds what came after.
  objects["b"]["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  objects["b"]["metadata"].set("finalizers", Value::array({"example.com/hold"}));
  EXPECT_THAT(next().deletes, IsEmpty());
  EXPECT_EQ(report("a").detail, "waits until what came after it is gone");
  for (const char* other : {"", "c", " , ", "b"}) {
    instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, other);
    EXPECT_THAT(next().deletes, IsEmpty()) << other;
  }
  for (const char* named : {"a", "c, a", "*"}) {
    instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, named);
    const Plan plan = next();
    ASSERT_EQ(plan.deletes.size(), 1U) << named;
    EXPECT_EQ(plan.deletes[0].what.node, "a");
    EXPECT_EQ(plan.deletes[0].uid, "a") << "that object and no other";
    EXPECT_FALSE(plan.finished) << "the instance stays until nothing is left";
  }
}

TEST_F(ReconcileTest, PrunesBeforeItsTurnOnlyWhatAPersonNames) {
  settle();
  // Nothing wants b any more, and it is held; then a isn't wanted either.
  describe(
      "kind: {group: example.com, version: v1, kind: App}\nnodes: {c: own}\nalso: [{from: instance, to: c}]");
  objects["b"]["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  objects["b"]["metadata"].set("finalizers", Value::array({"example.com/hold"}));
  EXPECT_THAT(next().deletes, IsEmpty());
  instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, "a");
  const Plan plan = next();
  ASSERT_EQ(plan.deletes.size(), 1U);
  EXPECT_EQ(plan.deletes[0].what.node, "a");
}

TEST_F(ReconcileTest, AStalledInstanceSaysWhatItWaitsFor) {
  next();
  Value status = status_of(last, instance, "2026-01-01T00:00:00Z");
  const std::size_t before = status.find("conditions")->as_array().size();
  add_stalled(status, std::chrono::minutes(10), instance, "2026-01-01T00:10:00Z");
  const Value::Array& conditions = status.find("conditions")->as_array();
  ASSERT_EQ(conditions.size(), before + 1);
  EXPECT_EQ(conditions.back().string_at("type"), "Stalled");
  EXPECT_EQ(conditions.back().string_at("status"), "True");
  EXPECT_EQ(conditions.back().string_at("reason"), "ProgressDeadlineExceeded");
  EXPECT_EQ(conditions.back().string_at("lastTransitionTime"), "2026-01-01T00:10:00Z");
  EXPECT_EQ(conditions.back().string_at("message"),
            fmt::format("not ready within 10m00s: {}", conditions.front().string_at("message")));
}

// An object was to go back to a former state, and the write that takes the later one's values from it was
// refused.
TEST_F(ReconcileTest, TearsDownObjectsThatCameAfterEachOther) {
  settle();
  record.objects[0].after = {"a", "b"};
  record.objects[1].after = {"a"};
  record.objects[0].hash = "former";
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  ASSERT_THAT(next().deletes, ::testing::SizeIs(1));
  EXPECT_EQ(last.deletes[0].what.node, "a");
  // It was written, and nothing has told the record.
  objects["a"]["metadata"]["annotations"].set(kHashAnnotation, record.objects[0].hash);
  ASSERT_THAT(next().deletes, ::testing::SizeIs(1));
  EXPECT_EQ(last.deletes[0].what.node, "b");
  // They go, whatever a record says.
  record.objects[0].after = {"b"};
  EXPECT_THAT(next().deletes, ::testing::SizeIs(2));
}

TEST_F(ReconcileTest, KeepsWhatItCannotMakeNow) {
  settle();
  failing = "a";
  const Plan todo = next();
  EXPECT_THAT(todo.deletes, IsEmpty());
  EXPECT_EQ(todo.record.objects.size(), 2U);
  EXPECT_EQ(report("a").state, NodeState::Failed);
  EXPECT_THAT(status_of(todo, instance, "2026-01-01T00:00:00Z")
                  .find("conditions")
                  ->as_array()[0]
                  .string_at("message"),
              HasSubstr("no such field"));
}

TEST_F(ReconcileTest, LeavesTheObjectsOfOthersAlone) {
  objects["a"] = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: z}}");
  const Plan todo = next();
  EXPECT_THAT(todo.applies, IsEmpty());
  EXPECT_EQ(report("a").state, NodeState::Failed);
  record.objects = {{.node = "a", .id = {"v1", "ConfigMap", "shop", "a"}}};
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_TRUE(next().finished) << "its own is gone";
  EXPECT_THAT(last.deletes, IsEmpty());
}

TEST_F(ReconcileTest, ARepairNeedsNoEdgeToHoldAgain) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own}
also: [{from: instance, to: a}, {from: instance, to: b}]
sequence: [{from: a, to: b}]
)");
  settle();
  applied.clear();
  failing = "a";  // so that it isn't ready
  objects["b"]["data"].set("size", "evil");
  settle();
  EXPECT_THAT(applied, ElementsAre("b"));
  instance["spec"].set("size", 2);
  next();
  EXPECT_THAT(last.applies, IsEmpty()) << "a new input does need it";
}

TEST_F(ReconcileTest, ARepairNeedsNoEdgeAlthoughAnActBeforeItIsNoLongerWanted) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: act, b: own, c: own}
also: [{from: instance, to: a, when: spec.more}, {from: instance, to: b}, {from: instance, to: c}]
sequence: [{from: a, to: c}, {from: b, to: c}]
)");
  Queries acting = queries();
  acting.make = [others = acting.make](const std::string& node, const Value& environment) -> Result<Value> {
    if (node != "a") return others(node, environment);
    return yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop}}");
  };
  const auto round = [&] {
    last = decide(blueprint, instance, record, acting);
    carry_out(last);
  };
  round();
  ASSERT_THAT(applied, UnorderedElementsAre("a", "b"));
  for (auto& [name, object] : objects)
    if (object.string_at("kind") == "Job")
      object.set("status", yaml("{conditions: [{type: Complete, status: 'True'}]}"));
  round();
  round();
  ASSERT_THAT(applied, UnorderedElementsAre("a", "b", "c"));
  applied.clear();
  instance["spec"].set("more", false);
  failing = "b";  // so that it isn't ready
  round();
  EXPECT_THAT(deleted, ElementsAre("a"));
  EXPECT_THAT(applied, IsEmpty());
  objects.erase("c");
  round();
  EXPECT_THAT(applied, ElementsAre("c")) << "the same is written again";
}

// Its status says how the former spec went.
TEST_F(ReconcileTest, AContractCountsOnceTheControllerHasSeenTheLastChange) {
  for (const auto& [node, edge] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"{type: own, contract: true}", "{from: a, to: b}"},
           {"{type: read, contract: true}", "{from: a, to: b}"},
           {"own", "{from: a, to: b, until: present, contract: true}"}}) {
    describe(
        fmt::format("{{kind: {{group: example.com, version: v1, kind: App}}, nodes: {{a: {}, b: own}}, "
                    "also: [{{from: instance, to: a}}, {{from: instance, to: b}}], sequence: [{}]}}",
                    node, edge));
    objects.clear();
    record = {};
    carry_out(next());
    if (!objects.contains("a"))
      objects["a"] = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}");
    Queries contracts = queries();
    contracts.check_node = [](const std::string&, const Value&) { return Status(); };
    contracts.check_edge = [](std::size_t, const Value&) { return Status(); };
    objects["a"]["metadata"].set("generation", 2);
    objects["a"]["status"].set("observedGeneration", 1);
    last = decide(blueprint, instance, record, contracts);
    EXPECT_THAT(last.applies, IsEmpty()) << node;
    EXPECT_EQ(report("b").detail, "waits for a: its controller hasn't seen its last change");
    objects["a"]["status"].set("observedGeneration", 2);
    EXPECT_THAT(decide(blueprint, instance, record, contracts).applies, ::testing::SizeIs(1)) << node;
    Status broken = error(ErrorKind::Invalid, "contract broken: extra field kind")
                        .with_because("contract broken\n  extra");
    contracts.check_node = [&](const std::string&, const Value&) -> Status { return broken; };
    contracts.check_edge = [&](std::size_t, const Value&) -> Status { return broken; };
    last = decide(blueprint, instance, record, contracts);
    EXPECT_EQ(report("b").detail, "waits for a: contract broken: extra field kind");
  }
}

// An act that runs when the instance is deleted, before what it comes after is.
class LastActTest : public ReconcileTest {
 protected:
  void SetUp() override {
    describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {db: own, app: own, backup: {type: act, teardown: true}}
also: [{from: instance, to: db}, {from: instance, to: app}, {from: instance, to: backup}]
sequence: [{from: db, to: backup}, {from: db, to: app}]
)");
  }
  // The last plan, carried out; the Jobs that ran end as `condition` says.
  void play() {
    Queries jobs = queries();
    jobs.make = [this](const std::string& node, const Value&) -> Result<Value> {
      if (failing == node) return error(ErrorKind::Invalid, "no such field");
      const bool is_act = node == "backup" || node == "notify";
      return yaml(fmt::format("{{apiVersion: {}, kind: {}, metadata: {{name: {}, namespace: shop}}, {}: {}}}",
                              is_act ? "batch/v1" : "v1", is_act ? "Job" : "ConfigMap",
                              is_act || !states ? node : "db", is_act ? "spec" : "data",
                              is_act   ? job_spec
                              : states ? fmt::format("{{state: {}}}", node)
                                       : "{}"));
    };
    jobs.trouble = [](const ObjectId& id, const Value&) {
      return id.kind == "Job" ? std::string("no node takes its Pod") : std::string();
    };
    last = decide(blueprint, instance, record, jobs);
    carry_out(last);
  }
  void end_job(std::string_view condition) {
    for (auto& [name, object] : objects)
      if (object.string_at("kind") == "Job")
        object.set("status", yaml(fmt::format("{{conditions: [{{type: {}, status: 'True'}}]}}", condition)));
  }
  std::string job_spec = "{}";
  bool states = false;  // all nodes but acts are states of one object
  std::string the_job() const {
    for (const auto& [name, object] : objects)
      if (object.string_at("kind") == "Job") return name;
    return {};
  }
  void suspend_job() {
    Value& job = objects[the_job()];
    job["spec"].set("suspend", true);
    job.set("status", yaml("{active: 0, conditions: [{type: Suspended, status: 'True'}]}"));
  }
  std::size_t jobs_there() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        objects, [](const auto& each) { return each.second.string_at("kind") == "Job"; }));
  }
  void begin() {
    play();
    play();
    ASSERT_EQ(objects.size(), 2U) << "it doesn't run yet";
    instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  }
};

TEST_F(LastActTest, RunsBeforeWhatItComesAfterIsDeleted) {
  begin();
  play();
  EXPECT_EQ(jobs_there(), 1U);
  EXPECT_THAT(deleted, ElementsAre("app")) << "nothing says that this has to wait";
  play();
  EXPECT_TRUE(objects.contains("db"));
  EXPECT_EQ(report("db").detail, "waits until backup has run");
  EXPECT_FALSE(last.finished);
  end_job("Complete");
  play();
  EXPECT_TRUE(objects.contains("db")) << "its success is recorded first";
  for (int round = 0; round < 5; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
  EXPECT_EQ(std::ranges::count(applied, "backup"), 1);
}

TEST_F(LastActTest, ThatFailsKeepsTheRestUntilAPersonSaysOtherwise) {
  begin();
  play();
  end_job("Failed");
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.contains("db"));
  EXPECT_EQ(report("backup").state, NodeState::Failed);
  EXPECT_EQ(std::ranges::count(applied, "backup"), 1) << "it isn't tried again by itself";
  instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, "backup");
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

TEST_F(LastActTest, WaitsForTheJobOfItsFormerInputAndThatOneNotForIt) {
  begin();
  play();
  const std::string former = the_job();
  job_spec = "{repaired: true}";
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.contains(former)) << "it may be writing";
  EXPECT_EQ(jobs_there(), 1U) << "two never run at once";
  EXPECT_EQ(report("backup").detail,
            fmt::format("waits until Job shop/{} has ended, which has the former input; if it can't end, "
                        "delete it; no node takes its Pod",
                        former));
  for (const NodeReport& each : last.nodes)
    EXPECT_FALSE(each.node == "backup" && each.state == NodeState::Deleting) << each.detail;
  ASSERT_NE(record.find({"batch/v1", "Job", "shop", former}), nullptr) << "nobody forgets it";
  objects.erase(former);  // as the status says
  for (int round = 0; round < 3; ++round) play();
  EXPECT_EQ(jobs_there(), 1U);
  EXPECT_TRUE(objects.contains("db"));
  end_job("Complete");
  for (int round = 0; round < 5; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

TEST_F(LastActTest, GoesOnWhenTheJobOfItsFormerInputHasEnded) {
  for (const std::string_view how : {"Complete", "Failed"}) {
    objects.clear();
    record = {};
    applied.clear();
    job_spec = "{}";
    instance["metadata"].erase("deletionTimestamp");
    begin();
    play();
    const std::string former = the_job();
    job_spec = "{repaired: true}";
    play();
    end_job(how);
    for (int round = 0; round < 3; ++round) play();
    EXPECT_FALSE(objects.contains(former)) << how;
    EXPECT_EQ(jobs_there(), 1U) << how;
    EXPECT_EQ(std::ranges::count(applied, "backup"), 2) << how;
    EXPECT_TRUE(objects.contains("db")) << how;
  }
}

TEST_F(LastActTest, DeletesTheJobOfItsFormerInputThatIsSuspended) {
  begin();
  play();
  const std::string former = the_job();
  job_spec = "{repaired: true}";
  suspend_job();
  objects[former]["status"].set("active", 1);
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.contains(former)) << "a Pod of it is still there";
  objects[former]["status"].set("active", 0);
  for (int round = 0; round < 3; ++round) play();
  EXPECT_FALSE(objects.contains(former));
  EXPECT_EQ(jobs_there(), 1U);
  EXPECT_TRUE(objects.contains("db"));
}

// An act of an instance that lives on.
class ActTest : public LastActTest {
 protected:
  void SetUp() override {
    describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {db: own, backup: act, app: own}
also: [{from: instance, to: db}, {from: instance, to: app}, {from: instance, to: backup}]
sequence: [{from: db, to: backup}, {from: backup, to: app}]
)");
  }
};

TEST_F(ActTest, SaysWhyTheJobOfItsFormerInputDoesNotEnd) {
  play();
  play();
  const std::string former = the_job();
  job_spec = "{repaired: true}";
  for (int round = 0; round < 3; ++round) play();
  EXPECT_EQ(jobs_there(), 1U);
  EXPECT_THAT(report("backup").detail, HasSubstr("if it can't end, delete it; no node takes its Pod"));
  suspend_job();
  for (int round = 0; round < 3; ++round) play();
  EXPECT_FALSE(objects.contains(former)) << "nothing of it runs, and it doesn't end";
  EXPECT_EQ(jobs_there(), 1U);
}

TEST_F(ActTest, IsNotReadyWhileAJobOfAnInputRunsThatWasTakenBack) {
  play();
  play();
  const std::string good = the_job();
  end_job("Complete");
  for (int round = 0; round < 4; ++round) play();
  ASSERT_EQ(report("backup").state, NodeState::Ready);
  job_spec = "{nodeSelector: nope}";
  for (int round = 0; round < 3; ++round) play();
  const std::string abandoned = the_job();
  ASSERT_NE(abandoned, good);
  job_spec = "{}";
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.contains(abandoned)) << "it may be writing";
  EXPECT_EQ(report("backup").state, NodeState::Progressing);
  EXPECT_THAT(report("backup").detail, HasSubstr(abandoned));
  suspend_job();
  for (int round = 0; round < 3; ++round) play();
  EXPECT_EQ(jobs_there(), 0U);
  EXPECT_EQ(report("backup").state, NodeState::Ready);
  EXPECT_EQ(std::ranges::count(applied, "backup"), 2) << "what has succeeded isn't run again";
}

TEST_F(LastActTest, ThatCannotBeMadeKeepsTheRestToo) {
  begin();
  failing = "backup";
  for (int round = 0; round < 3; ++round) play();
  EXPECT_TRUE(objects.contains("db"));
  EXPECT_FALSE(last.finished);
  EXPECT_EQ(report("backup").state, NodeState::Failed);
}

// The record alone says that there was one.
TEST_F(LastActTest, KeepsTheRestWithoutTheBlueprintThatCouldRunIt) {
  begin();
  EXPECT_THAT(record.last_acts, ElementsAre(std::pair("backup", std::vector<std::string>{"db"})));
  const auto stored = record_from(to_text(record));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(*stored, record);
  for (int round = 0; round < 3; ++round) {
    last = tear_down(instance, record, queries());
    carry_out(last);
  }
  EXPECT_THAT(deleted, ElementsAre("app")) << "nothing says that this has to wait";
  EXPECT_EQ(report("db").detail, "waits until backup has run");
  EXPECT_THAT(report("backup").detail, ::testing::HasSubstr("there is no blueprint in force"));
  EXPECT_FALSE(last.finished);
  play();
  end_job("Complete");
  play();
  EXPECT_TRUE(objects.contains("db")) << "its success is recorded first";
  for (int round = 0; round < 3; ++round) {
    last = tear_down(instance, record, queries());
    carry_out(last);
  }
  EXPECT_FALSE(objects.contains("db")) << "it has run";
}

TEST_F(LastActTest, ThatEndsWhileThereIsNoBlueprintDoesNotRunAgain) {
  begin();
  play();
  ASSERT_EQ(jobs_there(), 1U);
  end_job("Complete");
  for (int round = 0; round < 3; ++round) {
    last = tear_down(instance, record, queries());
    carry_out(last);
  }
  EXPECT_EQ(jobs_there(), 0U);
  for (int round = 0; round < 5; ++round) play();
  EXPECT_EQ(std::ranges::count(applied, "backup"), 1);
  EXPECT_TRUE(last.finished);
}

TEST_F(LastActTest, APersonDoesWithoutItWhereThereIsNoBlueprint) {
  begin();
  instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, "backup");
  for (int round = 0; round < 3; ++round) {
    last = tear_down(instance, record, queries());
    carry_out(last);
  }
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

// Only the one that a person names is left out.
TEST_F(LastActTest, RunsWhereAPersonDoesWithoutTheOneBeforeIt) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {db: own, app: own, backup: {type: act, teardown: true}, notify: {type: act, teardown: true}}
also: [{from: instance, to: db}, {from: instance, to: app}, {from: instance, to: backup}, {from: instance, to: notify}]
sequence: [{from: db, to: backup}, {from: backup, to: notify}, {from: db, to: app}]
)");
  begin();
  play();
  EXPECT_EQ(jobs_there(), 1U);
  end_job("Failed");
  instance["metadata"]["annotations"].set(kOutOfOrderAnnotation, "backup");
  for (int round = 0; round < 3; ++round) play();
  EXPECT_EQ(std::ranges::count(applied, "notify"), 1);
  EXPECT_TRUE(objects.contains("db"));
  EXPECT_EQ(report("db").detail, "waits until notify has run");
  end_job("Complete");
  for (int round = 0; round < 5; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

// "backup" has nothing to save, and "notify" doesn't wait for it.
TEST_F(LastActTest, RunsWhereTheOneBeforeItHasNothingToSave) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {db: own, app: own, backup: {type: act, teardown: true}, notify: {type: act, teardown: true}}
also: [{from: instance, to: db}, {from: instance, to: app}, {from: instance, to: backup}, {from: instance, to: notify}]
sequence: [{from: db, to: backup}, {from: app, to: notify}, {from: backup, to: notify}]
)");
  begin();
  objects.erase("db");
  play();
  EXPECT_THAT(applied, ::testing::Contains("notify")) << report("notify").detail;
  EXPECT_THAT(applied, ::testing::Not(::testing::Contains("backup")));
  EXPECT_TRUE(objects.contains("app"));
  end_job("Complete");
  for (int round = 0; round < 5; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

// The record has the object under the later state.
TEST_F(LastActTest, SavesAnObjectThatIsInALaterState) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {small: own, large: own, backup: {type: act, teardown: true}}
also: [{from: instance, to: small}, {from: instance, to: large}, {from: instance, to: backup}]
sequence: [{from: small, to: large, until: present}, {from: small, to: backup}]
)");
  states = true;
  for (int round = 0; round < 4; ++round) play();
  ASSERT_THAT(applied, ElementsAre("small", "large"));
  EXPECT_THAT(record.last_acts, ElementsAre(std::pair("backup", std::vector<std::string>{"large", "small"})));
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  failing = "large";  // so that nobody can say what its object is
  play();
  EXPECT_EQ(jobs_there(), 1U);
  EXPECT_THAT(deleted, IsEmpty());
  end_job("Complete");
  for (int round = 0; round < 5; ++round) play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

TEST_F(LastActTest, WithNothingToSaveIsLeftOut) {
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  play();
  EXPECT_TRUE(objects.empty());
  EXPECT_TRUE(last.finished);
}

// The objects of one node: an order as in a release.
class ListNodeTest : public ReconcileTest {
 protected:
  std::vector<std::string> names_written() {
    Queries many = queries();
    many.make = [this](const std::string&, const Value&) -> Result<Value> { return made; };
    last = decide(blueprint, instance, record, many);
    std::vector<std::string> names;
    for (const Apply& each : last.applies) names.push_back(each.id.name);
    std::ranges::sort(names);
    carry_out(last);
    return names;
  }

  Value made = yaml(R"([
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop},
   spec: {template: {spec: {serviceAccountName: runner, containers: [{name: a, envFrom: [{configMapRef: {name: settings}}]}]}}}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}},
  {apiVersion: v1, kind: ServiceAccount, metadata: {name: runner, namespace: shop}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}}])");
};

TEST_F(ListNodeTest, CreatesWhatOthersReferToFirst) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own}, also: [{from: instance, to: "
      "a}]}");
  EXPECT_THAT(names_written(), ElementsAre("other", "runner", "settings"));
  EXPECT_EQ(report("a").state, NodeState::Changing);
  EXPECT_EQ(last.record.objects.size(), 4U) << "all are recorded together";
  EXPECT_THAT(names_written(), ElementsAre("web"));
  EXPECT_THAT(names_written(), IsEmpty());
  // A repair of what is there waits for nothing.
  objects.erase("settings");
  objects["web"]["spec"]["template"]["spec"].set("serviceAccountName", "default");
  EXPECT_THAT(names_written(), ElementsAre("settings", "web"));
}

TEST_F(ListNodeTest, WaitsForWhatComesFirstAndSaysSo) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own}, also: [{from: instance, to: "
      "a}]}");
  names_written();
  objects["runner"]["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_THAT(names_written(), IsEmpty());
  EXPECT_THAT(report("a").detail, HasSubstr("ServiceAccount shop/runner"));
}

// A node between two states of an object, whose input alone changes.
class BetweenStatesTest : public ReconcileTest {
 protected:
  // The nodes that are written in each round.
  std::vector<std::vector<std::string>> rounds() {
    std::vector<std::vector<std::string>> all;
    for (int round = 0; round < 20; ++round) {
      Queries states = queries();
      states.make = [this](const std::string& node, const Value& environment) -> Result<Value> {
        if (failing == node) return error(ErrorKind::Invalid, "no such field");
        const bool is_job = blueprint.nodes()[*blueprint.node_called(node)].type == blueprint::NodeType::Act;
        const auto object = object_of.find(node);
        return yaml(
            fmt::format("{{apiVersion: {}, kind: {}, metadata: {{name: {}, namespace: shop}}, data: {{by: "
                        "{}, size: '{}'}}}}",
                        is_job ? "batch/v1" : "v1", is_job ? "Job" : "ConfigMap",
                        object == object_of.end() ? node : object->second, node,
                        node == sized ? environment.at_path({"instance", "spec", "size"})->as_int() : 0));
      };
      if (refuses_all)
        states.check_node = [](const std::string&, const Value&) -> Status {
          return error(ErrorKind::Invalid, "contract broken");
        };
      last = decide(blueprint, instance, record, states);
      if (last.applies.empty() && last.deletes.empty() && last.record == record) return all;
      applied.clear();
      carry_out(last);
      for (auto& [name, object] : objects)
        if (object.string_at("kind") == "Job")
          object.set("status", yaml("{conditions: [{type: Complete, status: 'True'}]}"));
      std::ranges::sort(applied);
      if (!applied.empty()) all.push_back(applied);
    }
    ADD_FAILURE() << "it never ends";
    return all;
  }
  // The instance wants all of them.
  void describe_all(std::string_view nodes, std::string_view sequence) {
    std::string also;
    const Value names = yaml(nodes);
    for (const Value::Member& each : names.as_object())
      also += fmt::format("{}{{from: instance, to: {}}}", also.empty() ? "" : ", ", each.key);
    describe(
        fmt::format("kind: {{group: example.com, version: v1, kind: App}}\nnodes: {}\nalso: [{}]\n"
                    "sequence: [{}]",
                    nodes, also, sequence));
  }
  void describe_chain(std::string_view stopped, std::string_view sequence) {
    describe_all(fmt::format("{{stopped: {}, config: own, other: own, running: own}}", stopped), sequence);
  }
  using Rounds = std::vector<std::vector<std::string>>;

  std::map<std::string, std::string> object_of = {
      {"stopped", "web"}, {"warm", "web"}, {"running", "web"}, {"other-running", "other"}};
  std::string sized = "config";  // the node whose input is the size
  bool refuses_all = false;      // no object meets a contract
};

TEST_F(BetweenStatesTest, ItsNewInputTakesTheObjectThroughBothStates) {
  describe_chain("own",
                 "{from: stopped, to: config}, {from: config, to: running}, {from: config, to: other}");
  const Rounds first = {{"stopped"}, {"config"}, {"other", "running"}};
  EXPECT_EQ(rounds(), first);
  EXPECT_EQ(rounds(), Rounds());
  instance["spec"].set("size", 2);
  const Rounds again = {{"stopped"}, {"config"}, {"running"}};
  EXPECT_EQ(rounds(), again);
  EXPECT_EQ(objects["config"].string_at({"data", "size"}), "2");
  EXPECT_EQ(objects["web"].string_at({"data", "by"}), "running");
  // A repair has no new input.
  objects.erase("config");
  EXPECT_EQ(rounds(), Rounds{{"config"}});
}

TEST_F(BetweenStatesTest, SoDoesThatOfANodeFurtherAway) {
  describe_chain("own", "{from: stopped, to: config}, {from: config, to: other}, {from: other, to: running}");
  EXPECT_EQ(rounds().size(), 4U);
  instance["spec"].set("size", 2);
  const Rounds again = {{"stopped"}, {"config"}, {"running"}};
  EXPECT_EQ(rounds(), again);
}

TEST_F(BetweenStatesTest, TheObjectStaysWhereGoingBackWouldNotHelp) {
  describe_chain("own",
                 "{from: stopped, to: config}, {from: other, to: config}, {from: config, to: running}");
  rounds();
  instance["spec"].set("size", 2);
  objects["other"]["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_EQ(rounds(), Rounds()) << "config waits for other too";
  EXPECT_EQ(report("stopped").state, NodeState::Superseded);
  objects["other"]["metadata"].erase("deletionTimestamp");
  const Rounds again = {{"stopped"}, {"config"}, {"running"}};
  EXPECT_EQ(rounds(), again);
}

// Nobody would go on to the state in which the object is now, since another one may follow the first.
TEST_F(BetweenStatesTest, TheObjectStaysWhereAnotherStateWouldFollowFirst) {
  describe_all("{stopped: own, config: own, warm: own, running: own}",
               "{from: stopped, to: config}, {from: stopped, to: warm}, {from: warm, to: running}, {from: "
               "config, to: running}");
  rounds();
  ASSERT_EQ(objects["web"].string_at({"data", "by"}), "running");
  instance["spec"].set("size", 2);
  EXPECT_EQ(rounds(), Rounds{{"config"}}) << "warm doesn't wait for config: stopped is passed";
  EXPECT_EQ(report("config").state, NodeState::Ready);
}

// A node that reads the object isn't one of its states: its contract holds, or it doesn't.
TEST_F(BetweenStatesTest, AnEdgeFromANodeThatReadsIsNeverPassed) {
  describe_all("{seen: {type: read, contract: true}, running: own, config: own}",
               "{from: seen, to: running, until: gone}, {from: seen, to: config}");
  object_of["seen"] = "web";
  refuses_all = true;
  EXPECT_EQ(rounds(), Rounds{{"running"}});
  EXPECT_EQ(report("config").waits_on, "seen");
}

// Two objects go back together.
TEST_F(BetweenStatesTest, ANodeThatWaitsForStatesOfTwoObjectsTakesBothBack) {
  describe_all("{stopped: own, other: own, config: own, running: own, other-running: own}",
               "{from: stopped, to: config}, {from: other, to: config}, {from: config, to: running}, {from: "
               "config, to: other-running}");
  rounds();
  instance["spec"].set("size", 2);
  const Rounds again = {{"other", "stopped"}, {"config"}, {"other-running", "running"}};
  EXPECT_EQ(rounds(), again);
}

TEST_F(BetweenStatesTest, SoDoesAnActThatALaterStateWaitsForOverAnother) {
  describe_all("{stopped: own, job: act, warm: own, running: own}",
               "{from: stopped, to: job}, {from: job, to: warm}, {from: warm, to: running}");
  sized = "job";
  rounds();
  ASSERT_EQ(objects["web"].string_at({"data", "by"}), "running");
  instance["spec"].set("size", 2);
  const Rounds again = {{"stopped"}, {"job"}, {"warm"}, {"running"}};
  EXPECT_EQ(rounds(), again);
}

TEST_F(BetweenStatesTest, AStateIsNotPresentBecauseTheObjectIs) {
  describe_all(
      "{stopped: own, config: own, warm: own, running: own}",
      "{from: stopped, to: config}, {from: config, to: warm}, {from: warm, to: running, until: present}");
  failing = "config";
  EXPECT_EQ(rounds(), Rounds{{"stopped"}});
  EXPECT_EQ(report("running").state, NodeState::Waiting);
}

TEST_F(BetweenStatesTest, AValueBetweenThemIsReadyAfterwards) {
  describe_all("{stopped: own, config: value, running: own}",
               "{from: stopped, to: config}, {from: config, to: running}");
  rounds();
  EXPECT_EQ(objects["web"].string_at({"data", "by"}), "running");
  for (const NodeReport& each : last.nodes)
    EXPECT_TRUE(each.state == NodeState::Ready || each.state == NodeState::Superseded) << each.node;
}

// It was on its way already when the first state got another input.
TEST_F(BetweenStatesTest, AnEdgeFromAStateThatWasPassedHolds) {
  describe_all("{stopped: own, warm: own, running: own, last: own}",
               "{from: stopped, to: warm}, {from: stopped, to: running}, {from: warm, to: running}, {from: "
               "last, to: running}");
  sized = "stopped";
  failing = "last";
  rounds();
  ASSERT_EQ(objects["web"].string_at({"data", "by"}), "warm");
  instance["spec"].set("size", 2);
  EXPECT_EQ(rounds(), Rounds());
  failing.clear();
  const Rounds rest = {{"last"}, {"running"}};
  EXPECT_EQ(rounds(), rest);
}

// Deleting what was made since would lose it.
TEST_F(BetweenStatesTest, AnObjectIsNotDeletedOnceMore) {
  describe_chain("absent", "{from: stopped, to: config}, {from: config, to: running}");
  rounds();
  ASSERT_TRUE(objects.contains("web"));
  instance["spec"].set("size", 2);
  EXPECT_EQ(rounds(), Rounds{{"config"}});
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_EQ(report("running").state, NodeState::Ready);
}

TEST_F(ReconcileTest, AListThatIsRefusedSaysSo) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: list}, "
      "also: [{from: instance, to: a}]}");
  Queries refusing = queries();
  refusing.make = [](const std::string&, const Value&) { return yaml("{apiVersion: v1, kind: Secret}"); };
  refusing.list = [](const Collection&) { return std::optional<Value::Array>(); };
  last = decide(blueprint, instance, record, refusing);
  EXPECT_EQ(report("a").detail, "waits until the list of Secret is known");
  refusing.unlisted = [](const Collection& of) { return of.kind + "s are forbidden"; };
  last = decide(blueprint, instance, record, refusing);
  EXPECT_EQ(report("a").state, NodeState::Waiting);
  EXPECT_EQ(report("a").detail, "Secret can't be listed: Secrets are forbidden");
}

TEST_F(ReconcileTest, AListWhoseLabelsAreNoneFails) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: list}, "
      "also: [{from: instance, to: a}]}");
  Queries listing = queries();
  std::string labels, selector;
  listing.make = [&](const std::string&, const Value&) {
    return yaml(fmt::format("{{apiVersion: v1, kind: Secret, labels: {}}}", labels));
  };
  listing.list = [&](const Collection& of) {
    selector = of.label_selector;
    return Value::Array();
  };
  for (const auto& [given, why] : std::vector<std::pair<std::string, std::string>>{
           {"[app]", "labels that are no record of texts"},
           {"{app: 5}", "the label app a value that isn't a text"},
           {"{app: 'a,tier=b'}", "\"a,tier=b\", which can't be a label's value"},
           {"{app: 'a '}", "which can't be a label's value"},
           {"{'app,tier': a}", "\"app,tier\", which can't be the name of a label"},
           {"{'/app': a}", "which can't be the name of a label"}}) {
    labels = given;
    last = decide(blueprint, instance, record, listing);
    EXPECT_EQ(report("a").state, NodeState::Failed) << given;
    EXPECT_THAT(report("a").detail, HasSubstr(why)) << given;
  }
  EXPECT_EQ(selector, "") << "none is asked for";
  for (const auto& [given, asked] : std::vector<std::pair<std::string, std::string>>{
           {"{example.com/app: Web_1.0, tier: ''}", "example.com/app=Web_1.0,tier="}, {"null", ""}}) {
    labels = given;
    last = decide(blueprint, instance, record, listing);
    EXPECT_EQ(report("a").state, NodeState::Ready) << given;
    EXPECT_EQ(selector, asked);
  }
}

// The name of an act's Job ends with the hash of its input, and has room for 52 characters of its own.
TEST_F(ReconcileTest, ALongNameWithADotWhereItIsCutIsStillAName) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: act}, "
      "also: [{from: instance, to: a}]}");
  Queries acting = queries();
  acting.make = [](const std::string&, const Value&) {
    return yaml(fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}..b, namespace: shop}}}}",
                            std::string(50, 'a')));
  };
  const Plan plan = decide(blueprint, instance, record, acting);
  ASSERT_EQ(plan.applies.size(), 1U);
  EXPECT_TRUE(plan.applies[0].id.name.starts_with(std::string(50, 'a') + "-")) << plan.applies[0].id.name;
  EXPECT_EQ(plan.applies[0].id.name.size(), 61U);
}

// A value that decides whether an object is wanted, and its default while the source has none.
class SoftEdgeTest : public ReconcileTest {
 protected:
  void SetUp() override { describe_source("http"); }
  void describe_source(std::string_view type) {
    describe(fmt::format(R"(
kind: {{group: example.com, version: v1, kind: App}}
nodes: {{a: own, s: {}, flag: value, x: own}}
also:
  - {{from: instance, to: a}}
  - {{from: instance, to: s}}
  - {{from: instance, to: flag}}
  - {{from: instance, to: x, given: flag}}
sequence:
  - {{from: a, to: s, until: present}}
  - {{from: s, to: flag, gate: soft, extract: {{enabled: {{path: {}, default: false}}}}}}
)",
                         type,
                         type == "list"   ? "'.'"
                         : type == "http" ? "enabled"
                                          : "data.enabled"));
  }
  const Plan& play() {
    Queries soft = queries();
    soft.make = [make = soft.make, this](const std::string& node, const Value& environment) -> Result<Value> {
      if (node == failing) return error(ErrorKind::Trap, "it reached a limit");
      if (node == "flag")
        return Value(environment.find("enabled")->is_array() || environment.is_true_at("enabled"));
      if (node != "s") return make(node, environment);
      return yaml(
          "{service: web, port: 8080, apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: "
          "shop}}");
    };
    // Only the fields of its type count.
    const auto source = blueprint.node_called("s");
    if (source && blueprint.nodes()[*source].type == blueprint::NodeType::Http)
      soft.make = [make = soft.make, this](const std::string& node,
                                           const Value& environment) -> Result<Value> {
        return node == "s" && node != failing ? yaml("{service: web, port: 8080}") : make(node, environment);
      };
    soft.ask = [this](const std::string&, const HttpQuestion&) { return answer; };
    soft.answered = [this](const std::string&) { return has_answered; };
    soft.observe = [observe = soft.observe, this](const ObjectId& id, bool owned) {
      if (id.name == unseen) return Observation{Observation::State::Unknown, {}, "forbidden"};
      return observe(id, owned);
    };
    soft.list = [this](const Collection&) { return listed; };
    soft.unserved = [this](const apimachinery::GroupKind&) { return unserved; };
    last = decide(blueprint, instance, record, soft);
    return last;
  }
  void settle_softly() {
    for (int round = 0; round < 5; ++round) carry_out(play());
    EXPECT_TRUE(last.writes_nothing());
    EXPECT_EQ(objects.contains("x"), is_wanted);
  }
  void expect_nothing_happens() {
    EXPECT_TRUE(play().writes_nothing());
    EXPECT_EQ(last.record, record);
    EXPECT_EQ(report("x").detail, "whether it is wanted is not known yet");
  }

  bool is_wanted = true, unserved = false, has_answered = false;
  HttpAnswer answer = {.body = yaml("{enabled: true}")};
  std::optional<Value::Array> listed = Value::Array();
  std::string unseen;
};

TEST_F(SoftEdgeTest, AnAnswerThatNobodyHasYetIsNoDefault) {
  settle_softly();
  // As after a restart.
  answer = {};
  expect_nothing_happens();
  EXPECT_EQ(report("flag").detail, "waits for enabled of s: it is being asked");
  EXPECT_EQ(report("flag").waits_on, "s");
  answer.failure = "no endpoint";
  expect_nothing_happens();
  EXPECT_EQ(report("flag").detail, "waits for enabled of s: no endpoint") << "one try that failed";
  answer.stale = true;
  is_wanted = false;
  settle_softly();
}

TEST_F(SoftEdgeTest, WhereNobodyIsToBeAskedTheDefaultFlows) {
  unseen = "a";
  answer = {};
  play();
  EXPECT_EQ(report("flag").state, NodeState::Waiting) << "whether its edges hold is not known";
  unseen.clear();
  play();
  EXPECT_EQ(report("flag").state, NodeState::Ready) << "they don't";
  EXPECT_EQ(report("x").state, NodeState::NotWanted);
}

// As in a rolling update: it answers again in a moment, as it did before.
TEST_F(SoftEdgeTest, WhileTheOneWhoAnswersIsReplacedThereIsNoDefault) {
  settle_softly();
  objects.erase("a");
  play();
  EXPECT_TRUE(last.deletes.empty());
  EXPECT_EQ(report("flag").state, NodeState::Waiting);
  EXPECT_EQ(report("x").detail, "whether it is wanted is not known yet");
  settle_softly();
}

// The same where its function needs a value of what is replaced.
TEST_F(SoftEdgeTest, WhileAValueForTheQuestionIsAwayThereIsNoDefault) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, s: http, flag: value, x: own}
also:
  - {from: instance, to: a}
  - {from: instance, to: s}
  - {from: instance, to: flag}
  - {from: instance, to: x, given: flag}
sequence:
  - {from: a, to: s, until: present, extract: {address: data.ip}}
  - {from: s, to: flag, gate: soft, extract: {enabled: {path: enabled, default: false}}}
)");
  settle_softly();
  objects.erase("a");
  play();
  EXPECT_TRUE(last.deletes.empty());
  EXPECT_EQ(report("flag").state, NodeState::Waiting);
  settle_softly();
}

// It isn't recorded, so only those whom it has answered know that it was there.
TEST_F(SoftEdgeTest, WhileAnObjectOfOthersIsReplacedThereIsNoDefault) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: read, s: http, flag: value, x: own}
also:
  - {from: instance, to: a}
  - {from: instance, to: s}
  - {from: instance, to: flag}
  - {from: instance, to: x, given: flag}
sequence:
  - {from: a, to: s, until: present}
  - {from: s, to: flag, gate: soft, extract: {enabled: {path: enabled, default: false}}}
)");
  objects["a"] = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}");
  settle_softly();
  objects.erase("a");
  has_answered = true;
  expect_nothing_happens();
  EXPECT_EQ(report("flag").state, NodeState::Waiting);
  has_answered = false;
  is_wanted = false;
  settle_softly();
}

// The same where only its field is gone: for a while it may come back.
TEST_F(SoftEdgeTest, WhileAFieldOfAnObjectOfOthersIsGoneThereIsNoDefault) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: read, s: http, flag: value, x: own}
also:
  - {from: instance, to: a}
  - {from: instance, to: s}
  - {from: instance, to: flag}
  - {from: instance, to: x, given: flag}
sequence:
  - {from: a, to: s, until: present, extract: {address: data.ip}}
  - {from: s, to: flag, gate: soft, extract: {enabled: {path: enabled, default: false}}}
)");
  objects["a"] =
      yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {ip: 10.0.0.1}}");
  settle_softly();
  objects["a"]["data"].erase("ip");
  has_answered = true;
  expect_nothing_happens();
  has_answered = false;
  is_wanted = false;
  settle_softly();
}

// The record has it as soon as something else is written, however long it has to wait itself.
TEST_F(SoftEdgeTest, AnObjectThatWasOnlyPlannedWasNeverThere) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {r: read, a: own, c: own, s: http, flag: value, x: own}
also:
  - {from: instance, to: a}
  - {from: instance, to: c}
  - {from: instance, to: r}
  - {from: instance, to: s}
  - {from: instance, to: flag}
  - {from: instance, to: x, given: flag}
sequence:
  - {from: r, to: a}
  - {from: a, to: s, until: present}
  - {from: s, to: flag, gate: soft, extract: {enabled: {path: enabled, default: true}}}
  - {from: c, to: x, until: present}
)");
  carry_out(play());
  ASSERT_NE(record.find({"v1", "ConfigMap", "shop", "a"}), nullptr) << "planned";
  carry_out(play());
  EXPECT_TRUE(objects.contains("x"));
  EXPECT_FALSE(objects.contains("a"));
}

TEST_F(SoftEdgeTest, AFunctionThatFailsGivesNoDefault) {
  settle_softly();
  failing = "s";
  expect_nothing_happens();
  EXPECT_THAT(report("flag").detail, HasSubstr("waits for enabled of s, which"));
}

TEST_F(SoftEdgeTest, AnObjectThatCannotBeReadIsNotMissing) {
  describe_source("read");
  objects["s"] =
      yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: shop}, data: {enabled: true}}");
  settle_softly();
  unseen = "s";
  expect_nothing_happens();
  EXPECT_EQ(report("flag").detail, "waits for data.enabled of s: ConfigMap shop/s can't be read: forbidden");
  // Nobody has an object of a kind that isn't served.
  unserved = true;
  is_wanted = false;
  settle_softly();
  unserved = false;
  unseen.clear();
  is_wanted = true;
  settle_softly();
  objects.erase("s");
  is_wanted = false;
  settle_softly();
}

TEST_F(SoftEdgeTest, AListThatIsNotKnownIsNotEmpty) {
  describe_source("list");
  settle_softly();
  listed.reset();
  expect_nothing_happens();
  unserved = true;
  is_wanted = false;
  settle_softly();
}

TEST_F(SoftEdgeTest, ABackwardEdgeOfWhichTheObjectIsNotSeenGivesNoDefault) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own}
also: [{from: instance, to: a}, {from: instance, to: b}]
sequence: [{from: a, to: b}, {from: b, to: a, gate: soft, extract: {address: {path: data.size, default: none}}}]
)");
  for (int round = 0; round < 5; ++round) carry_out(play());
  ASSERT_EQ(objects["a"].string_at({"data", "address"}), "1");
  unseen = "b";
  EXPECT_TRUE(play().writes_nothing());
  EXPECT_EQ(report("a").detail, "waits for data.size of b: ConfigMap shop/b can't be read: forbidden");
}

// Whichever of them is tried now: the status doesn't change with that.
TEST_F(ReconcileTest, OfSeveralFailingObjectsTheFirstSpeaks) {
  describe(
      "{kind: {group: example.com, version: v1, kind: App}, nodes: {a: own}, "
      "also: [{from: instance, to: a}]}");
  Queries listing = queries();
  listing.make = [](const std::string&, const Value&) {
    return yaml(
        "[{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}, "
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop}}, "
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}]");
  };
  std::string tried;
  listing.held = [&](const ObjectId& id, const std::string&) {
    return id.name == tried ? std::nullopt : std::optional<std::string>(id.name + " is refused");
  };
  for (const std::string_view name : {"", "a", "b", "c"}) {
    tried = name;
    last = decide(blueprint, instance, record, listing);
    EXPECT_EQ(last.applies.size(), tried.empty() ? 0U : 1U);
    // As the executor does where it fails once more.
    if (!tried.empty()) last.nodes.front().fails(last.applies.front().id, tried + " is refused");
    const Value status = status_of(last, instance, "2026-01-01T00:00:00Z");
    EXPECT_EQ(status.find("conditions")->as_array()[0].string_at("message"),
              "ConfigMap shop/a and 2 more: a is refused")
        << tried;
  }
}

// A blueprint's author has no right to a release's record, the operator may have.
TEST_F(ReconcileTest, NodesNeitherMakeNorReadRecordsOfReleases) {
  describe(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: read}
also: [{from: instance, to: a}, {from: instance, to: b}]
sequence: []
)");
  objects["mistletoe.web"] =
      yaml("{apiVersion: v1, kind: Secret, metadata: {name: mistletoe.web, namespace: shop}}");
  Queries forging = queries();
  forging.make = [](const std::string& node, const Value&) -> Result<Value> {
    return node == "a"
               ? yaml(
                     "{apiVersion: v1, kind: Secret, type: mistletoe.dev/release, metadata: {name: x, "
                     "namespace: shop}}")
               : yaml("{apiVersion: v1, kind: Secret, metadata: {name: mistletoe.web, namespace: shop}}");
  };
  last = decide(blueprint, instance, record, forging);
  EXPECT_THAT(last.applies, IsEmpty());
  EXPECT_EQ(report("a").state, NodeState::Failed);
  EXPECT_THAT(report("a").detail, HasSubstr("has the type mistletoe.dev/release"));
  EXPECT_EQ(report("b").state, NodeState::Failed);
  EXPECT_THAT(report("b").detail, HasSubstr("the records of releases"));
}

// The contract of a blueprint for the spec, and the values that its nodes write to the status.
class StatusTest : public ReconcileTest {
 protected:
  void SetUp() override {
    describe(R"(
kind: {group: example.com, version: v1, kind: App, has_spec: true, has_status: true}
nodes:
  a: {type: own, status: {address: data.ip}}
  b: own
  report: {type: http, status: {phase: phase, percent: {path: percent, default: 0}}}
also: [{from: instance, to: a}, {from: instance, to: b}, {from: instance, to: report, when: spec.more}]
sequence: [{from: a, to: report, until: present}, {from: report, to: b}]
)");
  }
  Queries with_contracts() {
    Queries all = queries();
    all.make = [make = all.make, this](const std::string& node, const Value& environment) -> Result<Value> {
      return node == "report" ? yaml("{service: web, port: 8080}") : make(node, environment);
    };
    all.check_spec = [this](const Value&) -> Status {
      return spec_error.empty() ? Status() : Status(error(ErrorKind::Invalid, "{}", spec_error));
    };
    all.check_status = [this](const Value& status) -> Status {
      ++status_checks;
      return status.string_at("phase") == "Lost" ? Status(error(ErrorKind::Invalid, "status.phase: Lost"))
                                                 : Status();
    };
    all.ask = [this](const std::string& node, const HttpQuestion& question) {
      EXPECT_EQ(node, "report");
      EXPECT_EQ(question.ns, "shop");
      ++questions;
      return answer;
    };
    return all;
  }
  const Plan& play() {
    last = decide(blueprint, instance, record, with_contracts());
    return last;
  }
  Value status() { return status_of(last, instance, "2026-01-01T00:00:00Z"); }
  std::string condition(std::string_view type, std::string_view field) {
    const Value all = status();
    for (const Value& each : all.find("conditions")->as_array())
      if (each.string_at("type") == type) return std::string(each.string_at(field));
    return {};
  }

  std::string spec_error;
  HttpAnswer answer;
  int questions = 0, status_checks = 0;
};

TEST_F(StatusTest, ASpecThatBreaksItsContractChangesNothing) {
  carry_out(play());
  EXPECT_EQ(condition("SpecValid", "status"), "True");
  spec_error = "spec.size: must be even";
  objects.erase("a");
  const Plan broken = play();
  EXPECT_TRUE(broken.writes_nothing());
  EXPECT_EQ(broken.record, record);
  EXPECT_EQ(condition("Ready", "reason"), "SpecInvalid");
  EXPECT_EQ(condition("SpecValid", "status"), "False");
  EXPECT_EQ(condition("SpecValid", "message"), "spec.size: must be even");
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  EXPECT_TRUE(play().finished) << "it can be deleted all the same";
}

// The rest of it is missing, and must not become something else.
TEST_F(StatusTest, ASpecThatNestsTooDeepChangesNothing) {
  carry_out(play());
  Value deep = 1;
  for (int level = 0; level < kMostSpecLevels; ++level) deep = Value::array({deep});
  instance["spec"].set("deep", deep);
  objects.erase("a");
  const Plan broken = play();
  EXPECT_TRUE(broken.writes_nothing());
  EXPECT_EQ(condition("SpecValid", "message"), "spec nests more than 500 levels deep");
}

TEST_F(StatusTest, NobodyIsAskedBeforeTheEdgesHoldAndWhatWaitsWaitsForTheAnswer) {
  play();
  EXPECT_EQ(questions, 0);
  EXPECT_EQ(report("report").state, NodeState::Waiting);
  carry_out(last);
  play();
  EXPECT_GT(questions, 0);
  EXPECT_EQ(report("report").detail, "it is being asked");
  EXPECT_EQ(report("b").state, NodeState::Waiting);
  EXPECT_EQ(status().string_at("address"), "10.0.0.1");
  answer.body = yaml("{phase: Done}");
  play();
  EXPECT_EQ(report("report").state, NodeState::Ready);
  EXPECT_EQ(last.applies.size(), 1U);
  EXPECT_EQ(status().string_at("phase"), "Done");
  EXPECT_EQ(*status().find("percent"), Value(0)) << "a default";
}

TEST_F(StatusTest, ASilentSourceKeepsItsValuesAndSaysWhy) {
  carry_out(play());
  answer = {.body = yaml("{phase: Running, percent: 5}"), .failure = "no endpoint"};
  play();
  EXPECT_EQ(condition("SourcesAnswer", "message"), "report: no endpoint");
  EXPECT_EQ(report("report").state, NodeState::Ready) << "one failure is no news";
  answer.stale = true;
  play();
  EXPECT_EQ(report("report").state, NodeState::Failed);
  EXPECT_EQ(status().string_at("phase"), "Running");
  // An operator that starts again has asked nobody yet.
  instance.set("status", status());
  answer = {};
  play();
  EXPECT_EQ(*status().find("percent"), Value(5));
  EXPECT_EQ(condition("SourcesAnswer", "status"), "");
  instance["spec"].set("more", false);
  play();
  EXPECT_EQ(status().find("phase"), nullptr) << "its node isn't wanted";
  EXPECT_FALSE(has_status(&blueprint, instance, status())) << "so it has to be removed";
}

TEST_F(StatusTest, ValuesThatTheContractRefusesAreNotWritten) {
  carry_out(play());
  answer.body = yaml("{phase: Running, percent: 1}");
  play();
  instance.set("status", status());
  EXPECT_TRUE(has_status(&blueprint, instance, status()));
  answer.body = yaml("{phase: Lost, percent: 2}");
  play();
  EXPECT_EQ(status().string_at("phase"), "Running");
  EXPECT_EQ(*status().find("percent"), Value(1));
  EXPECT_EQ(condition("StatusValid", "message"), "status.phase: Lost");
}

TEST_F(StatusTest, AStatusWithoutValuesMeetsEveryContract) {
  carry_out(play());
  answer.body = yaml("{phase: Running, percent: 1}");
  play();
  instance.set("status", status());
  const int before = status_checks;
  instance["spec"].set("more", false);
  describe(R"(
kind: {group: example.com, version: v1, kind: App, has_status: true}
nodes: {report: {type: http, status: {phase: phase}}}
also: [{from: instance, to: report, when: spec.more}]
sequence: []
)");
  play();
  EXPECT_EQ(status_checks, before);
  EXPECT_EQ(status().find("phase"), nullptr);
}

TEST(ForFunctions, AnInstanceWithoutLabelsHasAnEmptyRecordOfThem) {
  EXPECT_EQ(for_functions(yaml("{apiVersion: a/v1, kind: A, metadata: {name: a}, status: {x: 1}}")),
            yaml("{apiVersion: a/v1, kind: A, metadata: {name: a, labels: {}}}"));
  EXPECT_EQ(for_functions(yaml("{metadata: {labels: {a: b}, annotations: {c: d}}}")),
            yaml("{metadata: {labels: {a: b}}}"));
}

}  // namespace
}  // namespace mist::reconcile
