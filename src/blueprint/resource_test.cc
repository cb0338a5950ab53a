#include "blueprint/resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

constexpr std::string_view kDescription = R"(
kind:
  group: example.com
  version: v1
  kind: Gateway
  crd:
    mode: manage
    stored: v1
    short_names: [gw]
    columns: [{name: Size, path: spec.size, type: integer, wide: true}]
    versions: {v1: {served: true}}
contracts:
  spec/v1:
    schema:
      type: object
      required: [image]
      properties:
        image: {type: string}
        size: {type: integer, default: 1}
        free: {}
        hosts: {type: array}
        mode: {type: string, enum: [a], nullable: true}
    unsaid: [{path: free, what: std.contract.Equal 1}]
  status/v1:
    schema: {type: object, required: [address], properties: {address: {type: string}}}
)";

struct Read {
  std::optional<CustomResource> resource;
  std::vector<std::string> faults;
};

Read read(const Value& description, Standing standing = Standing::New) {
  std::vector<Error> faults;
  Read found{read_resource(description, faults, standing), {}};
  for (const Error& each : faults) found.faults.push_back(each.message);
  return found;
}

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kDescription);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Resource, ABlueprintWithoutCrdLeavesItToOthers) {
  EXPECT_FALSE(read(yaml("kind: {group: example.com, version: v1, kind: App}")).resource);
}

