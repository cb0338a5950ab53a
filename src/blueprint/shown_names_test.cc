#include "blueprint/shown_names.h"

#include <gtest/gtest.h>

namespace mist::blueprint {
namespace {

TEST(ShownNames, AreThoseOfTheBlueprint) {
  constexpr std::string_view kKnown = "{ image | String }";
  EXPECT_EQ(with_known_names("missing field `image`", kKnown), "missing field `image`");
  EXPECT_EQ(with_known_names("extra field `hunter2`\nin the record of `image`: `hunter2`", kKnown),
            "extra field `…`\nin the record of `image`: `…`");
  EXPECT_EQ(with_known_names("``, no name ` at all", kKnown), "``, no name ` at all");
  EXPECT_EQ(with_known_names("", kKnown), "");
}

}  // namespace
}  // namespace mist::blueprint
