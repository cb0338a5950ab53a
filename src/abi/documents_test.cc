#include "abi/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "encoding/json.h"
#include "encoding/schema_place.h"
#include "encoding/yaml.h"

namespace mist::abi {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(InputText, IsOneLineOfJson) {
  const Value input = Value::object({{"kind", "MistInput"}, {"data", Value::object({{"text", "a\nb"}})}});
  EXPECT_EQ(input_text(input), "{\"kind\":\"MistInput\",\"data\":{\"text\":\"a\\nb\"}}\n");
}

TEST(InputText, IsYamlWhateverTheStringsHold) {
  std::string all;
  for (char32_t c = 1; c < 0x10000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    if (c < 0x80) {
      all.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      all.push_back(static_cast<char>(0xc0 | c >> 6));
      all.push_back(static_cast<char>(0x80 | (c & 0x3f)));
    } else {
      all.push_back(static_cast<char>(0xe0 | c >> 12));
      all.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
      all.push_back(static_cast<char>(0x80 | (c & 0x3f)));
    }
  }
  all += "\xf0\x9f\x8e\x84";
  const Value input = Value::object({{"text", all}});
  const auto as_json = encoding::parse_json(input_text(input));
  ASSERT_TRUE(as_json.ok()) << as_json.error().to_line();
  EXPECT_EQ(*as_json, input);
  const auto as_yaml = encoding::parse_yaml(input_text(input));
  ASSERT_TRUE(as_yaml.ok()) << as_yaml.error().to_line();
  EXPECT_EQ(*as_yaml, input);
}

TEST(ParseResult, JsonIsReadAsJson) {
  const std::string head = R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok",)";
  // DEL and a C1 control, which stand for themselves in JSON and may not in YAML.
  const std::string text = head + "\"print\":\"a\x7f\xc2\x80\"}}\n";
  const auto quick = parse_json_result(text, "shop");
  ASSERT_TRUE(quick);
  ASSERT_TRUE(quick->ok());
  EXPECT_EQ((*quick)->print, "a\x7f\xc2\x80");
  EXPECT_EQ(parse_result(text, "shop")->print, (*quick)->print);
  // Faults are told as in YAML, with their place.
  for (const std::string& fault : {head + R"("result":"Ok"}})", head + R"("files":{"../a":""}}})",
                                   head + R"("files":[]}})", head + R"("message":"\uD800"})"}) {
    EXPECT_FALSE(parse_json_result(fault, "shop")) << fault;
    const auto refused = parse_result(fault, "shop");
    ASSERT_FALSE(refused.ok()) << fault;
    ASSERT_TRUE(refused.error().where) << fault;
    EXPECT_EQ(refused.error().where->line, 1U) << fault;
  }
}

// Else it would be read again as YAML, its schemas checked once more.
TEST(ParseResult, AFailureInJsonIsFinal) {
  const auto quick = parse_json_result(
      R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Err","message":"no"}})",
      "shop");
  ASSERT_TRUE(quick);
  ASSERT_FALSE(quick->ok());
  EXPECT_EQ(quick->error().because, "no");
  EXPECT_FALSE(parse_json_result(
      R"({"apiVersion":"mistletoe.dev/v0","kind":"MistResult","data":{"result":"Err"}})", "shop"));
  EXPECT_FALSE(
      parse_json_result(R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":"Err"})", "shop"));
}

TEST(ParseResult, AFailureMayBringItsLine) {
  const auto excerpt = [](const std::string& text) {
    const auto failed = parse_result(
        R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Err","where":{"file":"a.yaml","line":2,"text":")" +
            text + "\"}}}",
        "shop");
    return failed.ok() || !failed.error().where ? "none" : failed.error().where->excerpt;
  };
  EXPECT_EQ(excerpt("  b: {{ fail }}"), "  b: {{ fail }}");
  EXPECT_EQ(excerpt(R"(a\nb)"), "");
  EXPECT_EQ(excerpt(std::string(2001, 'x')), "");
}

