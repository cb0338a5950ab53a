#include "encoding/yaml.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "encoding/json.h"

namespace mist::encoding {
namespace {

Error failure(std::string_view text, const YamlOptions& options = {}) {
  auto result = parse_yaml(text, options);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? Error{} : std::move(result).error();
}

std::string place(const Error& e) {
  return e.where ? fmt::format("{}:{}", e.where->line, e.where->column) : "nowhere";
}

TEST(Yaml, KeepsOrderAndPositions) {
  const Value value = *parse_yaml("b: 1\na:\n  - x\n  - {k: é, l: v}\n");
  ASSERT_EQ(value.as_object()[0].key, "b");
  const auto at = [](const Value& v) { return std::pair(v.position().line, v.position().column); };
  EXPECT_EQ(at(value), std::pair(1U, 1U));
  EXPECT_EQ(at(*value.find("b")), std::pair(1U, 4U));
  const Value& list = *value.find("a");
  EXPECT_EQ(at(list), std::pair(2U, 1U)) << "it begins below its key";
  EXPECT_EQ(at(list.as_array()[0]), std::pair(3U, 5U));
  EXPECT_EQ(at(list.as_array()[1]), std::pair(4U, 5U));
  EXPECT_EQ(at(*list.as_array()[1].find("l")), std::pair(4U, 15U));
}

TEST(Yaml, WhatBeginsBelowItsKeyStandsWhereTheKeyDoes) {
  const Value value = *parse_yaml(
      "a:\n  text\nb: &x\n  c: 1\nd:\n  *x\ne:\n  - - f:\n        \"g\"\nh: |\n  i\nj: {k:\n  1}\n? l\n: "
      "1\n");
  const auto line = [](const Value* v) { return v == nullptr ? 0U : v->position().line; };
  EXPECT_EQ(line(value.find("a")), 1U) << "a scalar";
  EXPECT_EQ(line(value.find("b")), 3U) << "a mapping";
  EXPECT_EQ(line(value.at_path({"b", "c"})), 4U);
  EXPECT_EQ(line(value.find("d")), 5U) << "an alias";
  EXPECT_EQ(line(value.find("e")), 7U) << "a list";
  const Value& item = value.find("e")->as_array()[0];
  EXPECT_EQ(line(&item), 8U) << "an item has no key";
  EXPECT_EQ(line(item.as_array()[0].find("f")), 8U);
  EXPECT_EQ(line(value.find("h")), 10U) << "a block";
  EXPECT_EQ(line(value.at_path({"j", "k"})), 12U) << "a flow mapping";
  EXPECT_EQ(line(value.find("l")), 14U) << "an explicit key";
}

TEST(Yaml, OfTheFirstDocumentAloneNothingElseIsRead) {
  EXPECT_EQ(to_json(*parse_first_yaml("a: b\n...\nc: d\n")), R"({"a":"b"})");
  EXPECT_EQ(to_json(*parse_first_yaml("--- # one\n[x]\n--- }\n")), R"(["x"])");
  EXPECT_TRUE(parse_first_yaml("# none\n---\n---\na: b\n")->is_null()) << "the first is empty";
  EXPECT_TRUE(parse_first_yaml("")->is_null());
  EXPECT_FALSE(parse_first_yaml("a: }\n---\nb\n").ok());
}

TEST(Yaml, EmptyTextIsNull) {
  for (const std::string_view text : {"", "\n", "# c\n", "---\n", "---\n# c\n---\n...\n"}) {
    EXPECT_TRUE(parse_yaml(text)->is_null()) << text;
    EXPECT_TRUE(parse_yaml_documents(text)->empty()) << text;
  }
  EXPECT_EQ(parse_yaml_documents("null\n---\n~\n")->size(), 2U);
}

TEST(Yaml, OneDocumentMeansOne) {
  EXPECT_EQ(parse_yaml("---\na: 1\n---\n# nothing\n")->size(), 1U);
  const Error e = failure("a: 1\n---\nb: 2\n", {.file = "x.yaml"});
  EXPECT_EQ(e.where, (SourceLocation{"x.yaml", 2, 1, "---"}));
  EXPECT_EQ(parse_yaml_documents("a: 1\n---\nb: 2\n---\n# c\n---\nc: 3")->size(), 3U);
}

// Each tool of Kubernetes reads them so.
TEST(Yaml, KeysThatAreBooleansAreToldWithTheirLine) {
  std::vector<std::string> told;
  YamlOptions options;
  options.file = "f";
  options.on_warning = [&](const SourceLocation& where, const std::string& message) {
    told.push_back(fmt::format("{}: {}", where.text(), message.substr(0, message.find(';'))));
  };
  const auto value =
      parse_yaml("true: 1\n'n': 2\na: {y: 3}\nNo: 4\n? on\n: 5\nnot: yes\n!!str off: 6\n", options);
  ASSERT_TRUE(value.ok()) << value.error().to_line();
  EXPECT_EQ(told, (std::vector<std::string>{"f:3:5: the key y is a boolean in YAML and becomes \"true\"",
                                            "f:4:1: the key No is a boolean in YAML and becomes \"false\"",
                                            "f:5:3: the key on is a boolean in YAML and becomes \"true\"",
                                            "f:5:3: the key \"true\" is set twice in one mapping"}));
}

TEST(Yaml, DuplicatesWarnOrFail) {
  std::vector<std::string> warnings;
  YamlOptions options;
  options.file = "f";
  options.on_warning = [&](const SourceLocation& where, const std::string& message) {
    warnings.push_back(fmt::format("{}:{}:{}: {}", where.file, where.line, where.column, message));
  };
  EXPECT_EQ(to_json(*parse_yaml("a: 1\nb: 2\na: 3\n", options)), R"({"a":3,"b":2})");
  EXPECT_EQ(warnings,
            std::vector<std::string>{"f:3:1: the key \"a\" is set twice in one mapping; the last one wins"});
  // A key beside a merge that brings it too is not a mistake.
  warnings.clear();
  EXPECT_TRUE(parse_yaml("x: {<<: {a: 1}, a: 2}", options).ok());
  EXPECT_TRUE(warnings.empty());
  // The passes that \' needs don't repeat warnings.
  EXPECT_EQ(to_json(*parse_yaml("a: 1\na: \"it\\'s\"\nb: \"x\\'y\"\n", options)),
            R"({"a":"it's","b":"x'y"})");
  EXPECT_EQ(warnings.size(), 1U);

  options.strict = true;
  const Error e = failure("a: 1\nb:\n  c: 2\n  c: 3\n", options);
  EXPECT_EQ(place(e), "4:3");
  EXPECT_EQ(e.where->excerpt, "  c: 3");
}

struct Complaint {
  std::string_view text;
  std::string_view place;
  std::string_view words;  // in message or hint
};

TEST(Yaml, ErrorsSayWhatPeopleGotWrong) {
  const Complaint cases[] = {
      {"a:\n\tb: c\n", "2:1", "a tab is used for indentation"},
      {"a: b: c\n", "1:5", "a second \": \" on one line"},
      {"message: error: x\n", "1:15", "quotes"},
      {"a: 'b\nc: d\n", "1:4", "the quote that opens here is never closed"},
      {"a: \"b\nc: d\n", "1:4", "the quote that opens here is never closed"},
      {"a: [1, 2\nb: c\n", "1:4", "isn't closed"},
      {"a: {b: c\n", "1:4", "close it with \"}\""},
      {"a: {{ .Values.x }}\n", "1:5", "mapping can't be a key"},
      {"a: @x\n", "1:4", "can't begin with \"@\""},
      {"{% if x %}\n", "1:2", "rendered first"},
      {"a: *\n", "1:5", "\"*\" must be followed"},
      {"a: *x\n", "1:4", "no anchor \"&x\""},
      {"a: \"C:\\dir\"\n", "1:7", "backslash"},
      {"a:\n  b: c\n d: e\n", "3:2", "align it"},
      {"a:\n  - b\n - c\n", "3:2", "list"},
      {"a: b\n- c\n", "2:1", "list item"},
      {"a:b\nc: d\n", "2:2", "space after the \":\""},
      {"? [a]\n: b\n", "1:3", "can't be a key"},
      {"a: .inf\n", "1:4", "infinite"},
      {"a:\n- .nan\n", "2:3", "NaN"},
      {"a: !!int x\n", "1:4", "!!int"},
      {"a: !!binary '='\n", "1:4", "base64"},
      {"a: &x [*x]\n", "1:8", "contain itself"},
      {"<<: 1\n", "1:5", "\"<<\" takes a mapping"},
      {"~: 1\n", "1:1", "null can't be a key"},
      {"18446744073709551615: 1\n", "1:1", "can't be a key"},
      {"a: \x01\n", "1:4", "U+0001"},
      {"a: é\xff\n", "1:5", "UTF-8"},
      {"a: é: b\n", "1:5", "second"},
      {"%YAML 1.2\n---\na\n", "1:1", "version"},
      {"a: !x!y b\n", "1:4", "tag"},
      {"a: | x\n  b\n", "1:6", "next line"},
  };
  for (const Complaint& one : cases) {
    const Error e = failure(one.text);
    EXPECT_EQ(place(e), one.place) << one.text << e.to_line();
    EXPECT_NE((e.message + " " + e.hint).find(one.words), std::string::npos)
        << one.text << e.to_line() << " " << e.hint;
    EXPECT_EQ(e.kind, ErrorKind::Invalid);
  }
}

TEST(Yaml, ErrorsShowTheLine) {
  const Error e = failure("first: 1\r\nsecond: x: y\r\nthird: 3\r\n", {.file = "v.yaml"});
  EXPECT_EQ(e.where, (SourceLocation{"v.yaml", 2, 10, "second: x: y"}));
  EXPECT_EQ(failure("\ufeffa: b: c").where->excerpt, "a: b: c");
  EXPECT_EQ(failure("a: " + std::string(100'000, 'x') + ": c: d").where->excerpt, "");
}

TEST(YamlLimits, RefuseTooManyBytes) {
  EXPECT_FALSE(parse_yaml("a: 12345", {.max_bytes = 7}).ok());
  EXPECT_TRUE(parse_yaml("a: 1234", {.max_bytes = 7}).ok());
  EXPECT_FALSE(parse_yaml(std::string((std::size_t{100} << 20) + 1, ' ')).ok());
}

TEST(YamlLimits, RefuseTooManyLevels) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse_yaml(nested(512)).ok());
  EXPECT_FALSE(parse_yaml(nested(513)).ok());
  EXPECT_NE(failure(nested(1'000'000)).message.find("512 levels"), std::string::npos);
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_FALSE(parse_yaml(dashes).ok());
  std::string questions;
  for (int i = 0; i < 100'000; ++i) questions += "? ";
  EXPECT_FALSE(parse_yaml(questions).ok());
  // Aliases add up.
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 600; ++i) chain += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_FALSE(parse_yaml(chain).ok());
}

TEST(YamlLimits, RefuseAliasBombs) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 9; ++k) laughs += fmt::format("*a{},", i - 1);
    laughs += "]\n";
  }
  EXPECT_NE(failure(laughs).message.find("aliases"), std::string::npos);
  // Few aliases of one huge text are as bad.
  std::string heavy = "a: &a " + std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 300; ++i) heavy += "*a,";
  heavy += "]\nc: [";
  for (int i = 0; i < 1000; ++i) heavy += "1,";
  EXPECT_NE(failure(heavy + "]").message.find("100 MiB"), std::string::npos);
  // So are anchors around anchors.
  std::string anchors;
  for (int i = 0; i < 400; ++i) anchors += fmt::format("&a{} [", i);
  anchors += std::string(1'000'000, 'x') + std::string(400, ']');
  EXPECT_FALSE(parse_yaml(anchors).ok());
}

