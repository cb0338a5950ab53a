#include "catalog/version_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>


#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string text(std::string_view yaml) {
  std::vector<release::RenderedObject> objects;
  for (Value& document : *encoding::parse_yaml_documents(yaml))
    objects.push_back({.object = *apimachinery::Object::from_value(std::move(document)), .file = "all.yaml"});
  return text_of(objects);
}

TEST(VersionChanges, EachObjectIsComparedWithItself) {
  const std::string before = text(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: \"1\"}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: same}}");
  const std::string after = text(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: same}}\n---\n"
      "{apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: \"2\"}}");
  const auto found = changes_between({.version = "1"}, before, {.version = "2"}, after);
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  std::vector<std::string> seen;
  for (const ObjectChange& each : found->objects)
    seen.push_back(fmt::format("{} {}", to_string(each.change), each.object));
  EXPECT_THAT(seen, ElementsAre("changed ConfigMap a", "removed ConfigMap b", "added Secret b"));
  EXPECT_EQ(found->unchanged, 1U);
  EXPECT_THAT(found->objects[0].lines, ::testing::IsSupersetOf({"-  k: \"1\"", "+  k: \"2\""}));
}

TEST(VersionChanges, ValuesAndInputsAreComparedWithoutObjects) {
  Version before{.version = "1"}, after{.version = "2"};
  before.facts.defaults = "a: 1\n";
  after.facts.defaults = "a: 2\n";
  after.facts.inputs = Value::object({{"type", "object"}});
  const auto found =
      changes_between(before, "", after, text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->objects_known);
  EXPECT_THAT(found->objects, IsEmpty());
  EXPECT_THAT(found->defaults, ElementsAre("@@ -1,1 +1,1 @@", "-a: 1", "+a: 2"));
  EXPECT_EQ(found->inputs.back(), "+type: object");
}

TEST(VersionChanges, LongOnesAreCut) {
  std::string yaml = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {";
  for (int i = 0; i < 5000; ++i) yaml += fmt::format("k{}: \"v\", ", i);
  const auto found = changes_between({}, text(""), {}, text(yaml + "}}"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->objects[0].lines.size(), 2000U);
  EXPECT_TRUE(found->objects[0].cut);
}

// Texts without a line in common take the most steps.
TEST(VersionChanges, ManyObjectsThatChangeAltogetherTakeABoundedTime) {
  const auto version = [](std::string_view line) {
    Value list = Value::array();
    for (int object = 0; object < 200; ++object) {
      std::string yaml;
      for (int i = 0; i < 2500; ++i) yaml += fmt::format("{}{}\n", line, i);
      list.push_back(Value::object({{"object", fmt::format("ConfigMap a{:03}", object)}, {"yaml", yaml}}));
    }
    return encoding::to_json(list);
  };
  // It took minutes, which the test's own limit of time ends.
  const auto found = changes_between({}, version("a"), {}, version("b"));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->objects.size(), 200U);
  EXPECT_EQ(found->objects[0].lines.size(), 2000U);
  EXPECT_THAT(found->objects[199].lines, IsEmpty());
  EXPECT_TRUE(found->objects[199].cut);
}

TEST(VersionChanges, DamagedOnesAreAnError) {
  for (const char* damaged : {"{", "3", "{}"})
    EXPECT_FALSE(changes_between({}, damaged, {}, "[]").ok()) << damaged;
  EXPECT_TRUE(changes_between({}, "[3, null, {}]", {}, "[]").ok());
}

}  // namespace
}  // namespace mist::catalog
