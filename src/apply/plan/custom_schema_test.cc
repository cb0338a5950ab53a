#include "apply/plan/custom_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/fake_cluster.h"

namespace mist::apply {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kCrd = R"(apiVersion: apiextensions.k8s.io/v1
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
              keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [key], items: {type: object, required: [key], properties: {key: {type: string}}}}
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
  std::vector<DesiredObject> objects{
      object(kCrd, "crd.yaml"),
      object(
          fmt::format("apiVersion: example.com/{}\nkind: Widget\nmetadata: {{name: w}}\n{}\n", version, spec),
          "w.yaml")};
  take_nulls_of_custom_resources(objects);
  const Status status = check_custom_resources(objects, changes_by(objects));
  return status.ok() ? "ok" : status.error().to_line();
}

TEST(CustomSchema, LetsPassWhatTheServerLetsPass) {
  EXPECT_EQ(check("spec: {size: 1}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, mode: slow, port: 80, name: abc, list: [{key: a}], map: {a: b}}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, port: http, free: {any: {thing: [1]}}, maybe: null, mode: null}"), "ok");
  EXPECT_EQ(check("spec: {size: 9, template: {apiVersion: v1, kind: X, metadata: {name: x}, spec: "
                  "{}}}\nstatus: {a: b}"),
            "ok");
}

