#include "blueprint/schema_sample.h"

#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using testing::yaml;

std::string sample(std::string_view schema, Filling filling = Filling::Everything, std::size_t turn = 0) {
  return encoding::to_json(sample_of(yaml(schema), filling, turn, "spec"));
}

TEST(SchemaSample, SetsEveryFieldOrOnlyWhatHasToBeSet) {
  constexpr std::string_view kSchema = R"(
type: object
required: [image, sources]
properties:
  image: {type: string}
  replicas: {type: integer, default: 2}
  debug: {type: boolean, default: true}
  sources:
    type: array
    minItems: 1
    items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: number}}}
  env: {type: object, additionalProperties: {type: string}}
)";
  EXPECT_EQ(sample(kSchema),
            R"({"image":"image","replicas":3,"debug":false,"sources":[{"name":"name","weight":3},)"
            R"({"name":"name","weight":4}],"env":{"key-1":"value","key-2":"value-2"}})");
  EXPECT_EQ(sample(kSchema, Filling::Required), R"({"image":"image","sources":[{"name":"name"}]})");
}

TEST(SchemaSample, StaysWithinRanges) {
  for (const auto& [schema, made] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{type: integer, minimum: 10, maximum: 20}", "10"},
           {"{type: integer, minimum: 10, exclusiveMinimum: true}", "11"},
           {"{type: integer, maximum: -3}", "-3"},
           {"{type: integer, multipleOf: 7}", "7"},
           {"{type: number, minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true}", "0.5"},
           {"{type: integer, minimum: 5, maximum: 5, default: 5}", "5"},
           {"{type: string, minLength: 8}", "\"specxxxx\""},
           {"{type: string, maxLength: 2}", "\"ec\""},
           {"{type: string, default: spec}", "\"spec-x\""},
           {"{type: string, pattern: '^v[0-9]+$', minLength: 4}", "\"v111\""},
           {"{type: array, maxItems: 1, items: {type: string}}", "[\"spec\"]"},
           {"{type: array, minItems: 3, items: {type: boolean}}", "[true,true,true]"},
           {"{type: array, maxItems: 0, items: {type: boolean}}", "[]"},
           {"{type: array, x-kubernetes-list-type: set, items: {type: string}}", "[\"spec\",\"spec-2\"]"},
           {"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: "
            "object, "
            "properties: {id: {type: string}}}}",
            R"([{"id":"id"},{"id":"id-2"}])"},
           {"{type: object, x-kubernetes-preserve-unknown-fields: true}", R"({"any":"value"})"},
           {"{type: string, pattern: '\\p{Greek}'}", "null"},
           {"{type: string, minLength: 5, maxLength: 4}", "null"}})
    EXPECT_EQ(sample(schema), made) << schema;
}

TEST(SchemaSample, TurnsShowEachWord) {
  const Value schema = yaml(
      "{type: object, properties: {size: {type: string, enum: [small, large, huge], default: small}, debug: "
      "{type: "
      "boolean}, port: {x-kubernetes-int-or-string: true}}}");
  ASSERT_EQ(sample_turns(schema), 3U);
  std::vector<std::string> sizes;
  for (std::size_t turn = 0; turn < 3; ++turn)
    sizes.emplace_back(sample_of(schema, Filling::Everything, turn, "spec").string_at("size"));
  EXPECT_EQ(sizes, (std::vector<std::string>{"large", "huge", "small"}));
  EXPECT_EQ(encoding::to_json(sample_of(schema, Filling::Everything, 1, "spec")),
            R"({"size":"huge","debug":false,"port":"port"})");
  EXPECT_EQ(sample_turns(Value()), 1U);
  EXPECT_EQ(encoding::to_json(sample_of(Value(), Filling::Everything, 0, "spec")), "{}");
}

}  // namespace
}  // namespace mist::blueprint