// Without its schema a subchart would still take nothing but a mapping.
TEST(ParseResult, AFailureMayBringTheValuesThatWereRefused) {
  const auto refused = [](std::string_view more) {
    return parse_result(
        fmt::format(
            R"({{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{{"result":"Err","message":"no",)"
            R"("refused":[{{"above":["sub"],"schema":{{"properties":{{"deep":{{"type":"object"}}}}}},)"
            R"("values":{{"deep":"abc"}}{}}}]}}}})",
            more),
        "shop");
  };
  for (const bool fixed : {false, true}) {
    const auto failed = refused(fixed ? R"(,"fixed":true)" : "");
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message, "the values don't fit the package shop");
    EXPECT_THAT(failed.error().because, HasSubstr("sub.deep: must be"));
    const auto* const faults = failed.error().detail<encoding::ValueFaults>();
    ASSERT_NE(faults, nullptr);
    EXPECT_EQ(faults->of_chart, !fixed);
  }
}

// A guest's schemas have the work of one validation together, and beyond that its own words are shown.
TEST(ParseResult, RefusedValuesAreBounded) {
  const auto failed = [](std::string_view schema, std::string_view values, std::size_t times) {
    std::string refused;
    for (std::size_t i = 0; i < times; ++i)
      refused += fmt::format(R"({}{{"above":["c{}"],"schema":{},"values":{}}})", i == 0 ? "" : ",", i, schema,
                             values);
    const auto result = parse_result(
        fmt::format(R"({{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{{"result":"Err",)"
                    R"("message":"no","refused":[{}]}}}})",
                    refused),
        "shop");
    return result.ok() ? std::string() : result.error().because;
  };
  EXPECT_EQ(std::ranges::count(failed(R"({"type":"object"})", "1", 100), '\n'), 15);
  // Each level twice: half a million steps and more for each of them.
  std::string defs = R"("s0":{"type":"string"})";
  for (int i = 1; i < 19; ++i)
    defs +=
        fmt::format(R"(,"s{0}":{{"allOf":[{{"$ref":"#/$defs/s{1}"}},{{"$ref":"#/$defs/s{1}"}}]}})", i, i - 1);
  const std::string costly = fmt::format(
      R"({{"properties":{{"a":{{"$ref":"#/$defs/s18"}},"b":{{"type":"string"}}}},"$defs":{{{}}}}})", defs);
  EXPECT_THAT(failed(costly, R"({"a":"x","b":1})", 1), HasSubstr("c0.b: must be"));
  EXPECT_EQ(failed(costly, R"({"a":"x","b":1})", 8), "no");
}

TEST(ParseResult, ReadsFilesInOrderAndExports) {
  const auto output = parse_result(
      "apiVersion: mistletoe.dev/v1\nkind: MistResult\ndata:\n  result: Ok\n  files:\n    z/b.yaml: 'b: 1'\n"
      "    a.yaml: 'a: 1'\n  exports:\n    url: http://shop\n",
      "shop");
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  ASSERT_EQ(output->files.size(), 2U);
  EXPECT_EQ(output->files[0].path, "z/b.yaml");
  EXPECT_EQ(output->files[1].text, "a: 1");
  EXPECT_EQ(output->exports.string_at("url"), "http://shop");
}

TEST(ParseResult, ReadsWhereFilesAreFrom) {
  const auto output = parse_result(
      R"({apiVersion: mistletoe.dev/v1, kind: MistResult, data: {result: Ok, files: {a: x, b: x, c: x, d: x},
          origins: {a: {file: a.j2, lines: [2, 0]},
                    b: [{file: m.ncl, lines: [1]}, {file: l.ncl, lines: [0, 7, -1]}, {file: m.ncl, lines: [9]}, 7],
                    c: {file: ../c, lines: [1]}}}})",
      "shop");
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  const auto& files = output->files;
  EXPECT_EQ(files.at(0).source, "a.j2");
  EXPECT_THAT(files.at(0).lines, ElementsAre(2, 0));
  EXPECT_EQ(files.at(1).source, "m.ncl");
  EXPECT_THAT(files.at(1).lines, ElementsAre(1));
  EXPECT_THAT(files.at(1).others, ElementsAre(Pair("l.ncl", ElementsAre(0, 7, 0))));
  EXPECT_EQ(files.at(2).source, "");
  EXPECT_EQ(files.at(3).source, "");
}

