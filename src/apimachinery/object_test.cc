#include "apimachinery/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "apimachinery/quantity.h"
#include "testing/yaml.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

Value config_map(std::string_view name) {
  return Value::object(
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", Value::object({{"name", name}})}});
}

TEST(GroupVersionKind, ParsesAndRefuses) {
  EXPECT_EQ(GroupVersionKind::parse("apps/v1", "Deployment")->group, "apps");
  EXPECT_EQ(GroupVersionKind::parse("v1", "Pod")->group, "");
  EXPECT_EQ(GroupVersionKind::parse("v1", "Pod")->api_version(), "v1");
  for (const char* bad : {"", "/v1", "apps/", "a/b/c"})
    EXPECT_FALSE(GroupVersionKind::parse(bad, "Pod").ok()) << bad;
  EXPECT_EQ(to_string(parse_group_kind("Deployment.apps")), "Deployment.apps");
}

TEST(Object, KnowsItsIdentity) {
  const auto object = Object::from_value(config_map("a"));
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->key().display(), "ConfigMap a");
  EXPECT_FALSE(is_terminating(object->value()));
}

TEST(Object, RefusesWhatCannotBeApplied) {
  const auto message = [](Value value) { return Object::from_value(std::move(value)).error().message; };
  EXPECT_EQ(message(Value("text")), "a Kubernetes object must be a mapping, this is a string");
  EXPECT_EQ(message(Value(3)), "a Kubernetes object must be a mapping, this is an integer");
  EXPECT_EQ(message(Value::array()), "a Kubernetes object must be a mapping, this is an array");
  EXPECT_EQ(message(Value()), "a Kubernetes object must be a mapping, this is null");
  EXPECT_THAT(message(Value::object({{"kind", "Pod"}})), ::testing::HasSubstr("no apiVersion"));
  EXPECT_THAT(message(Value::object({{"apiVersion", "v1"}})), ::testing::HasSubstr("no kind"));
  Value generated = config_map("x");
  generated["metadata"].erase("name");
  generated["metadata"].set("generateName", "x-");
  EXPECT_THAT(message(generated), ::testing::HasSubstr("fixed name"));
  Value labels = config_map("x");
  labels["metadata"]["labels"].set("on", true);
  EXPECT_THAT(message(labels), ::testing::HasSubstr("put it in quotes"));
  Value nested = config_map("x");
  nested["metadata"]["labels"].set("on", Value::object());
  EXPECT_EQ(message(nested), "metadata.labels.on of the ConfigMap must be a string, it is an object");
}

TEST(Lists, AreFlattenedRecursively) {
  const Value inner =
      Value::object({{"kind", "List"}, {"items", Value::array({config_map("a"), config_map("b")})}});
  const auto flat = flatten_lists(
      {Value::object({{"kind", "ConfigMapList"}, {"items", Value::array({inner, config_map("c")})}})});
  ASSERT_TRUE(flat.ok());
  EXPECT_EQ(flat->size(), 3u);
}

TEST(Quantity, ComparesAmounts) {
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{{"1000m", "1"},
                                                                             {"1Gi", "1024Mi"},
                                                                             {"0.5", "500m"},
                                                                             {"1e3", "1k"},
                                                                             {"1.5Gi", "1536Mi"},
                                                                             {"0", "0m"},
                                                                             {"1E", "1000P"}})
    EXPECT_TRUE(same_quantity(a, b)) << a << " " << b;
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{
           {"1", "2"}, {"1G", "1Gi"}, {"abc", "abc"}, {"", ""}, {"1", "-1"}, {"1x", "1x"}})
    EXPECT_FALSE(same_quantity(a, b)) << a << " " << b;
}

TEST(Object, HasNoNameThatMeansAnotherPath) {
  for (const char* metadata :
       {"{name: .}", "{name: ..}", "{name: a, namespace: ..}", "{name: a, namespace: .}"})
    EXPECT_FALSE(Object::from_value(testing::yaml(fmt::format(
                                        "{{apiVersion: v1, kind: ConfigMap, metadata: {}}}", metadata)))
                     .ok())
        << metadata;
}

}  // namespace
}  // namespace mist::apimachinery
