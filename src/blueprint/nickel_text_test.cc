#include "blueprint/nickel_text.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

TEST(NickelText, AFieldIsQuotedUnlessItIsAnIdentifier) {
  for (const std::string_view plain : {"a", "A1", "_a", "__a-b", "string", "Strings", "to_json"})
    EXPECT_EQ(nickel_field(plain), plain);
  // Nickel reads these as types, keywords, patterns or numbers.
  for (const std::string_view word : {"String", "Number", "Bool", "Dyn", "Array", "as", "include",
                                      "not_exported", "merge", "_", "__", "_1", "1", "-a", "a.b", "a b", ""})
    EXPECT_EQ(nickel_field(word), fmt::format("\"{}\"", word));
}

TEST(NickelText, PathsQuoteTheirFieldsToo) {
  EXPECT_EQ(to_nickel(testing::yaml("{data: {String: a}}"), 0), "{\n  data.\"String\" = \"a\",\n}");
}

}  // namespace
}  // namespace mist::blueprint
