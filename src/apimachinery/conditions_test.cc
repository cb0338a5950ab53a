#include "apimachinery/conditions.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

TEST(Conditions, AreFoundByTypeAndByTruth) {
  const Value object = *encoding::parse_yaml(
      "{status: {conditions: [{type: Ready, status: 'False', reason: A}, {type: Ready, status: 'True'}, "
      "{type: Other}]}}");
  ASSERT_NE(condition_of(object, "Ready"), nullptr);
  EXPECT_EQ(condition_of(object, "Ready")->string_at("reason"), "A") << "the first one";
  ASSERT_NE(true_condition(object, "Ready"), nullptr);
  EXPECT_EQ(true_condition(object, "Ready")->string_at("reason"), "");
  EXPECT_EQ(true_condition(object, "Other"), nullptr);
  EXPECT_EQ(condition_of(object, "None"), nullptr);
  for (const std::string_view odd : {"{}", "{status: {conditions: {type: Ready}}}", "[1]"})
    EXPECT_EQ(condition_of(*encoding::parse_yaml(std::string(odd)), "Ready"), nullptr) << odd;
}

}  // namespace
}  // namespace mist::apimachinery
