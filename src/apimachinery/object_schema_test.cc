#include "apimachinery/object_schema.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apimachinery {
namespace {

using testing::yaml;

const encoding::Value& schemas() {
  static const encoding::Value kSchemas = yaml(R"(
example.Thing:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, kind: Thing, version: v1}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {default: {}, allOf: [{$ref: '#/components/schemas/Meta'}]}
    spec: {default: {}, allOf: [{$ref: '#/components/schemas/Spec'}]}
Meta:
  type: object
  properties:
    name: {type: string}
    labels: {type: object, additionalProperties: {type: string}}
Spec:
  type: object
  properties:
    replicas: {type: integer}
    policy: {type: string, enum: [Always, Never]}
    port: {$ref: '#/components/schemas/IntOrString'}
    amount: {$ref: '#/components/schemas/Quantity'}
    both: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
    items: {type: array, items: {$ref: '#/components/schemas/Item'}}
    raw: {type: object}
    open:
      type: object
      x-kubernetes-preserve-unknown-fields: true
      properties:
        known: {type: boolean}
        inner: {type: object, properties: {a: {type: string}}}
        item: {$ref: '#/components/schemas/Item'}
    anything: {}
    embedded:
      type: object
      x-kubernetes-embedded-resource: true
      properties: {spec: {type: string}}
Item: {type: object, properties: {name: {type: string}, ratio: {type: number}}}
IntOrString: {type: string, format: int-or-string}
Quantity: {oneOf: [{type: string}, {type: number}]}
)");
  return kSchemas;
}

TEST(ObjectSchema, WhatIsNoQuantityIsSoWithWhatWasMeant) {
  const encoding::Value schemas = yaml(R"(
Pod:
  x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Pod}]
  type: object
  properties: {spec: {type: object, additionalProperties: {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity'}}}
io.k8s.apimachinery.pkg.api.resource.Quantity: {oneOf: [{type: string}, {type: number}]}
)");
  const auto found = schema_problems(
      *Object::from_value(
          yaml("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {a: 64Mb, b: 64Mi, c: 1, d: '0.5'}}")),
      schemas);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].words(), "spec.a: it is no quantity, as 500m, 0.5 and 64Mi are (did you mean 64M?)");
  EXPECT_TRUE(found[0].before_admission);
}

TEST(ObjectSchema, WhatIsRequiredAndHasADefaultOrIsAsGoodAsNothingIsNotMissed) {
  const encoding::Value schemas = yaml(R"(
Thing:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, kind: Thing, version: v1}]
  properties:
    spec:
      type: object
      required: [size, color, header]
      properties:
        size: {type: integer, default: 3}
        color: {type: string}
        header: {allOf: [{$ref: '#/components/schemas/io.k8s.api.core.v1.HTTPHeader'}]}
io.k8s.api.core.v1.HTTPHeader:
  type: object
  required: [name, value]
  properties: {name: {type: string, default: ''}, value: {type: string, default: ''}}
)");
  const encoding::Value value =
      yaml("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  header: {}\n");
  const auto object = Object::from_value(value);
  std::vector<std::string> found;
  for (const SchemaProblem& problem : schema_problems(*object, schemas, RequiredFields::Checked))
    found.push_back(fmt::format("{} in line {}", problem.words(), problem.position.line));
  EXPECT_EQ(found, (std::vector<std::string>{"spec.header.name: it is required, and missing in line 5",
                                             "spec.color: it is required, and missing in line 4"}));
  EXPECT_TRUE(schema_problems(*object, schemas).empty()) << "left to admission";
}

std::vector<std::string> problems(const std::string& spec,
                                  const std::string& api_version = "example.com/v1") {
  const encoding::Value value =
      yaml("{apiVersion: " + api_version + ", kind: Thing, metadata: {name: a}, spec: " + spec + "}");
  std::vector<std::string> result;
  for (const SchemaProblem& each : schema_problems(*Object::from_value(value), schemas()))
    result.push_back(fmt::format("{}{}: {}{}", each.before_admission ? "" : "later: ", each.path,
                                 each.message, each.instead.empty() ? "" : " -> " + each.instead));
  return result;
}

using Problems = std::vector<std::string>;

TEST(ObjectSchema, NamesUnknownFieldsAndTheNearestThatThereIs) {
  EXPECT_EQ(problems("{replcas: 1, items: [{name: a}, {nme: b}]}"),
            (Problems{"spec.replcas: there is no such field -> replicas",
                      "spec.items[1].nme: there is no such field -> name"}));
}

TEST(ObjectSchema, NamesWrongTypesWithoutTheirValues) {
  EXPECT_EQ(problems("{replicas: three, items: {name: a}, policy: 1}"),
            (Problems{"spec.replicas: it must be an integer, and is a string",
                      "spec.items: it must be a list, and is a map",
                      "spec.policy: it must be a string, and is an integer"}));
}

TEST(ObjectSchema, LeavesToAdmissionWhatOnlyValidationRefuses) {
  EXPECT_EQ(problems("{replicas: 1.5, policy: always}"),
            (Problems{"later: spec.replicas: it must be an integer, and is a number",
                      "later: spec.policy: it must be one of Always, Never -> Always"}));
}

TEST(ObjectSchema, AcceptsWhatTheServerAccepts) {
  for (const std::string_view spec : {"null",
                                      "{}",
                                      "{replicas: null, replcas: null}",
                                      "{replicas: 2.0}",
                                      "{policy: ''}",
                                      "{port: 80}",
                                      "{port: http}",
                                      "{amount: 1}",
                                      "{amount: 0.5}",
                                      "{amount: 1Gi}",
                                      "{both: 1}",
                                      "{both: a}",
                                      "{items: []}",
                                      "{items: null}",
                                      "{items: [{ratio: 1}, {ratio: 1.5}]}",
                                      "{raw: {a: {b: [1]}}}",
                                      "{open: {other: {x: 1}, known: true}}",
                                      "{open: {inner: {other: 1}}}",
                                      "{anything: [1, {a: b}]}",
                                      "{anything: 1}",
                                      "{embedded: {apiVersion: v1, kind: A, metadata: {x: y}, spec: a}}"})
    EXPECT_EQ(problems(std::string(spec)), Problems{}) << spec;
}

TEST(ObjectSchema, PreservingUnknownFieldsEndsWhereANamedTypeBegins) {
  EXPECT_EQ(problems("{open: {item: {other: 1}, known: 1}}"),
            (Problems{"spec.open.item.other: there is no such field",
                      "spec.open.known: it must be a boolean, and is an integer"}));
}

TEST(ObjectSchema, SaysNothingOfKindsWithoutASchema) {
  EXPECT_EQ(problems("{replcas: 1}", "example.com/v2"), Problems{});
}

}  // namespace
}  // namespace mist::apimachinery