TEST(ParseResult, ReadsExportsThatAreYamlText) {
  const auto output = parse_result(
      R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","exports":"a: [1, 2]\n"}})",
      "shop");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exports, Value::object({{"a", Value::array({1, 2})}}));
  // As the SDKs write a text.
  const auto text = parse_result(
      R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","exports":"\"on \\u0085\""}})",
      "x");
  ASSERT_TRUE(text.ok()) << text.error().to_line();
  EXPECT_EQ(text->exports, Value("on \xc2\x85"));
  EXPECT_TRUE(output->files.empty());
}

TEST(ParseResult, PassesOnThePackagesOwnMessage) {
  const auto output = parse_result(
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistResult\ndata:\n  result: Err\n  message: replicas must "
      "be odd\n",
      "shop");
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(output.error().because, "replicas must be odd");
}

struct BadResult {
  std::string_view text;
  std::string_view says;
};

TEST(ParseResult, SaysWhatIsWrong) {
  const std::vector<BadResult> cases = {
      {"", "null"},
      {"[]", "array"},
      {"kind: Pod", "\"Pod\""},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v7}", "v7"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1}", "has no data"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {}}", "data.result must be Ok or Err"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: ok}}", "\"ok\""},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: 5}}",
       "data.files is integer"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {a: {}}}}",
       "\"a\" is object"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {'': x}}}", "path"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {a/../b: x}}}", "a/../b"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {\"a\\nb\": x}}}", "path"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {'a\\b': x}}}", "path"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, files: {a: \"\\0\"}}}", "NUL"},
      {"{kind: MistResult, apiVersion: mistletoe.dev/v1, data: {result: Ok, exports: '{'}}", "exports"},
      {"{kind: MistResult, kind: MistResult}", "kind"},
      {"a: \xff", "UTF-8"},
      {std::string_view("a: \0", 4), "NUL byte at offset 3"},
  };
  for (const BadResult& each : cases) {
    const auto output = parse_result(each.text, "shop");
    ASSERT_FALSE(output.ok()) << each.text;
    EXPECT_EQ(output.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(output.error().to_line(), HasSubstr(each.says)) << each.text;
  }
}

TEST(ParsePackage, WantsANameAndTheKind) {
  EXPECT_TRUE(
      parse_package("{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: shop}}", "p", "s")
          .ok());
  for (const std::string_view text :
       {"{apiVersion: mistletoe.dev/v1, kind: MistPackage}",
        "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: 5}}",
        "{apiVersion: v1, kind: MistPackage, metadata: {name: shop}}", "{", ""}) {
    const auto package = parse_package(text, "shop.wasm", "the section");
    ASSERT_FALSE(package.ok()) << text;
    EXPECT_EQ(package.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(package.error().to_line(), HasSubstr("shop.wasm"));
  }
}

TEST(IsOwnDocument, TellsResultsFromKubernetesYaml) {
  EXPECT_TRUE(is_own_document("apiVersion: mistletoe.dev/v1\nkind: MistResult\n"));
  EXPECT_TRUE(is_own_document(R"({"data":{},"kind":"MistResult","apiVersion":"mistletoe.dev/v1alpha1"})"));
  EXPECT_TRUE(is_own_document("apiVersion: mistletoe.dev/v1\nkind: MistResult\ndata: {{{\n"))
      << "broken, but meant as one";
  EXPECT_FALSE(is_own_document(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {mistletoe.dev/x: MistResult}}\n"));
  EXPECT_FALSE(is_own_document("apiVersion: mistletoe.dev/v1\nkind: MistResult\n---\nkind: Pod\n"));
  EXPECT_FALSE(is_own_document("apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges: []\n"));
  EXPECT_FALSE(is_own_document("apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges: {{{\n"));
  EXPECT_FALSE(is_own_document(""));
}

}  // namespace
}  // namespace mist::abi