TEST(YamlLimits, RefuseTooManyValues) {
  std::string ones = "[";
  ones.reserve(24'000'000);
  while (ones.size() < 20'100'000) ones += "1,";
  EXPECT_NE(failure(ones + "]").message.find("10000000 keys and values"), std::string::npos);
}

TEST(YamlLimits, RefuseMuchThatIsDeep) {
  std::string text(500, '[');
  while (text.size() < 1'000'000) text += "1,";
  EXPECT_NE(failure(text).message.find("how deep"), std::string::npos);
}

TEST(YamlLimits, OneLongLineStaysQuick) {
  std::string tags = "[", duplicates = "{";
  for (int i = 0; i < 300'000; ++i) tags += "! 1,", duplicates += "a: 1,";
  EXPECT_EQ(parse_yaml(tags + "]")->size(), 300'000U);
  YamlOptions options;
  options.on_warning = [](const SourceLocation&, const std::string&) {};
  EXPECT_EQ(parse_yaml(duplicates + "}", options)->size(), 1U);
}

TEST(YamlLimits, ManyMembersAndManyDuplicatesStayQuick) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += fmt::format("key{}: {}\n", i % 100'000, i);
  std::size_t warnings = 0;
  YamlOptions options;
  options.on_warning = [&](const SourceLocation&, const std::string&) { ++warnings; };
  const Value value = *parse_yaml(text, options);
  EXPECT_EQ(value.size(), 100'000U);
  EXPECT_EQ(value.as_object().back().value, Value(199'999));
  EXPECT_EQ(warnings, 100'000U);
}

TEST(Yaml, EachDocumentMayBeginWithAByteOrderMark) {
  const auto read = [](std::string_view text) {
    const auto documents = parse_yaml_documents(text);
    return documents.ok() ? to_json(Value(Value::Array(*documents))) : documents.error().to_line();
  };
  EXPECT_EQ(read("\ufeffa: 1\n---\n\ufeffb: 2\nc: 3\n"), R"([{"a":1},{"b":2,"c":3}])");
  EXPECT_EQ(read("\ufeff---\n\ufeffb:\n- 2\n"), R"([{"b":[2]}])");
  EXPECT_EQ(read("a: 1\r\n--- # c\r\n\ufeff- b\r\n- c\r\n...\r\n\ufeff---\r\nd: 4\r\n"),
            R"([{"a":1},["b","c"],{"d":4}])");
  const auto duplicate = parse_yaml_documents("---\n\ufeffa: 1\na: 2\n", {.strict = true});
  ASSERT_FALSE(duplicate.ok());
  EXPECT_EQ(duplicate.error().where->line, 3U);
  EXPECT_EQ(parse_yaml("---\n\ufeffa: 1\n")->find("a")->position().column, 4U);
}

TEST(Yaml, AByteOrderMarkElsewhereIsTextOrAnError) {
  EXPECT_EQ(to_json(*parse_yaml("a: |\n  ---\n  \ufeffx\n")), "{\"a\":\"---\\n\ufeffx\\n\"}");
  EXPECT_EQ(to_json(*parse_yaml("a: 'x\n\ufeffy'")), "{\"a\":\"x \ufeffy\"}");
  const Error e = failure("a: 1\n\ufeffb: 2\n", {.file = "x.yaml"});
  EXPECT_EQ(e.message, "this line begins with an invisible byte order mark (U+FEFF)");
  EXPECT_EQ(e.where->line, 2U);
}

TEST(YamlPrint, RefusesNothing) {
  EXPECT_EQ(to_yaml(Value::object({{"x", std::nan("")}, {"i", -std::numeric_limits<double>::infinity()}})),
            "x: .nan\ni: -.inf\n");
  EXPECT_EQ(to_yaml(Value("a\xff")), "a\ufffd\n");
  EXPECT_EQ(to_yaml(Value(-0.0)), "-0.0\n");
  EXPECT_EQ(to_yaml(Value()), "null\n");
}

// YAML 1.2 has no such line breaks: it would read the indentation behind a bare one as text.
TEST(YamlPrint, EscapesTheLineBreaksOfYaml11Alone) {
  const Value value = Value::object({{"a", Value::object({{"b", "x\u2028'y"}, {"c", "x\u2029\ny\n"}})}});
  EXPECT_EQ(to_yaml(value), "a:\n  b: \"x\\L'y\"\n  c: \"x\\P\\ny\\n\"\n");
  EXPECT_EQ(*parse_yaml(to_yaml(value)), value);
  EXPECT_EQ(to_yaml(Value::object({{"k\u2028", 1}})), "? \"k\\L\"\n: 1\n");
  EXPECT_EQ(to_yaml(Value("\u2027\u202a")), "\u2027\u202a\n");
}

TEST(YamlPrint, EscapesMarksOfDirectionWhereAskedTo) {
  const YamlPrintOptions options{.escape_directions = true};
  const std::vector<std::pair<std::string, std::string>> marks{
      {"\u061c", "061C"}, {"\u200e", "200E"}, {"\u200f", "200F"}, {"\u202a", "202A"},
      {"\u202e", "202E"}, {"\u2066", "2066"}, {"\u2069", "2069"}};
  for (const auto& [mark, code] : marks) {
    const Value value = Value::object({{"k" + mark, "a" + mark + "\nb\n"}});
    EXPECT_EQ(to_yaml(value, options), fmt::format("\"k\\u{0}\": \"a\\u{0}\\nb\\n\"\n", code));
    EXPECT_EQ(*parse_yaml(to_yaml(value, options)), value);
    EXPECT_EQ(to_yaml(Value(mark)), mark + "\n");
  }
  for (const char* other : {"\u200c", "\u200d", "\u2029", "\u202f", "\u2065", "\u206a"})
    EXPECT_EQ(to_yaml(Value(other), options), to_yaml(Value(other))) << other;
}

TEST(YamlPrint, SeparatesDocuments) {
  const std::vector<Value> documents = {Value::object({{"a", 1}}), Value::array({"x"}), Value("l\n")};
  const std::string text = to_yaml_documents(documents);
  EXPECT_EQ(text, "a: 1\n---\n- x\n---\n|\n  l\n");
  EXPECT_EQ(*parse_yaml_documents(text), documents);
  EXPECT_EQ(to_yaml_documents({}), "");
}

}  // namespace
}  // namespace mist::encoding
