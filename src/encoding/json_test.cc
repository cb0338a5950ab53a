#include "encoding/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mist::encoding {
namespace {

std::string again(std::string_view text) {
  const auto value = parse_json(text);
  return value.ok() ? to_json(*value) : "error: " + value.error().to_line();
}

TEST(Json, KeepsNumbersExact) {
  for (const std::string_view text :
       {"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "1.5", "0.1", "1e-7", "1e+21", "1.7976931348623157e+308", "5e-324",
        "2.2250738585072014e-308", "123456789.12345679", "-0", "0.000001", "100000000000000000000"})
    EXPECT_EQ(again(text), text);
  EXPECT_EQ(again("18446744073709551616"), "18446744073709552000");
  EXPECT_EQ(again("-9223372036854775809"), "-9223372036854776000");
  EXPECT_EQ(again("1.0"), "1");
  EXPECT_EQ(again("1e3"), "1000");
  EXPECT_EQ(again("1E+2"), "100");
  EXPECT_EQ(again("1e-400"), "0");
  EXPECT_EQ(parse_json("1.0")->kind(), Value::Kind::Double);
  EXPECT_EQ(parse_json("18446744073709551615")->kind(), Value::Kind::UInt);
  EXPECT_NE(again("1e400").find("too large"), std::string::npos);
  // Rounded correctly, which fast parsers often don't.
  EXPECT_EQ(parse_json("9007199254740993.0")->as_double(), 9007199254740992.0);
  EXPECT_EQ(parse_json("8.5e-17")->as_double(), 8.5e-17);
  EXPECT_EQ(parse_json("0.3")->as_double(), 0.3);
}

TEST(Json, EscapesWhatGoEscapes) {
  EXPECT_EQ(to_json(Value(std::string("\x00\x01\b\f\n\r\t\x1f\x7f\"\\/<>&", 15))),
            R"("\u0000\u0001\b\f\n\r\t\u001f)"
            "\x7f"
            R"(\"\\/<>&")");
  EXPECT_EQ(to_json(Value("é\u2028\u2029😀")), "\"é\\u2028\\u2029😀\"");
  EXPECT_EQ(to_json(Value("a\xff\xc3")), "\"a\ufffd\ufffd\"");
  EXPECT_EQ(to_json(Value::object({{"\xff", 1}})), "{\"\ufffd\":1}");
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(parse_json(R"("\u0041\ud83d\ude00\/\n\u0000")")->as_string(), std::string("A😀/\n\0", 8));
  EXPECT_EQ(parse_json("\"a\xff\"")->as_string(), "a\ufffd");
  EXPECT_EQ(parse_json("{\"a\xff\":1}")->as_object()[0].key, "a\ufffd");
}

TEST(Json, PrintsInTwoStyles) {
  const Value value = *parse_json(R"({"b":[1,{"c":null}],"a":{},"d":[]})");
  EXPECT_EQ(to_json(value), R"({"b":[1,{"c":null}],"a":{},"d":[]})");
  EXPECT_EQ(to_json(value, JsonStyle::Pretty),
            "{\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"a\": {},\n  \"d\": []\n}");
  EXPECT_EQ(to_json(Value(std::nan(""))), "null");
}

TEST(Json, ExactStyleKeepsDoublesDoubles) {
  const Value value = Value::object({{"d", 1.0}, {"i", 1}, {"big", 1e21}, {"neg", -0.5}, {"text", "1"}});
  const std::string text = to_json(value, JsonStyle::Exact);
  EXPECT_EQ(text, R"({"d":1.0,"i":1,"big":1e+21,"neg":-0.5,"text":"1"})");
  EXPECT_EQ(*parse_json(text), value);
}

TEST(Json, DuplicatesFailOnlyWhenStrict) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  const auto strict = parse_json("{\"a\":1,\n \"a\":3}", {.strict = true, .file = "x.json"});
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().where->line, 2U);
  EXPECT_EQ(strict.error().where->file, "x.json");
}

