#include "apply/plan/announce.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

PlannedAction action(ActionKind kind, std::string name, std::size_t desired) {
  PlannedAction result;
  result.kind = kind;
  result.key = {{"apps", "Deployment"}, "shop", std::move(name)};
  result.reason = "because";
  result.desired = desired;
  return result;
}

Plan plan_of(std::size_t writes) {
  Plan plan;
  plan.revision = 4;
  for (std::size_t i = 0; i < writes; ++i) {
    plan.writes.push_back(action(ActionKind::Update, fmt::format("d{}", i), i));
    auto object = apimachinery::Object::from_value(
        Value::object({{"apiVersion", "apps/v1"},
                       {"kind", "Deployment"},
                       {"metadata", Value::object({{"name", fmt::format("d{}", i)}})}}));
    plan.desired.push_back(DesiredObject{
        .rendered = {*std::move(object), fmt::format("d{}.yaml", i), 1}, .resource = {}, .key = {}});
  }
  plan.order.graph = graph::SequenceGraph(writes + 1);
  plan.order.objects = writes;
  plan.order.barriers = 1;
  return plan;
}

TEST(Announcement, LeavesValuesOut) {
  Plan plan = plan_of(1);
  plan.writes[0].differences.push_back(
      {.path = ".data.password", .before = "old", .after = "new", .line = 7});
  plan.removals.push_back(action(ActionKind::Delete, "gone", 0));
  const PlanAnnounced said = announcement(plan, {"shop", "web"}, "upgrade");
  EXPECT_EQ(said.operation, "upgrade");
  EXPECT_EQ(said.revision, 4);
  ASSERT_EQ(said.objects.size(), 2u);
  EXPECT_EQ(said.objects[0].object, "Deployment shop/d0");
  EXPECT_EQ(said.objects[0].group, "apps");
  EXPECT_EQ(said.objects[0].action, "update");
  ASSERT_EQ(said.objects[0].fields.size(), 1u);
  EXPECT_EQ(said.objects[0].fields[0].path, ".data.password");
  EXPECT_EQ(said.objects[0].fields[0].file, "d0.yaml");
  EXPECT_EQ(said.objects[0].fields[0].line, 7u);
  EXPECT_EQ(said.objects[1].action, "delete");
}

TEST(Announcement, LooksBehindNodesWithoutObject) {
  Plan plan = plan_of(3);
  plan.order.graph.add({0, 2, 0, "mounted"});
  plan.order.graph.add({1, 3, 0, "before the rest"});
  plan.order.graph.add({3, 2, 0, "the rest"});
  const PlanAnnounced said = announcement(plan, {"shop", "web"}, "install");
  const auto& after = said.objects[2].after;
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].object, "Deployment shop/d0");
  EXPECT_EQ(after[0].reason, "mounted");
  EXPECT_EQ(after[1].object, "Deployment shop/d1");
  EXPECT_EQ(after[1].reason, "the rest");
  EXPECT_TRUE(said.objects[0].after.empty());
}

TEST(Announcement, NamesWhatIsOutsideAndHowItMustBe) {
  Plan plan = plan_of(1);
  plan.order.outside.push_back({.kind = "Secret", .group = {}, .ns = "shop", .name = "db"});
  plan.order.graph.add({plan.order.graph.add_node(), 0, static_cast<int>(EdgePredicate::Ready), "declared"});
  const PlanAnnounced said = announcement(plan, {"shop", "web"}, "install");
  ASSERT_EQ(said.objects[0].after.size(), 1u);
  EXPECT_EQ(said.objects[0].after[0].object, "Secret shop/db");
  EXPECT_EQ(said.objects[0].after[0].reason, "declared (ready)");
}

TEST(Announcement, NamesOnlyAFewOfMany) {
  Plan plan = plan_of(30);
  for (graph::Node node = 0; node < 29; ++node) plan.order.graph.add({node, 29, 0, "all"});
  const PlanAnnounced said = announcement(plan, {"shop", "web"}, "install");
  EXPECT_EQ(said.objects[29].after.size(), 8u);
  EXPECT_EQ(said.objects[29].more_after, 21u);
}

}  // namespace
}  // namespace mist::apply
