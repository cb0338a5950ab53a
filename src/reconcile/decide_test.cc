#include "reconcile/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reconcile/status.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

  World world() {
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
    last = decide(blueprint, instance, record, world());
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

TEST_F(ReconcileTest, PrunesWhatNothingWantsAnyMore) {
  settle();
  instance["spec"].set("more", false);
  settle();
  EXPECT_THAT(deleted, ElementsAre("b"));
  EXPECT_EQ(last.record.objects.size(), 1U);
  EXPECT_EQ(report("b").state, NodeState::NotWanted);
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
  World forging = world();
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

}  // namespace
}  // namespace mist::reconcile