TEST(Json, ErrorsSayWhere) {
  struct Case {
    std::string_view text, place, words;
  };
  const Case cases[] = {
      {"", "1:1", "too early"},
      {"  \n", "2:1", "too early"},
      {"{\"a\": 1", "1:8", "too early"},
      {"{\n  \"a\": 1,\n}", "3:1", "comma"},
      {"[1, 2,]", "1:7", "comma"},
      {"{'a': 1}", "1:2", "double quotes"},
      {"{a: 1}", "1:2", "double quotes"},
      {"{\"a\": 1 \"b\": 2}", "1:9", "comma is missing"},
      {"[1] x", "1:5", "after the end"},
      {"{} {}", "1:4", "after the end"},
      {"// c\n1", "1:1", "no comments"},
      {"True", "1:1", "lower case"},
      {"\"a\nb\"", "1:3", "U+000A"},
      {"\"\\ud83d\"", "1:8", "surrogate"},
      {"\"\\x\"", "1:3", "isn't expected"},
      {"\xef\xbb\xbf{}", "1:1", "byte order mark"},
      {"nul", "1:4", "too early"},
      {"01", "1:2", ""},
      {"-", "1:2", ""},
  };
  for (const Case& one : cases) {
    const auto result = parse_json(one.text);
    ASSERT_FALSE(result.ok()) << one.text;
    const Error& e = result.error();
    EXPECT_EQ(fmt::format("{}:{}", e.where->line, e.where->column), one.place)
        << one.text << " " << e.to_line();
    EXPECT_NE((e.message + " " + e.hint).find(one.words), std::string::npos)
        << one.text << " " << e.to_line() << e.hint;
  }
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_json(nested(512)).ok());
  EXPECT_FALSE(parse_json(nested(513)).ok());
  EXPECT_NE(parse_json(nested(10'000'000)).error().message.find("512"), std::string::npos);
}

TEST(Json, WhatNestsTooDeepIsCutWhereThatIsAskedFor) {
  const auto cut = [](std::string_view text, int levels) {
    const auto value = parse_json(text, {.max_depth = levels, .cut_deep = true});
    return value.ok() ? to_json(*value) : value.error().message;
  };
  const std::string deep = fmt::format("\"{}\"", kTooDeep);
  EXPECT_EQ(cut(R"({"a": [1]})", 2), R"({"a":[1]})") << "it is not";
  EXPECT_EQ(cut(R"({"a": [[], {"b": "]}"}, "[\"{", 2], "c": [3]})", 2),
            fmt::format(R"({{"a":[{0},{0},"[\"{{",2],"c":[3]}})", deep));
  EXPECT_EQ(cut("[[[[", 2), "the JSON text ends too early");
  EXPECT_EQ(cut("[[[]]] x", 2), "text after the end of the JSON value");
  const std::size_t levels = 1'000'000;
  const auto value = parse_json(fmt::format("[{}{}, 1]", std::string(levels, '['), std::string(levels, ']')),
                                {.cut_deep = true});
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->as_array()[1], Value(1));
  EXPECT_FALSE(nests_deeper(*value, 512));
  EXPECT_TRUE(nests_deeper(*value, 511));
  EXPECT_TRUE(parse_json(to_json(*value)).ok()) << "what is kept can be read again";
}

TEST(Json, ManyMembersStayQuick) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("\"key{}\":{},", i % 100'000, i);
  text.back() = '}';
  EXPECT_EQ(parse_json(text)->size(), 100'000U);
}

TEST(Json, HasAsManyValuesAsAreAllowed) {
  EXPECT_TRUE(parse_json(R"({"a": [1, 2]})", {.max_values = 4}).ok());
  const auto more = parse_json(R"({"a": [1, 2, 3]})", {.max_values = 4});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().message, "the document has more than 4 values");
  for (const char* text :
       {"[1]", "[-1]", "[1.5]", "[true]", "[null]", "[[]]", "[{}]", R"(["a"])", "[18446744073709551615]"})
    EXPECT_FALSE(parse_json(text, {.max_values = 1}).ok()) << text;
}

}  // namespace
}  // namespace mist::encoding
