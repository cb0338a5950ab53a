#include "cli/argocd_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::cli {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value json(std::string_view text) {
  auto value = encoding::parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value_or(Value());
}

std::vector<std::string> announced(std::string_view schema, std::string_view values = {},
                                   bool chart = false) {
  package::Metadata metadata;
  if (!schema.empty()) metadata.inputs = json(schema);
  metadata.values_file = values;
  std::vector<std::string> texts;
  for (const ArgoInput& input : argo_inputs(metadata, chart))
    texts.push_back(encoding::to_json(to_announcement(input)));
  return texts;
}

TEST(ArgoInputs, AreFlatWithTypesAndDefaultsOfTheSchema) {
  EXPECT_THAT(
      announced(R"({"type": "object", "required": ["host", "size"], "properties": {
                    "host": {"type": "string", "title": "Host", "description": "Where it is"},
                    "size": {"type": "integer", "default": 3},
                    "image": {"type": "object", "properties": {
                      "tag": {"type": ["null", "string"]}, "pull.it": {"type": "boolean", "default": false}}}}})"),
      ElementsAre(
          R"({"name":"host","title":"Host","tooltip":"Where it is","required":true,"itemType":"string","collectionType":"string"})",
          R"({"name":"size","itemType":"number","collectionType":"string","string":"3"})",
          R"({"name":"image.tag","itemType":"string","collectionType":"string"})",
          R"({"name":"image.pull\\.it","itemType":"boolean","collectionType":"string","string":"false"})"));
}

TEST(ArgoInputs, ListsAndMapsHoldTexts) {
  EXPECT_THAT(
      announced(R"({"properties": {
                    "hosts": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
                    "ports": {"type": "array", "items": {"type": "integer"}, "default": [80]},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"},
                               "default": {"a.b/c": "d"}}}})"),
      ElementsAre(R"({"name":"hosts","itemType":"string","collectionType":"array","array":["a","b"]})",
                  R"({"name":"ports","itemType":"number","collectionType":"array","array":["80"]})",
                  R"({"name":"labels","itemType":"string","collectionType":"map","map":{"a.b/c":"d"}})"));
}

TEST(ArgoInputs, AreTheDefaultsOfAChartWithoutSchema) {
  EXPECT_THAT(
      announced("",
                "name: web\nimage: {tag: '1'}\nhosts: [a]\ntolerations: []\naffinity: {}\n"
                "rules:\n- {a: b}\nempty:\n",
                true),
      ElementsAre(R"({"name":"name","itemType":"string","collectionType":"string","string":"web"})",
                  R"({"name":"image.tag","itemType":"string","collectionType":"string","string":"1"})",
                  R"({"name":"hosts","itemType":"string","collectionType":"array","array":["a"]})"));
}

TEST(ArgoInputs, WithoutAFormInTextsAreLeftOut) {
  EXPECT_THAT(announced(R"({"properties": {
                            "rules": {"type": "array", "items": {"type": "object"}},
                            "limits": {"type": "object", "additionalProperties": {"type": "array"}},
                            "pod": {"$ref": "#/$defs/pod"},
                            "a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {"properties":
                              {"e": {"properties": {"f": {"type": "string"}}}}}}}}}}}}})"),
              IsEmpty());
}

TEST(ArgoInputs, OfTheReleaseAndOfThePluginAreLeftOut) {
  constexpr std::string_view kSchema =
      R"({"properties": {"name": {"type": "string"}, "namespace": {"type": "string"}, "set": {"type": "string"},
                         "values": {"type": "string"}, "package": {"type": "string"}}})";
  EXPECT_THAT(announced(kSchema), IsEmpty());
  EXPECT_EQ(announced(kSchema, "", true).size(), 2u) << "a chart's name is its own";
}

TEST(ArgoInputs, ThoseOfThePluginItself) {
  std::vector<std::string> forms;
  const Value announcements = static_announcements();
  for (const Value& each : announcements.as_array())
    forms.push_back(fmt::format("{} {}", each.string_at("name"), each.string_at("collectionType")));
  EXPECT_THAT(forms, ElementsAre("package string", "values array", "set map"));
}

}  // namespace
}  // namespace mist::cli
