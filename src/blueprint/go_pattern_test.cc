#include "blueprint/go_pattern.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace mist::blueprint {
namespace {

TEST(GoPattern, CountsRepetitionsAlsoOfThoseWithinOneAnother) {
  for (const auto& [pattern, most] :
       std::vector<std::pair<std::string_view, std::uint64_t>>{{"", 1},
                                                               {"^[a-z]+$", 1},
                                                               {"^a{1,2000}$", 2000},
                                                               {"a{1000}", 1000},
                                                               {"a{5,}b{7}", 7},
                                                               {"(a{20}b){100}", 2000},
                                                               {"((a{2}){3})?{5}", 30},
                                                               {"(a|b{4})*c{2}", 4},
                                                               {"a{0}", 1},
                                                               {"[{5000}]{2}", 2},
                                                               {"[]{9}]", 1},
                                                               {"[[:alpha:]{9}]{3}", 3},
                                                               {R"(\{5000}a{2})", 2},
                                                               {R"([\]{9}]{3})", 3},
                                                               {"a{x}{,5}{5", 1},
                                                               {"a{99999999999999999999}", 1'000'000},
                                                               {")){2}", 2},
                                                               {"[", 1},
                                                               {"\\", 1}})
    EXPECT_EQ(most_repeats(pattern), most) << pattern;
}

}  // namespace
}  // namespace mist::blueprint
