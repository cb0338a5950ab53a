#include "encoding/json_escapes.h"

#include <gtest/gtest.h>

#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::encoding {
namespace {

TEST(JsonEscapes, PairsAreReadAsJsonReadsThem) {
  for (const std::string_view text :
       {R"({"a":"\ud83d\ude00"})", R"( ["\uD83D\uDE00 \\ud83d\\ude00 \\\ud83d\ude00","\u0041\n\"\/"])",
        R"({"\uDBFF\uDFFF":{"b":"\ud800\udc00"}})"}) {
    const auto as_json = parse_json(text), as_yaml = parse_yaml(with_yaml_escapes(text));
    ASSERT_TRUE(as_yaml.ok()) << text << as_yaml.error().to_line();
    EXPECT_EQ(*as_json, *as_yaml) << text;
  }
}

TEST(JsonEscapes, OtherTextsStayAsTheyAre) {
  for (const std::string_view text :
       {R"({"a":"b"})", R"({a: '\ud83d\ude00'})", R"(a: "\ud83d\ude00")", R"({"a":"\ud83d"})",
        R"({"a":"\ud83d\u0041"})", "", "{", R"(["\ud83d\)"})
    EXPECT_EQ(with_yaml_escapes(text), text);
}

}  // namespace
}  // namespace mist::encoding
