#include "apply/custom_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDefinition = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size, mode]
            properties:
              size: {type: integer, minimum: 1, maximum: 10, exclusiveMaximum: true}
              mode: {type: string, enum: [fast, slow], default: fast}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              name: {type: string, pattern: "^[a-z]+$", maxLength: 5}
              list: {type: array, maxItems: 2, items: {type: object, required: [key], properties: {key: {type: string}}}}
              map: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              maybe: {type: string, nullable: true}
              template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
)";

DesiredObject object(std::string_view text, std::string file) {
  auto value = encoding::parse_yaml(text);
  EXPECT_TRUE(value.ok()) << value.error().to_line();
  auto parsed = apimachinery::Object::from_value(*std::move(value));
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_line();
  DesiredObject result{{*std::move(parsed), std::move(file), 1}, {}, true, {}};
  result.key = result.rendered.object.key();
  return result;
}

// "ok", or what is wrong with a Widget of that spec, which begins in line 4.
std::string check(std::string_view spec, std::string_view version = "v1") {
  const Status status = check_custom_resources(
      {object(kDefinition, "crd.yaml"),
       object(fmt::format("apiVersion: example.com/{}\nkind: Widget\nmetadata: {{name: w}}\n{}\n", version,
                          spec),
              "w.yaml")});
  return status.ok() ? "ok" : status.error().to_line();
}

TEST(CustomSchema, LetsPassWhatTheServerLetsPass) {
  EXPECT_EQ(check("spec: {size: 1}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, mode: slow, port: 80, name: abc, list: [{key: a}], map: {a: b}}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, port: http, free: {any: {thing: [1]}}, maybe: null, mode: null}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, template: {apiVersion: v1, kind: X, metadata: {name: y}, spec: "
                  "{}}}\nstatus: {a: b}"),
            "ok");
}

TEST(CustomSchema, NamesTheValueItsLineAndWhatIsWrong) {
  EXPECT_THAT(check("spec:\n  size: many"),
              HasSubstr("w.yaml:5: Widget w is not as its definition wants it"));
  EXPECT_THAT(check("spec:\n  size: many"), HasSubstr("integer"));
  EXPECT_THAT(check("spec: {size: 10}"), HasSubstr("size"));
  EXPECT_THAT(check("spec: {size: 0}"), HasSubstr("size"));
  EXPECT_THAT(check("spec: {mode: fast}"), HasSubstr("size"));
  EXPECT_THAT(check("spec: {size: 1, mode: quick}"), HasSubstr("mode"));
  EXPECT_THAT(check("spec: {size: 1, name: ABC}"), HasSubstr("name"));
  EXPECT_THAT(check("spec: {size: 1, name: abcdef}"), HasSubstr("name"));
  EXPECT_THAT(check("spec: {size: 1, port: 1.5}"), HasSubstr("port"));
  EXPECT_THAT(check("spec: {size: 1, list: [{key: a}, {key: b}, {key: c}]}"), HasSubstr("list"));
  EXPECT_THAT(check("spec: {size: 1, map: {a: 1}}"), HasSubstr("map"));
  EXPECT_THAT(check("spec: {size: null}"), HasSubstr("size"));
  EXPECT_THAT(check("x: 1"), HasSubstr("spec"));
}

TEST(CustomSchema, UnknownFieldsAreNamedWithWhatWasMeant) {
  EXPECT_THAT(check("spec:\n  size: 1\n  naem: abc"), HasSubstr("w.yaml:6"));
  EXPECT_THAT(check("spec:\n  size: 1\n  naem: abc"),
              HasSubstr("spec.naem: the schema has no such field (did you mean name?)"));
  EXPECT_THAT(check("spec: {size: 1, list: [{key: a, other: b}]}"), HasSubstr("spec.list[0].other"));
  EXPECT_THAT(check("spec: {size: 1}\nextra: 1"), HasSubstr("extra"));
}

TEST(CustomSchema, AllIsNamedAtOnce) {
  const std::string words = check("spec:\n  size: many\n  mode: quick\n  other: 1");
  EXPECT_THAT(words, HasSubstr("size"));
  EXPECT_THAT(words, HasSubstr("mode"));
  EXPECT_THAT(words, HasSubstr("other"));
}

TEST(CustomSchema, AVersionThatTheDefinitionDoesNotHave) {
  EXPECT_THAT(check("spec: {size: 1}", "v2"), HasSubstr("has no version v2"));
}

TEST(CustomSchema, KindsOfOthersAreNotLookedAt) {
  EXPECT_TRUE(check_custom_resources(
                  {object("{apiVersion: other.dev/v1, kind: Thing, metadata: {name: a}, x: 1}", "a")})
                  .ok());
}

}  // namespace
}  // namespace mist::apply
