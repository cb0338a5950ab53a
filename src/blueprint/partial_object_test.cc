#include "blueprint/partial_object.h"

#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using testing::yaml;

TEST(PartialObject, RequiredFieldsGetSomeValue) {
  const Value schema = yaml(R"(
type: object
required: [image, size, level, active, ports, limits, any]
properties:
  image: {type: object, required: [name], properties: {name: {type: string}, tag: {type: string, default: latest}}}
  size: {type: integer}
  level: {type: string, enum: [low, high]}
  active: {type: boolean}
  note: {type: string}
  limits: {type: object, additionalProperties: {type: object, required: [max], properties: {max: {type: number}}}}
  ports: {type: array, items: {type: object, required: [port], properties: {port: {x-kubernetes-int-or-string: true}}}}
)");
  EXPECT_EQ(encoding::to_json(completed(schema, yaml("{size: 3}")).value_or(Value())),
            encoding::to_json(yaml("{size: 3, image: {name: name, tag: latest}, level: low, active: true, "
                                   "ports: [], limits: {}, any: {}}")));
  const Value whole = yaml(
      "{image: {name: a}, size: 1, level: high, active: true, ports: [{port: http}], limits: {cpu: {max: "
      "1}}, "
      "any: 1}");
  EXPECT_EQ(
      completed(schema, yaml("{image: {name: a, tag: b}, size: 1, level: high, active: true, ports: [{port: "
                             "http}], limits: {cpu: {max: 1}}, any: 1}")),
      std::nullopt);
  Value inner = whole;
  inner["ports"].push_back(Value::object());
  inner["limits"].set("memory", Value::object());
  const auto found = completed(schema, inner);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->find("ports")->as_array()[1].find("port")->is_null());
  EXPECT_TRUE(found->at_path({"limits", "memory", "max"})->is_number());
  EXPECT_EQ(*found->at_path({"limits", "cpu"}), yaml("{max: 1}"));
}

TEST(PartialObject, WhatWasFilledInIsTakenOutWhereItStayedAsItWas) {
  const Value before = yaml("{image: {name: a}, list: [{a: 1}, {a: 2}]}");
  const Value filled =
      yaml("{image: {name: a, tag: latest}, list: [{a: 1, b: 0}, {a: 2, b: 0}], replicas: 1, size: 0}");
  Value converted = yaml("{image: 'a:latest', list: [{a: 1, b: 0}, {a: 2, b: 3}], replicas: 1, size: 5}");
  take_out_filled(before, filled, converted);
  EXPECT_EQ(converted, yaml("{image: 'a:latest', list: [{a: 1}, {a: 2, b: 3}], size: 5}"));
}

TEST(PartialObject, WhatIsNoRecordIsLeftAlone) {
  EXPECT_EQ(completed(yaml("{type: object, required: [a]}"), yaml("[1]")), std::nullopt);
  EXPECT_EQ(completed(Value(), yaml("{a: 1}")), std::nullopt);
}

}  // namespace
}  // namespace mist::blueprint