TEST(CustomSchema, NamesTheValueItsLineAndWhatIsWrong) {
  EXPECT_THAT(check("spec:\n  size: many"), HasSubstr("w.yaml:5: Widget w does not match its CRD"));
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

// No CRD describes the metadata, but the server does.
TEST(CustomSchema, UnknownFieldsOfTheMetadataToo) {
  const auto with_metadata = [](std::string_view metadata) {
    std::vector<DesiredObject> objects{
        object(kCrd, "crd.yaml"),
        object(
            fmt::format(
                "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n  {}\nspec: {{size: 1}}\n",
                metadata),
            "w.yaml")};
    const Status status = check_custom_resources(objects, changes_by(objects));
    return status.ok() ? "ok" : status.error().to_line();
  };
  EXPECT_THAT(with_metadata("labls: {a: b}"),
              AllOf(HasSubstr("w.yaml:5"),
                    HasSubstr("metadata.labls: the schema has no such field (did you mean labels?)")));
  EXPECT_THAT(with_metadata("finalizers: a.b/c"), HasSubstr("metadata.finalizers"));
  EXPECT_THAT(with_metadata("ownerReferences: [{apiversion: v1}]"),
              HasSubstr("metadata.ownerReferences[0].apiversion"));
  EXPECT_EQ(with_metadata("creationTimestamp: null"), "ok");
  EXPECT_EQ(with_metadata("labels: {a: b}\n  annotations: {c: d}\n  finalizers: [a.b/c]"), "ok");
  EXPECT_THAT(check("spec: {size: 9, template: {apiVersion: v1, kind: X, metadata: {nam: y}}}"),
              HasSubstr("spec.template.metadata.nam: the schema has no such field (did you mean name?)"));
}

TEST(CustomSchema, AllIsNamedAtOnce) {
  const std::string words = check("spec:\n  size: many\n  mode: quick\n  other: 1");
  EXPECT_THAT(words, HasSubstr("size"));
  EXPECT_THAT(words, HasSubstr("mode"));
  EXPECT_THAT(words, HasSubstr("other"));
}

TEST(CustomSchema, AVersionThatTheCrdDoesNotHave) {
  EXPECT_THAT(check("spec: {size: 1}", "v2"), HasSubstr("has no version v2"));
}

TEST(CustomSchema, KindsOfOthersAreNotLookedAt) {
  const std::vector<DesiredObject> objects{
      object("{apiVersion: other.dev/v1, kind: Thing, metadata: {name: a}, x: 1}", "a")};
  EXPECT_TRUE(check_custom_resources(objects, changes_by(objects)).ok());
}

TEST(CustomSchema, ANullThatIsNotAllowedIsAsIfItWereNotThere) {
  EXPECT_EQ(check("spec: {size: 1, name: null, port: null, map: null, list: [{key: a}]}"), "ok");
  EXPECT_EQ(check("spec: {size: 1, map: {a: null}}"), "ok");
  EXPECT_EQ(check("spec: {size: 1, free: {any: null}}"), "ok");
  std::vector<DesiredObject> objects{
      object(kCrd, "crd.yaml"),
      object("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1, name: null, "
             "maybe: "
             "null, mode: null, free: {a: null}, map: {a: null, b: c}, list: [{key: null}]}}",
             "w.yaml")};
  take_nulls_of_custom_resources(objects);
  EXPECT_EQ(
      *objects[1].rendered.object.value().find("spec"),
      *encoding::parse_yaml("{size: 1, maybe: null, mode: null, free: {a: null}, map: {b: c}, list: [{}]}"));
  // A required field is missing then, and an item of a list stays.
  EXPECT_THAT(check("spec: {size: 1, list: [{key: null}]}"), HasSubstr("key"));
  EXPECT_THAT(check("spec: {size: 1, list: [null]}"), HasSubstr("list"));
}

TEST(CustomSchema, ItemsOfOneKeyAreFound) {
  EXPECT_THAT(check("spec:\n  size: 1\n  keyed:\n  - {key: a}\n  - {key: b}\n  - {key: a}"),
              AllOf(HasSubstr("w.yaml:9"), HasSubstr("spec.keyed has key=a twice")));
  EXPECT_EQ(check("spec: {size: 1, keyed: [{key: a}, {key: b}]}"), "ok");
}

// The server calls mutating webhooks before it compares an object with its schema.
TEST(CustomSchema, WhatAWebhookMayFillInIsNotMissed) {
  const auto with = [](std::string_view configuration, std::string_view spec) {
    std::vector<DesiredObject> objects{
        object(kCrd, "crd.yaml"),
        object(fmt::format("apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w}}\n{}\n", spec),
               "w.yaml"),
        object(configuration, "webhook.yaml")};
    objects[1].resource.resource = "widgets";
    const Status status = check_custom_resources(objects, changes_by(objects));
    return status.ok() ? "ok" : status.error().to_line();
  };
  const auto webhook = [](std::string_view kind, std::string_view rule) {
    return fmt::format(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: {}, metadata: {{name: h}}, webhooks: [{{name: "
        "a.example.com, rules: [{}]}}]}}",
        kind, rule);
  };
  const std::string all = "{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}";
  const std::string ours =
      "{apiGroups: [example.com], apiVersions: [v1], resources: [widgets], operations: [CREATE]}";
  const std::string others =
      "{apiGroups: [example.com], apiVersions: [v1], resources: [gadgets], operations: [CREATE]}";
  const std::string policy = fmt::format(
      "{{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {{name: p}}, "
      "spec: "
      "{{matchConstraints: {{resourceRules: [{}]}}}}}}",
      ours);
  for (const std::string_view spec :
       {"spec: {mode: slow}", "spec: {size: 1, mode: quick}", "spec: {size: 99}"}) {
    EXPECT_EQ(with(webhook("MutatingWebhookConfiguration", all), spec), "ok");
    EXPECT_EQ(with(webhook("MutatingWebhookConfiguration", ours), spec), "ok");
    EXPECT_EQ(with(policy, spec), "ok");
    EXPECT_NE(with(webhook("MutatingWebhookConfiguration", others), spec), "ok");
    EXPECT_NE(with(webhook("ValidatingWebhookConfiguration", all), spec), "ok");
  }
  // Mistakes that the server finds before it calls anybody.
  EXPECT_THAT(with(webhook("MutatingWebhookConfiguration", all), "spec: {size: 1, naem: a}"),
              HasSubstr("spec.naem"));
  EXPECT_THAT(with(webhook("MutatingWebhookConfiguration", all), "spec: {size: many}"), HasSubstr("size"));
}

TEST(CustomSchema, WhatTheClustersWebhooksMayFillInIsNotMissedAndWhoMayNotSeeThemAsksTheServer) {
  std::vector<DesiredObject> objects{
      object(kCrd, "crd.yaml"),
      object("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {mode: slow}\n",
             "w.yaml")};
  objects[1].resource.resource = "widgets";
  testing::FakeCluster cluster;
  const Context context;
  const auto passes = [&] {
    return check_custom_resources(objects, changes_by(objects, cluster, context)).ok();
  };
  EXPECT_FALSE(passes());
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot list");
  });
  EXPECT_TRUE(passes());
  cluster.set_before({});
  cluster.put(*encoding::parse_yaml(
      "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: "
      "h}, "
      "webhooks: [{name: a.example.com, rules: [{apiGroups: [example.com], apiVersions: [v1], resources: "
      "[widgets], operations: [CREATE]}]}]}"));
  EXPECT_TRUE(passes());
}

}  // namespace
}  // namespace mist::apply