TEST(Resource, TheCrdHasStructuralSchemasColumnsAndTheStatusOfTheOperator) {
  const Read found = read(yaml(kDescription));
  EXPECT_THAT(found.faults, IsEmpty());
  ASSERT_TRUE(found.resource);
  ASSERT_EQ(found.resource->unsaid.size(), 1U);
  EXPECT_EQ(found.resource->unsaid.front().path, "spec.free");
  const Value crd = crd_of({"example.com", "v1", "Gateway"}, *found.resource);
  EXPECT_EQ(crd.string_at({"metadata", "name"}), "gateways.example.com");
  EXPECT_EQ(*crd.at_path({"spec", "names", "shortNames"}), yaml("[gw]"));
  const Value& version = crd.at_path({"spec", "versions"})->as_array().front();
  const Value& root = *version.at_path({"schema", "openAPIV3Schema"});
  EXPECT_EQ(*root.find("required"), yaml("[spec]"));
  EXPECT_EQ(*root.at_path({"properties", "spec", "properties"}), yaml(R"(
image: {type: string}
size: {type: integer, default: 1}
free: {x-kubernetes-preserve-unknown-fields: true}
hosts: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
mode: {type: string, enum: [a, null], nullable: true}
)"));
  const Value& status = *root.at_path({"properties", "status"});
  EXPECT_EQ(status.find("required"), nullptr) << "conditions are there before the rest is";
  EXPECT_EQ(status.string_at({"properties", "conditions", "x-kubernetes-list-type"}), "map");
  std::vector<std::string> columns;
  for (const Value& each : version.find("additionalPrinterColumns")->as_array())
    columns.emplace_back(each.string_at("name"));
  EXPECT_THAT(columns, ElementsAre("Ready", "Reason", "Size", "Age", "Waits for"));
  EXPECT_EQ(version.find("additionalPrinterColumns")->as_array()[2], yaml(R"(
{name: Size, type: integer, jsonPath: .spec.size, priority: 1}
)"));
}

TEST(Resource, ASpecInWhichNothingHasToBeSetMayBeMissing) {
  const Read found = read(yaml(changed("      required: [image]\n", "")));
  const Value crd = crd_of({"example.com", "v1", "Gateway"}, *found.resource);
  const Value& root =
      *crd.at_path({"spec", "versions"})->as_array().front().at_path({"schema", "openAPIV3Schema"});
  EXPECT_EQ(root.find("required"), nullptr);
  EXPECT_EQ(*root.at_path({"properties", "spec", "default"}), Value::object());
}

// The root of the CRD's only version, with this spec.
Value root_of(std::string_view spec, std::string_view more = "") {
  const Read found = read(yaml(fmt::format(
      "kind: {{group: example.com, version: v1, kind: K, crd: {{mode: manage, stored: v1, versions: {{v1: "
      "{{served: true}}}}}}}}\ncontracts: {{spec/v1: {{schema: {}{}}}}}",
      spec, more)));
  EXPECT_THAT(found.faults, IsEmpty());
  return *crd_of({"example.com", "v1", "K"}, *found.resource)
              .at_path({"spec", "versions"})
              ->as_array()
              .front()
              .at_path({"schema", "openAPIV3Schema"});
}

TEST(Resource, ADefaultSpecIsWholeWhereRulesAreHeldAgainstIt) {
  const Value root = root_of(
      "{type: object, properties: {a: {type: integer, default: 1}, b: {type: object, default: {}, "
      "properties: {c: "
      "{type: string, default: x}}}}, x-kubernetes-validations: [{rule: self.a > 0}]}");
  EXPECT_EQ(root.find("required"), nullptr);
  EXPECT_EQ(*root.at_path({"properties", "spec", "default"}), yaml("{a: 1, b: {c: x}}"));
}

TEST(Resource, ASpecOfWhichTheContractRefusesAnEmptyOneHasToBeThere) {
  const std::string_view one_of =
      "{type: object, properties: {a: {type: string}, b: {type: string}}, x-kubernetes-validations: [{rule: "
      "has(self.a) != has(self.b)}]}";
  const Value ruled = root_of(one_of, ", takes_empty: false");
  EXPECT_EQ(*ruled.find("required"), yaml("[spec]"));
  EXPECT_EQ(ruled.at_path({"properties", "spec", "default"}), nullptr);
  const Value few = root_of("{type: object, minProperties: 1, additionalProperties: {type: string}}");
  EXPECT_EQ(*few.find("required"), yaml("[spec]"));
}

TEST(Resource, AStatusThatIsAMapHasRoomForConditions) {
  const Read found =
      read(yaml(changed("schema: {type: object, required: [address], properties: {address: {type: "
                        "string}}}",
                        "schema: {type: object, additionalProperties: {type: string}}")));
  EXPECT_THAT(found.faults, IsEmpty());
  const Value crd = crd_of({"example.com", "v1", "Gateway"}, *found.resource);
  const Value& status = *crd.at_path({"spec", "versions"})
                             ->as_array()
                             .front()
                             .at_path({"schema", "openAPIV3Schema", "properties", "status"});
  EXPECT_EQ(status.find("additionalProperties"), nullptr);
  EXPECT_TRUE(status.is_true_at("x-kubernetes-preserve-unknown-fields"));
  EXPECT_NE(status.at_path({"properties", "conditions"}), nullptr);
  EXPECT_EQ(found.resource->unsaid.back().path, "status");
}

TEST(Resource, WhatTheServerWouldRefuseIsAFault) {
  EXPECT_THAT(
      read(yaml(changed("hosts: {type: array}",
                        "hosts: {type: array, x-kubernetes-list-type: set, items: "
                        "{type: string, nullable: true}}")))
          .faults,
      ElementsAre("the contract of spec.hosts in version v1: items of a list with Unique can't be null"));
}

std::string set_with_null(std::string_view mode) {
  std::string text =
      changed("hosts: {type: array}",
              "hosts: {type: array, x-kubernetes-list-type: set, items: {type: string, nullable: "
              "true}}");
  const std::string_view manage = "mode: manage";
  return text.replace(text.find(manage), manage.size(), fmt::format("mode: {}", mode));
}

TEST(Resource, WhatTheServerWouldRefuseIsNoFaultWhereOthersWriteTheCrd) {
  EXPECT_THAT(read(yaml(set_with_null("await"))).faults, IsEmpty());
  EXPECT_EQ(read(yaml(set_with_null("publish"))).faults.size(), 1U);
}

// A default that its contract computes: the CRD that is in use has it as a constant.
constexpr std::string_view kComputed = R"(
kind: {group: a.b, version: v1, kind: K, has_spec: true, crd: {mode: manage, stored: v1, versions: {v1: {served: true}}}}
contracts:
  spec/v1:
    takes_empty: false
    schema: {type: object, properties: {url: {type: string}}, x-kubernetes-validations: [{rule: has(self.url)}]}
    frozen:
      type: object
      properties: {url: {type: string, default: "https://shop.local/"}}
      x-kubernetes-validations: [{rule: has(self.url)}]
    faults: [{path: url, what: its default is computed from host, computed: true}]
)";

TEST(Resource, ARevisionInForceKeepsTheCrdThatOlderOperatorsMadeOfIt) {
  const Read found = read(yaml(kComputed));
  EXPECT_THAT(found.faults,
              ElementsAre("the contract of spec.url in version v1: its default is computed from host"));
  EXPECT_EQ(found.resource->versions.front().spec.at_path({"properties", "url", "default"}), nullptr);

  const Read kept = read(yaml(kComputed), Standing::InForce);
  EXPECT_THAT(kept.faults, IsEmpty());
  EXPECT_EQ(kept.resource->tolerated, found.faults);
  EXPECT_EQ(kept.resource->versions.front().spec.string_at({"properties", "url", "default"}),
            "https://shop.local/");
  EXPECT_FALSE(kept.resource->versions.front().spec_required) << "that would break objects without a spec";

  const Read set = read(yaml(set_with_null("manage")), Standing::InForce);
  EXPECT_THAT(set.faults, IsEmpty());
  EXPECT_THAT(set.resource->tolerated, ElementsAre(HasSubstr("items of a list with Unique can't be null")));
  EXPECT_THAT(read(yaml(changed("unsaid:", "faults:")), Standing::InForce).faults, ::testing::SizeIs(1))
      << "older operators refused it too";
}

TEST(Resource, RefusesWhatCannotBecomeACrd) {
  EXPECT_THAT(read(yaml(changed("group: example.com", "group: example"))).faults,
              Contains(HasSubstr("can't be the API group")));
  EXPECT_THAT(read(yaml(changed("stored: v1", "stored: v2"))).faults,
              Contains(HasSubstr("stored in version v2")));
  EXPECT_THAT(read(yaml(changed("unsaid:", "faults:"))).faults,
              Contains(HasSubstr("the contract of spec.free in version v1")));
  EXPECT_THAT(read(yaml("kind: {group: a.b, version: v1, kind: K, crd: {mode: manage, stored: v1, versions: "
                        "{v1: {served: true}}}}\ncontracts: {spec/v1: {schema: {type: string}}}"))
                  .faults,
              Contains(HasSubstr("one of a string")));
}

// Operators before this one left these to the server.
TEST(Resource, RefusesNamesColumnsAndWarningsThatTheServerRefusesUnlessInForce) {
  const std::string long_warning = "deprecated: " + std::string(257, 'x');
  for (const auto& [from, to, words] : std::vector<std::array<std::string_view, 3>>{
           {"short_names: [gw]", "short_names: [t_x]", "\"t_x\" can't be a short name"},
           {"short_names: [gw]", "categories: [All Things]", "\"All Things\" can't be a category"},
           {"mode: manage", "mode: manage\n    plural: 1things",
            "\"1things\" can't be the plural or singular"},
           {"{v1: {served: true}}", "{v1: {served: true}, 1beta: {served: true}}",
            "\"1beta\" can't be the name of a version"},
           {"group: example.com", "group: apps.k8s.io", "belongs to the Kubernetes project"},
           {"type: integer, wide", "type: int, wide", "the column Size has the type \"int\""},
           {"path: spec.size", "path: 'status.x['", "\"status.x[\", of the column Size, is no JSONPath"},
           {"{v1: {served: true}}", R"({v1: {served: true, deprecated: "a\nb"}})", "has to be one line"},
           {"served: true", long_warning, "at most 256 bytes"}}) {
    const std::string text = changed(from, to);
    EXPECT_THAT(read(yaml(text)).faults, Contains(HasSubstr(std::string(words)))) << to;
    const Read kept = read(yaml(text), Standing::InForce);
    EXPECT_THAT(kept.faults, ::testing::Not(Contains(HasSubstr(std::string(words))))) << to;
    EXPECT_THAT(kept.resource->tolerated, Contains(HasSubstr(std::string(words)))) << to;
  }
  const std::string path = changed("path: spec.size", R"(path: 'status.c[?(@.type=="[")].x')");
  EXPECT_THAT(read(yaml(path)).faults, IsEmpty());
  const std::string others = changed("mode: manage", "mode: await\n    categories: [All Things]");
  EXPECT_THAT(read(yaml(others)).faults, IsEmpty()) << "they have names of their own";
}

TEST(Resource, AFaultThatOlderOperatorsDidNotLookForIsToleratedInForce) {
  const std::string late = changed("unsaid: [{path: free, what: std.contract.Equal 1}]",
                                   "faults: [{path: free, what: its pattern is none, late: true}]");
  EXPECT_THAT(read(yaml(late)).faults,
              ElementsAre("the contract of spec.free in version v1: its pattern is none"));
  EXPECT_THAT(read(yaml(late), Standing::InForce).faults, IsEmpty());
}

TEST(Resource, AContractHasItsFaultsWithoutACrdToo) {
  const Value description = yaml(R"(
kind: {group: example.com, version: v1, kind: Gateway}
contracts:
  spec/v1:
    schema: {type: object}
    faults: [{path: name, what: its pattern is none, late: true}, {path: size, what: is computed, computed: true}]
  status/v1: {schema: {type: object}, faults: [{path: "[]", what: it excludes itself}]}
)");
  EXPECT_FALSE(read(description).resource);
  EXPECT_THAT(read(description).faults, IsEmpty());
  EXPECT_THAT(contract_faults(description, "spec", "v1"),
              ElementsAre("the contract of spec.name in version v1: its pattern is none"));
  EXPECT_THAT(contract_faults(description, "status", "v1"),
              ElementsAre("the contract of status[] in version v1: it excludes itself"));
  EXPECT_THAT(contract_faults(description, "spec", "v2"), IsEmpty());
}

TEST(Resource, VersionsThatTheServerCannotConvertAreRefusedWithReasons) {
  const std::string two = changed("versions: {v1: {served: true}}",
                                  "versions: {v1: {served: true}, v1beta1: {served: true, deprecated: old}}");
  const std::string same = two + R"(  spec/v1beta1:
    schema:
      type: object
      required: [image]
      properties:
        image: {type: string, description: another}
        size: {type: integer, default: 1}
        free: {}
        hosts: {type: array}
        mode: {type: string, enum: [a], nullable: true}
)";
  const Read agreed = read(yaml(same));
  EXPECT_THAT(agreed.faults, IsEmpty());
  const Value crd = crd_of({"example.com", "v1", "Gateway"}, *agreed.resource);
  const Value& old = crd.at_path({"spec", "versions"})->as_array()[1];
  EXPECT_EQ(old.string_at("deprecationWarning"), "old");
  EXPECT_EQ(*old.find("storage"), Value(false));

  const Read apart = read(yaml(two + "  spec/v1beta1:\n    schema: {type: object, properties: {image: {type: "
                                     "string}}}\n"));
  ASSERT_EQ(apart.faults.size(), 1U);
  EXPECT_THAT(apart.faults.front(), HasSubstr("version v1beta1 can't be read as version v1"));
  EXPECT_THAT(apart.faults.front(), HasSubstr("only one has spec.size"));

  // The server drops a value of the status that the stored version doesn't have.
  const std::string of_status = same + "  status/v1beta1:\n    schema: {type: object, properties: ";
  EXPECT_THAT(
      read(yaml(of_status + "{address: {type: string, description: another}}, required: [address]}")).faults,
      IsEmpty());
  const std::string other = of_status + "{host: {type: string}}}";
  const Read lost = read(yaml(other));
  ASSERT_EQ(lost.faults.size(), 1U);
  EXPECT_THAT(lost.faults.front(), HasSubstr("version v1beta1 can't be read as version v1"));
  EXPECT_THAT(lost.faults.front(), HasSubstr("only one has status.address"));
  const Read kept = read(yaml(other), Standing::InForce);
  EXPECT_THAT(kept.faults, IsEmpty());
  EXPECT_EQ(kept.resource->tolerated, lost.faults);
}

TEST(Resource, VersionsWithFunctionsMayDiffer) {
  const std::string two =
      changed("versions: {v1: {served: true}}",
              "versions: {v1: {served: true}, v1beta1: {served: true, to_hub: true, "
              "from_hub: true}}") +
      "  spec/v1beta1:\n    schema: {type: object, properties: {picture: {type: string}}}\n";
  const Read apart = read(yaml(two));
  EXPECT_THAT(apart.faults, IsEmpty());
  EXPECT_TRUE(apart.resource->converts());
  EXPECT_FALSE(read(yaml(kDescription)).resource->converts());

  std::string half = two;
  half.replace(half.find(", from_hub: true"), 16, "");
  const Read one_way = read(yaml(half));
  EXPECT_THAT(one_way.faults, Contains("version v1beta1 has to_hub and no from_hub"));
}

}  // namespace
}  // namespace mist::blueprint
