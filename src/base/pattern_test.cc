#include "base/pattern.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

TEST(Pattern, IsFoundAnywhere) {
  const Pattern pattern = *Pattern::parse("a[bc]+$");
  EXPECT_TRUE(pattern.found_in("xabc"));
  EXPECT_FALSE(pattern.found_in("abcx"));
  EXPECT_TRUE(Pattern::parse("")->found_in(""));
}

TEST(Pattern, IsRefusedWhereItIsNone) {
  for (const std::string_view text : {"(", "[z-a]", "*", "a{2"}) {
    const auto refused = Pattern::parse(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_FALSE(refused.error().because.empty());
  }
  EXPECT_FALSE(Pattern::parse(std::string(2000, 'a')).ok());
}

}  // namespace
}  // namespace mist
