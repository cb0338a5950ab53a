#include "blueprint/pattern_sample.h"

#include <gtest/gtest.h>

#include <regex>

namespace mist::blueprint {
namespace {

TEST(PatternSample, IsATextThatThePatternFinds) {
  for (const char* const pattern :
       {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^(\\+|-)?[0-9]+(\\.[0-9]*)?(Ki|Mi)?$", "^v\\d+(beta\\d+)?$",
        "^[^/]+/[^/]+$", "^a{3}b{2,4}c{1,}$", "^(?:tcp|udp)://\\w+:\\d{2,5}$", "^\\S+@\\S+$", "x", "^[]a]$",
        "^[a\\-z]\\.[\\d]$", "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$", "^$", "^a{$"}) {
    const auto made = text_matching(pattern, 0, 1000);
    ASSERT_TRUE(made) << pattern;
    if (std::string_view(pattern) == "^a{$")
      EXPECT_EQ(*made, "a{");
    else if (std::string_view(pattern) == "^[]a]$")
      EXPECT_EQ(*made, "a");
    else
      EXPECT_TRUE(std::regex_search(*made, std::regex(pattern))) << pattern << " and " << *made;
  }
}

TEST(PatternSample, HasALengthWithinBounds) {
  EXPECT_EQ(text_matching("^[a-z]+$", 5, 9), "aaaaa");
  EXPECT_EQ(text_matching("^[a-z]*$", 0, 0), "");
  EXPECT_EQ(text_matching("^[a-z]{3}$", 4, 9), std::nullopt);
  EXPECT_EQ(text_matching("^v[0-9]$", 0, 1), std::nullopt);
}

TEST(PatternSample, WhatItDoesNotKnowItDoesNotGuess) {
  for (const char* const pattern : {"^\\p{Greek}$", "^[[:alpha:]]$", "(", "[a", "\\"})
    EXPECT_EQ(text_matching(pattern, 0, 1000), std::nullopt) << pattern;
  // Deep, and long.
  EXPECT_EQ(text_matching(std::string(100'000, '('), 0, 10), std::nullopt);
  EXPECT_EQ(text_matching("^((a{1000}){1000}){1000}$", 0, 10), std::nullopt);
}

}  // namespace
}  // namespace mist::blueprint
