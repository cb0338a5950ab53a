#include "apimachinery/managed_fields.h"

#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;
using testing::yaml;

Value joined(std::string_view one, std::string_view other) {
  Value all = yaml(one);
  add_field_set(all, yaml(other));
  return all;
}

TEST(ManagedFields, JoinedAreWhatEitherOwns) {
  EXPECT_EQ(joined("{f:a: {f:b: {}}}", "{f:a: {f:c: {}}, f:d: {}}"),
            yaml("{f:a: {f:b: {}, f:c: {}}, f:d: {}}"));
  EXPECT_EQ(joined("{f:a: {}}", "{f:a: {f:b: {}}}"), yaml("{f:a: {f:b: {}, .: {}}}"));
  EXPECT_EQ(joined("{f:a: {f:b: {}}}", "{f:a: {}}"), yaml("{f:a: {f:b: {}, .: {}}}"));
}

TEST(ManagedFields, WithoutIsWhatIsLeft) {
  EXPECT_EQ(field_set_without(yaml("{f:a: {.: {}, f:b: {}}, f:c: {}}"), yaml("{f:a: {f:b: {}}}")),
            yaml("{f:c: {}}"));
}

TEST(ManagedFields, OwnersAreKeptWithoutWhenAndInWhichVersion) {
  Value object = yaml(
      "{metadata: {name: a, managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: "
      "'2030-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {f:data: {f:time: {}}}}, {manager: n, "
      "operation: Update, subresource: status, fieldsV1: {f:status: {}}}]}, data: {time: now}}");
  keep_field_owners(object);
  EXPECT_EQ(object,
            yaml("{metadata: {name: a, managedFields: [{manager: m, operation: Apply, fieldsV1: {f:data: "
                 "{f:time: {}}}}, {manager: n, operation: Update, subresource: status, fieldsV1: {f:status: "
                 "{}}}]}, data: {time: now}}"));
  Value none = yaml("{metadata: {managedFields: none}}");
  keep_field_owners(none);
  EXPECT_EQ(none, yaml("{metadata: {managedFields: none}}"));
}

// A server may answer anything.
TEST(ManagedFields, WhatIsNoSetOwnsNothing) {
  EXPECT_EQ(joined("{f:a: {f:b: {}}}", "{f:a: 5, f:c: [1]}"), yaml("{f:a: {f:b: {}, .: {}}, f:c: [1]}"));
  EXPECT_EQ(joined("{f:a: text}", "{f:a: {f:b: {}}}"), yaml("{f:a: {f:b: {}, .: {}}}"));
  EXPECT_EQ(field_set_without(yaml("5"), yaml("{f:a: {}}")), Value::object());
  EXPECT_EQ(field_set_without(yaml("{f:a: {f:b: {}}}"), yaml("{f:a: 5}")), yaml("{f:a: {f:b: {}}}"));
}

}  // namespace
}  // namespace mist::apimachinery
