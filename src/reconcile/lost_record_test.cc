#include "reconcile/lost_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reconcile/ownership.h"
#include "reconcile/status.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

constexpr std::string_view kOwn = R"(
metadata:
  name: x
  namespace: shop
  uid: u1
  creationTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [mistletoe.dev/operator]
  annotations: {mistletoe.dev/record: "{}"}
  managedFields:
  - manager: mistletoe-operator
    operation: Apply
    time: "2026-01-01T00:00:01Z"
    fieldsV1: {f:metadata: {f:annotations: {f:mistletoe.dev/record: {}}}}
)";

ObjectId map_of(std::string name) { return {"v1", "ConfigMap", "shop", std::move(name)}; }

class LostRecordTest : public ::testing::Test {
 protected:
  // As it is after somebody removed what the operator wrote.
  static Value lost() {
    Value instance = yaml(kOwn);
    instance.set("spec", yaml("{both: false}"));
    instance["metadata"].erase("annotations");
    instance["metadata"].erase("managedFields");
    return instance;
  }
  static Value map(const std::string& name, std::string_view uid = "u1") {
    Value object = yaml(
        fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: shop}}}}", name));
    object["metadata"].set("labels", Value::object({{std::string(kInstanceLabel), uid}}));
    return object;
  }
  Queries queries() {
    return {.make = [](const std::string& node, const Value&) -> Result<Value> {
              Value made = map(node);
              made["metadata"].erase("labels");
              return made;
            },
            .kinds = [](const std::string& node, const Value&,
                        const std::vector<std::string>& unknown) -> std::optional<Value> {
              EXPECT_THAT(unknown, IsEmpty());
              return Value::array({yaml(fmt::format("{{apiVersion: {}/v1, kind: Kind}}", node))});
            },
            .observe =
                [this](const ObjectId& id, bool) {
                  const auto found = objects.find(id);
                  if (found == objects.end()) return Observation{Observation::State::Absent, {}, {}};
                  return Observation{Observation::State::There, found->second, {}};
                },
            .marked =
                [this](const std::set<ObjectKind>& kinds) {
                  asked = kinds;
                  std::vector<ObjectId> ids;
                  for (const auto& [id, object] : objects)
                    if (is_instances(object, "u1")) ids.push_back(id);
                  return ids;
                }};
  }
  void put(Value object) {
    const ObjectId id = id_of(object);
    objects.insert_or_assign(id, std::move(object));
  }

  blueprint::Blueprint blueprint = *blueprint::Blueprint::parse(yaml(R"(
kind: {group: example.com, version: v1, kind: App}
nodes: {a: own, b: own, job: act}
also: [{from: instance, to: a}, {from: instance, to: b, when: spec.both}, {from: instance, to: job, when: spec.both}]
sequence: []
)"));
  std::map<ObjectId, Value> objects;
  std::set<ObjectKind> asked;
};

TEST_F(LostRecordTest, IsInDoubtUnlessTheOperatorWroteIt) {
  Value instance = yaml(kOwn);
  EXPECT_FALSE(is_record_in_doubt(instance));
  instance["metadata"]["managedFields"].as_array()[0].set("manager", "kubectl-replace");
  EXPECT_TRUE(is_record_in_doubt(instance)) << "an older one was put back";
  EXPECT_TRUE(is_record_in_doubt(lost()));
  const Value fresh = yaml(
      "{metadata: {name: x, creationTimestamp: '2026-01-01T00:00:00Z', "
      "managedFields: [{manager: kubectl, operation: Apply, time: '2026-01-01T00:00:00Z'}]}}");
  EXPECT_FALSE(is_record_in_doubt(fresh));
  Value replaced = fresh;
  replaced["metadata"]["managedFields"].as_array()[0].set("time", "2026-01-02T00:00:00Z");
  EXPECT_TRUE(is_record_in_doubt(replaced));
  Value told = fresh;
  told.set("status", yaml("{conditions: [{type: Ready, status: 'True'}]}"));
  EXPECT_TRUE(is_record_in_doubt(told));
}

TEST_F(LostRecordTest, PutsOnRecordWhatNothingWantsAndLeavesItAsItIs) {
  put(map("a"));
  put(map("b"));
  put(map("others", "u2"));
  Value copied = map("copied");
  copied["metadata"].set("ownerReferences", yaml("[{kind: Service, name: a, controller: true}]"));
  put(copied);
  const Value instance = lost();
  const Plan plan = decide(blueprint, instance, {}, queries());
  EXPECT_THAT(asked, ElementsAre(ObjectKind{"a/v1", "Kind"}, ObjectKind{"b/v1", "Kind"},
                                 ObjectKind{"batch/v1", "Job"}, ObjectKind{"v1", "ConfigMap"}));
  EXPECT_THAT(plan.record.unaccounted, ElementsAre(map_of("b")));
  EXPECT_NE(plan.record.find(map_of("a")), nullptr);
  EXPECT_THAT(plan.deletes, IsEmpty());
  const Value status = status_of(plan, instance, "2026-01-01T00:00:00Z");
  const Value& told = status.find("conditions")->as_array().back();
  EXPECT_EQ(told.string_at("reason"), "RecordLost");
  EXPECT_THAT(std::string(told.string_at("message")), HasSubstr("ConfigMap shop/b"));

  // It is known from now on, whoever wrote the record, until somebody sees to it.
  EXPECT_EQ(*record_from(to_text(plan.record)), plan.record);
  Queries later = queries();
  later.marked = nullptr;
  EXPECT_THAT(decide(blueprint, instance, plan.record, later).record.unaccounted, ElementsAre(map_of("b")));
  Value wanted = instance;
  wanted["spec"].set("both", true);
  EXPECT_THAT(decide(blueprint, wanted, plan.record, later).record.unaccounted, IsEmpty());
  objects.erase(map_of("b"));
  EXPECT_THAT(decide(blueprint, instance, plan.record, later).record.unaccounted, IsEmpty());
}

TEST_F(LostRecordTest, AnInstanceStaysUntilSomebodyHasSeenToWhatIsLeft) {
  put(map("a"));
  Value instance = lost();
  instance["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  const Plan plan = decide(blueprint, instance, {}, queries());
  EXPECT_FALSE(plan.finished);
  EXPECT_TRUE(plan.writes_nothing());
  EXPECT_THAT(plan.record.unaccounted, ElementsAre(map_of("a")));
  const Value status = status_of(plan, instance, "2026-01-01T00:00:00Z");
  EXPECT_EQ(status.find("conditions")->as_array()[0].string_at("reason"), "RecordLost");
  objects[map_of("a")]["metadata"].erase("labels");
  EXPECT_TRUE(decide(blueprint, instance, {}, queries()).finished);
}

TEST_F(LostRecordTest, ADeletedJobIsLetGo) {
  Value job = map("job-1");
  job["metadata"].set("deletionTimestamp", "2026-01-01T00:00:00Z");
  job["metadata"].set("finalizers", Value::array({kFinalizer}));
  put(job);
  const Plan plan = decide(blueprint, lost(), {}, queries());
  ASSERT_EQ(plan.releases.size(), 1U);
  EXPECT_EQ(plan.releases[0].id, map_of("job-1"));
}

}  // namespace
}  // namespace mist::reconcile
