#include "encoding/value.h"

#include <gtest/gtest.h>

namespace mist::encoding {
namespace {

TEST(Value, KeepsOrderButComparesWithoutIt) {
  const Value a = Value::object({{"x", 1}, {"y", Value::array({true, "s"})}});
  const Value b = Value::object({{"y", Value::array({true, "s"})}, {"x", 1}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.as_object()[0].key, "x");
  EXPECT_FALSE(a == Value::object({{"x", 1}}));
  EXPECT_FALSE(Value(1) == Value(1.0));
}

TEST(Value, KeepsIntegersExact) {
  EXPECT_EQ(Value(std::uint64_t{5}).kind(), Value::Kind::Int);
  EXPECT_EQ(Value(UINT64_MAX).as_uint(), UINT64_MAX);
}

TEST(Value, FindsAndSetsPaths) {
  Value v;
  v["metadata"]["name"] = "web";
  EXPECT_EQ(v.string_at({"metadata", "name"}), "web");
  EXPECT_EQ(v.string_at({"metadata", "absent"}), "");
  EXPECT_EQ(v.at_path({"metadata", "name", "deeper"}), nullptr);
  EXPECT_TRUE(v.erase("metadata"));
  EXPECT_TRUE(v.empty());
}

TEST(Value, MergesDeepAndNullRemoves) {
  Value base = Value::object({{"a", Value::object({{"b", 1}, {"c", 2}})}, {"l", Value::array({1, 2})}});
  merge_into(base,
             Value::object({{"a", Value::object({{"b", 5}, {"c", nullptr}})}, {"l", Value::array({3})}}));
  EXPECT_EQ(base, Value::object({{"a", Value::object({{"b", 5}})}, {"l", Value::array({3})}}));
}

TEST(Value, MergesDeepAndKeepsNull) {
  Value base =
      Value::object({{"a", Value::object({{"b", 1}, {"c", 2}})}, {"d", 1}, {"l", Value::array({1})}});
  merge_keeping_nulls(base, Value::object({{"a", Value::object({{"c", nullptr}, {"e", nullptr}})},
                                           {"d", nullptr},
                                           {"n", Value::object({{"o", nullptr}})}}));
  EXPECT_EQ(base, Value::object({{"a", Value::object({{"b", 1}, {"c", nullptr}, {"e", nullptr}})},
                                 {"d", nullptr},
                                 {"l", Value::array({1})},
                                 {"n", Value::object({{"o", nullptr}})}}));
  merge_keeping_nulls(base, Value());
  EXPECT_TRUE(base.is_null());
}

TEST(Value, SortsKeysAllTheWayDown) {
  Value v = Value::object({{"b", Value::object({{"z", 1}, {"a", 2}})}, {"a", 1}});
  v.sort_keys();
  EXPECT_EQ(v.as_object()[0].key, "a");
  EXPECT_EQ(v.as_object()[1].value.as_object()[0].key, "a");
}

}  // namespace
}  // namespace mist::encoding
