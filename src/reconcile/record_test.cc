#include "reconcile/record.h"

#include <gtest/gtest.h>

namespace mist::reconcile {
namespace {

TEST(Record, IsReadBackAsItWasWritten) {
  Record record;
  record.objects = {{.node = "a",
                     .id = {"apps/v1", "Deployment", "shop", "web"},
                     .after = {"b", "c"},
                     .uses = {"v1/ConfigMap/shop/b"},
                     .hash = "h1",
                     .policy = blueprint::Policy::Orphan},
                    {.node = "b", .id = {"v1", "Namespace", "", "shop"}}};
  record.reach("m", "h1");
  record.reach("m", "h2");
  record.progress["m"].failed = "h3";
  record.progress["m"].failure = "it failed";
  EXPECT_EQ(*record_from(to_text(record)), record);
  EXPECT_TRUE(record.reached("m", "h1"));
  EXPECT_FALSE(record.reached("m", "h3"));
}

TEST(Record, OnlyAnInputThatItsObjectShowsNeedsNotBeStored) {
  const Record before{.objects = {{.node = "a", .id = {"v1", "ConfigMap", "shop", "a"}}}};
  Record now = before;
  EXPECT_TRUE(says_as_much(before, now));
  now.objects.front().hash = "h1";
  EXPECT_FALSE(says_as_much(before, now));
  now.objects.front().shown = true;
  EXPECT_TRUE(says_as_much(before, now));
  EXPECT_NE(before, now);
  now.objects.front().after = {"b"};
  EXPECT_FALSE(says_as_much(before, now));
  now = before;
  now.reach("b", "h1");
  EXPECT_FALSE(says_as_much(before, now));
}

TEST(Record, SaysThatItIsDamaged) {
  for (const char* text : {"[]", "{", "null", "garbage"}) EXPECT_FALSE(record_from(text).ok()) << text;
  EXPECT_TRUE(record_from("")->empty());
  EXPECT_TRUE(record_from(R"({"objects": 1, "progress": []})")->empty());
  EXPECT_TRUE(record_from(R"({"objects": [{"node": "a", "uses": 7}]})")->objects.front().uses.empty());
}

TEST(Record, AnObjectIsTheSameInAllVersionsOfItsKind) {
  const ObjectId old{"example.com/v1beta1", "Database", "shop", "db"},
      now{"example.com/v1", "Database", "shop", "db"};
  EXPECT_EQ(text_of_key(old.text()), text_of_key(now.text()));
  EXPECT_EQ(text_of_key("v1/ConfigMap/shop/b"), "/ConfigMap/shop/b");
  EXPECT_EQ(text_of_key("rbac.authorization.k8s.io/v1/ClusterRole//b"),
            "rbac.authorization.k8s.io/ClusterRole//b");
  EXPECT_NE(text_of_key("a/v1/Database/shop/db"), text_of_key("b/v1/Database/shop/db"));
  for (const std::string_view strange : {"", "/", "//", "///", "b"})
    EXPECT_NO_THROW((void)text_of_key(strange)) << strange;
}

TEST(Record, HasWhatManyObjectsUseOnce) {
  std::vector<std::string> uses;
  for (int i = 0; i < 200; ++i) uses.push_back(fmt::format("v1/ConfigMap/shop/a-{}", i));
  Record record;
  for (int i = 0; i < 200; ++i)
    record.objects.push_back(
        {.node = "b", .id = {"v1", "ConfigMap", "shop", fmt::format("b-{}", i)}, .uses = uses});
  const std::string text = to_text(record);
  EXPECT_LT(text.size(), 40000u);
  EXPECT_EQ(*record_from(text), record);
}

TEST(Record, FindsAnObjectInAnyVersionOfItsKind) {
  Record record;
  record.objects = {{.node = "a", .id = {"autoscaling/v1", "HorizontalPodAutoscaler", "shop", "web"}}};
  EXPECT_NE(record.find({"autoscaling/v2", "HorizontalPodAutoscaler", "shop", "web"}), nullptr);
  EXPECT_EQ(record.find({"other/v1", "HorizontalPodAutoscaler", "shop", "web"}), nullptr);
  EXPECT_EQ(record.find({"v1", "HorizontalPodAutoscaler", "shop", "web"}), nullptr);
}

TEST(Record, KeepsTheLastInputsOfAnActAlone) {
  Record record;
  for (std::size_t i = 0; i <= kMostReached; ++i) record.reach("m", std::to_string(i));
  EXPECT_FALSE(record.reached("m", "0"));
  EXPECT_TRUE(record.reached("m", "1"));
  EXPECT_EQ(record.progress["m"].reached.size(), kMostReached);
}

}  // namespace
}  // namespace mist::reconcile
