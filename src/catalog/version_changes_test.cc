#include "catalog/version_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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
  const auto found = changes_between({{.version = "1"}}, before, {{.version = "2"}}, after);
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  std::vector<std::string> seen;
  for (const ObjectChange& each : found->objects)
    seen.push_back(fmt::format("{} {}", to_string(each.change), each.object));
  EXPECT_THAT(seen, ElementsAre("changed ConfigMap a", "removed ConfigMap b", "added Secret b"));
  EXPECT_EQ(found->unchanged, 1U);
  EXPECT_THAT(found->objects[0].lines, ::testing::IsSupersetOf({"-  k: \"1\"", "+  k: \"2\""}));
}

TEST(VersionChanges, ValuesAndInputsAreComparedWithoutObjects) {
  Version before{{.version = "1"}}, after{{.version = "2"}};
  before.facts.defaults = "a: 1\n";
  after.facts.defaults = "a: 2\n";
  after.facts.inputs = Value::object({{"type", "object"}});
  const auto found =
      changes_between(before, "", after, text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->objects_known);
  EXPECT_FALSE(found->too_long);
  EXPECT_THAT(found->objects, IsEmpty());
  EXPECT_THAT(found->defaults, ElementsAre("@@ -1,1 +1,1 @@", "-a: 1", "+a: 2"));
  EXPECT_EQ(found->inputs.back(), "+type: object");
}

TEST(VersionChanges, ObjectsThatAreTooLongAreNotComparedAndSaidToBe) {
  const auto found =
      changes_between({}, text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), {}, kTooLongText);
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_FALSE(found->objects_known);
  EXPECT_TRUE(found->too_long);
  EXPECT_THAT(found->objects, IsEmpty());
}

TEST(VersionChanges, LongOnesAreCut) {
  std::string yaml = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {";
  for (int i = 0; i < 5000; ++i) yaml += fmt::format("k{}: \"v\", ", i);
  const auto found = changes_between({}, text(""), {}, text(yaml + "}}"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->objects[0].lines.size(), 2000U);
  EXPECT_TRUE(found->objects[0].cut);
}

// Objects by their names, as text_of lists them.
std::string list_of(const std::map<std::string, std::string>& objects) {
  Value list = Value::array();
  for (const auto& [object, yaml] : objects)
    list.push_back(Value::object({{"object", object}, {"yaml", yaml}}));
  return encoding::to_json(list);
}

std::string lines_of(std::string_view mark, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += fmt::format("{}{}\n", mark, i);
  return lines;
}

// Every other line is the same in all of them, but neither the first nor the last.
std::string scattered(std::string_view mark, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += fmt::format("{}{}\nsame{}\n", mark, i, i);
  return lines + std::string(mark);
}

std::size_t count_beginning(const std::vector<std::string>& lines, std::string_view beginning) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(beginning); }));
}

TEST(VersionChanges, ObjectsThatDifferInVeryMuchAreRemovedAndAdded) {
  const auto found = changes_between({}, list_of({{"a", scattered("x", 400)}, {"b", scattered("x", 600)}}),
                                     {}, list_of({{"a", scattered("y", 400)}, {"b", scattered("y", 600)}}));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(count_beginning(found->objects[0].lines, " "), 400U) << "less than 1,000 edits";
  const std::vector<std::string>& lines = found->objects[1].lines;
  EXPECT_EQ(count_beginning(lines, " "), 0U);
  EXPECT_EQ(lines[1201], "-x");
  EXPECT_EQ(lines[1202], "+y0");
}

// Texts without a line in common take the most steps.
TEST(VersionChanges, ObjectsAfterVeryLargeChangesAreComparedCoarsely) {
  const std::string middle = lines_of("same", 50);
  const std::map<std::string, std::string> small_before{{"z", "a\n" + middle + "b"}};
  const std::map<std::string, std::string> small_after{{"z", "c\n" + middle + "d"}};
  const auto alone = changes_between({}, list_of(small_before), {}, list_of(small_after));
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(count_beginning(alone->objects[0].lines, "@@"), 2U);
  std::map<std::string, std::string> before = small_before, after = small_after;
  for (int i = 0; i < 8; ++i) {
    before.emplace(fmt::format("a{}", i), lines_of("x", 2500));
    after.emplace(fmt::format("a{}", i), lines_of("y", 2500));
  }
  const auto found = changes_between({}, list_of(before), {}, list_of(after));
  ASSERT_TRUE(found.ok());
  const ObjectChange& last = found->objects.back();
  EXPECT_EQ(last.object, "z");
  EXPECT_EQ(count_beginning(last.lines, "@@"), 1U);
  EXPECT_EQ(count_beginning(last.lines, "-"), 52U);
  EXPECT_EQ(count_beginning(last.lines, "+"), 52U);
}

TEST(VersionChanges, ManyLongOnesAreCutToo) {
  std::map<std::string, std::string> before, after;
  for (int i = 0; i < 11; ++i) {
    before.emplace(fmt::format("a{:02}", i), lines_of("x", 2500));
    after.emplace(fmt::format("a{:02}", i), lines_of("y", 2500));
  }
  const auto found = changes_between({}, list_of(before), {}, list_of(after));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->objects.size(), 11U);
  EXPECT_EQ(found->objects[9].lines.size(), 2000U);
  EXPECT_THAT(found->objects[10].lines, IsEmpty());
  EXPECT_TRUE(found->objects[10].cut);
}

TEST(VersionChanges, DamagedOnesAreAnError) {
  for (const char* damaged : {"{", "3", "{}"})
    EXPECT_FALSE(changes_between({}, damaged, {}, "[]").ok()) << damaged;
  EXPECT_TRUE(changes_between({}, "[3, null, {}]", {}, "[]").ok());
}

}  // namespace
}  // namespace mist::catalog
