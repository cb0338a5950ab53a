#include "catalog/input_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/fs.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "testing/source_dir.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

Value json(std::string_view text) { return *encoding::parse_json(text); }

const Value kSchema =
    json(R"({"type": "object", "required": ["host", "replicas", "image", "token"], "properties": {
  "host": {"type": "string", "description": "Where it is reached"},
  "replicas": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
  "ratio": {"type": "number"},
  "debug": {"type": "boolean"},
  "mode": {"enum": ["fast", "safe", 3]},
  "image": {"type": "object", "required": ["tag"], "properties": {"tag": {"type": "string"}}},
  "token": {"type": "string", "format": "password"},
  "names": {"type": "array"}}})");

std::vector<InputField> input_fields(const Value& schema) {
  return input_form(PackageFacts{.inputs = schema}).fields;
}

std::vector<std::string> names_of(const std::vector<InputField>& fields) {
  std::vector<std::string> names;
  for (const InputField& each : fields) names.push_back(each.name);
  return names;
}

FilledInputs filled(const FormAnswers& answers) { return fill_inputs(input_fields(kSchema), answers); }
std::string values(const FormAnswers& answers) { return encoding::to_json(filled(answers).values); }

TEST(InputForm, HasAFieldForEachInput) {
  EXPECT_THAT(names_of(input_fields(kSchema)),
              ElementsAre("host", "replicas", "ratio", "debug", "mode", "image.tag", "token", "names"));
  for (const char* none : {"null", "true", "{}", R"({"properties": 3})", "[]"})
    EXPECT_THAT(input_fields(json(none)), IsEmpty()) << none;
}

TEST(InputForm, TheNameOfAReleaseIsNoInput) {
  const Value schema = json(R"({"required": ["name", "size"], "properties": {
    "name": {"type": "string"}, "size": {"type": "integer"}, "db": {"properties": {"name": {"type": "string"}}}}})");
  const auto fields = input_form(PackageFacts{.inputs = schema, .takes_name = false}).fields;
  EXPECT_THAT(names_of(fields), ElementsAre("size", "db.name"));
  const FilledInputs filled = fill_inputs(fields, {{"name", "a"}});
  EXPECT_THAT(filled.open, ElementsAre("size"));
  EXPECT_TRUE(filled.values.empty());
  EXPECT_THAT(names_of(input_fields(schema)), ElementsAre("name", "size", "db.name"));
}

TEST(InputForm, MakesValuesOfAnswers) {
  EXPECT_EQ(values({}), "{}");
  EXPECT_EQ(
      values({{"host", "a.example"},
              {"replicas", "4"},
              {"ratio", "0.5"},
              {"debug", "false"},
              {"mode", "\"safe\""},
              {"image.tag", "1.2"},
              {"names", "[\"a\"]"}}),
      R"({"host":"a.example","replicas":4,"ratio":0.5,"debug":false,"mode":"safe","image":{"tag":"1.2"},)"
      R"("names":["a"]})");
  EXPECT_EQ(values({{"host", "007"}, {"mode", "3"}, {"nobody", "asked"}}), R"({"host":"007","mode":3})");
}

TEST(InputForm, SaysWhatIsWrongAndWhatIsMissing) {
  const FilledInputs wrong = filled({{"replicas", "10"},
                                     {"ratio", "much"},
                                     {"debug", "yes"},
                                     {"mode", "slow"},
                                     {"names", "[a"},
                                     {"image.tag", std::string(5000, 'x')}});
  EXPECT_THAT(
      wrong.faults,
      ElementsAre(Pair("debug", "must be true or false"), Pair("image.tag", HasSubstr("4000 bytes")),
                  Pair("mode", "must be one of the choices"), Pair("names", HasSubstr("must be JSON")),
                  Pair("ratio", "must be a number"), Pair("replicas", "must be at most 9")));
  EXPECT_THAT(wrong.open, ElementsAre("host", "token"));
  EXPECT_EQ(wrong.count, 0U);
  EXPECT_THAT(filled({{"replicas", "0"}}).faults, ElementsAre(Pair("replicas", "must be at least 1")));
  EXPECT_THAT(filled({{"replicas", "1.5"}}).faults, ElementsAre(Pair("replicas", "must be a whole number")));
  EXPECT_THAT(filled({{"host", "a"}}).open, ElementsAre("image.tag", "token"));
}

TEST(InputForm, TakesNoSecrets) {
  EXPECT_EQ(values({{"token", "hunter2"}}), "{}");
  const auto fields = input_fields(kSchema);
  const FormAnswers answers{{"token", "hunter2"}};
  EXPECT_THAT(
      input_markup(fields, answers, fill_inputs(fields, answers)).text(),
      AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("name=\"token\"")), HasSubstr("a file of your own")));
}

TEST(InputForm, TakesNoSecretsWithinOtherInputs) {
  const auto fields = input_fields(json(R"({"properties": {
    "users": {"type": "array", "items": {"properties": {"name": {"type": "string"},
                                                        "password": {"type": "string", "writeOnly": true}}}},
    "tokens": {"type": "object", "additionalProperties": {"type": "string", "format": "password"}},
    "hosts": {"type": "array", "items": {"type": "string"}}}})"));
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_TRUE(fields[0].is_secret);
  EXPECT_TRUE(fields[1].is_secret);
  EXPECT_FALSE(fields[2].is_secret);
}

std::vector<std::string> secrets_of(const Value& schema) {
  std::vector<std::string> names;
  for (const InputField& each : input_fields(schema))
    if (each.is_secret) names.push_back(each.name);
  return names;
}

TEST(InputForm, FollowsReferencesToSecretsAndTypes) {
  const Value schema = json(R"({"properties": {
    "root": {"description": "Of root", "$ref": "#/$defs/password"},
    "users": {"type": "array", "items": {"$ref": "#/$defs/user"}},
    "database": {"$ref": "#/$defs/user"},
    "image": {"$ref": "#/$defs/image", "default": "a:1"},
    "list": {"$ref": "#/$defs/list"}},
    "$defs": {
      "password": {"type": "string", "writeOnly": true},
      "user": {"type": "object", "required": ["name"],
               "properties": {"name": {"type": "string"}, "key": {"$ref": "#/$defs/password"}}},
      "image": {"type": "string"},
      "list": {"properties": {"next": {"$ref": "#/$defs/list"}, "of": {"enum": ["a"]}}}}})");
  EXPECT_THAT(secrets_of(schema), ElementsAre("root", "users", "database.key"));
  const auto fields = input_fields(schema);
  EXPECT_THAT(names_of(fields),
              ElementsAre("root", "users", "database.name", "database.key", "image", "list.next.next.next",
                          "list.next.next.of", "list.next.of", "list.of"));
  EXPECT_EQ(fields[0].description, "Of root");
  const FilledInputs filled = fill_inputs(fields, {{"image", "a:2"}, {"list.of", "\"a\""}});
  EXPECT_EQ(encoding::to_json(filled.values), R"({"image":"a:2","list":{"of":"a"}})");
}

TEST(InputForm, FindsSecretsBelowEachKeyword) {
  for (
      const char* pattern :
      {R"({"properties": {"a": {"allOf": [{"$ref": "#/$defs/s"}]}}})",
       R"({"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/s"}]}}})",
       R"({"properties": {"a": {"oneOf": [{"items": {"$ref": "#/$defs/s"}}]}}})",
       R"({"properties": {"a": {"prefixItems": [{"$ref": "#/$defs/s"}]}}})",
       R"({"properties": {"a": {"patternProperties": {"x": {"$ref": "#/$defs/s"}}}}})",
       R"({"properties": {"a": {"if": {}, "then": {"$ref": "#/$defs/s"}}}})",
       R"({"properties": {"a": {"type": "string"}}, "patternProperties": {"a": {"$ref": "#/$defs/s"}}})",
       R"({"properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"a": {"$ref": "#/$defs/s"}}}]})",
       R"({"properties": {"a": {"type": "string"}}, "anyOf": [{"additionalProperties": {"$ref": "#/$defs/s"}}]})",
       R"({"properties": {"a": {"type": "object", "writeOnly": true, "properties": {"b": {"type": "string"}}}}})",
       R"({"properties": {"a": {"$ref": "#/$defs/o", "properties": {"b": {"type": "string"}}}}})"}) {
    Value schema = json(pattern);
    schema.set("$defs", json(R"({"s": {"type": "string", "format": "password"}, "o": {"writeOnly": true}})"));
    EXPECT_EQ(secrets_of(schema).size(), 1U) << pattern;
    schema.set("$defs", json(R"({"s": {"type": "string"}, "o": {"type": "object"}})"));
    schema["properties"]["a"].erase("writeOnly");
    EXPECT_THAT(secrets_of(schema), IsEmpty()) << pattern;
  }
}

TEST(InputForm, WhatItCannotSeeIsASecret) {
  for (const char* reference :
       {"#password", "other.json", "#/$defs/none", "#/%24defs/s", "https://a.example/s"}) {
    const Value schema = json(fmt::format(
        R"({{"properties": {{"a": {{"$ref": "{}"}}, "b": {{"type": "string"}}}}, "$defs": {{"s": {{}}}}}})",
        reference));
    EXPECT_THAT(secrets_of(schema), ElementsAre("a")) << reference;
  }
  EXPECT_THAT(secrets_of(json(R"({"properties": {"a": {"$dynamicRef": "#s"}, "b": {"type": "string"}}})")),
              ElementsAre("a"));
  // Deep inside, or beyond very many parts.
  std::string deep = R"({"format": "password"})";
  for (int i = 0; i < 60; ++i) deep = fmt::format(R"({{"items": {}}})", deep);
  EXPECT_THAT(secrets_of(json(fmt::format(R"({{"properties": {{"a": {}}}}})", deep))), ElementsAre("a"));
  Value parts = Value::array();
  for (int i = 0; i < 1000; ++i) parts.push_back(Value::object({{"minLength", Value(1)}}));
  EXPECT_THAT(secrets_of(Value::object(
                  {{"properties", Value::object({{"a", Value::object({{"allOf", std::move(parts)}})}})}})),
              ElementsAre("a"));
}

TEST(InputForm, ReferencesThatDoubleOrAreCyclicEnd) {
  Value defs = Value::object();
  for (int i = 0; i < 100; ++i)
    defs.set(fmt::format("d{}", i),
             json(fmt::format(R"({{"allOf": [{{"$ref": "#/$defs/d{0}"}}, {{"$ref": "#/$defs/d{0}"}}],
                                   "items": {{"anyOf": [{{"$ref": "#/$defs/d{0}"}}, {{"$ref": "#"}}]}}}})",
                              (i + 1) % 100)));
  Value schema = json(R"({"properties": {"a": {"$ref": "#/$defs/d0"}, "b": {"$ref": "#"}}})");
  schema.set("$defs", std::move(defs));
  EXPECT_EQ(names_of(input_fields(schema)).front(), "a");
}

// Passwords never stand in an address.
TEST(InputForm, KnowsTheSecretsOfOurPackages) {
  const std::map<std::string, std::vector<std::string>> known{
      {"mariadb", {"users", "rootPassword"}},
      {"microservice", {"database.password", "cache.password"}},
      {"postgresql", {"users"}},
      {"redis", {"users", "adminPassword"}}};
  std::size_t looked_at = 0;
  for (const auto& each : std::filesystem::directory_iterator(mist::testing::source_dir() / "packages")) {
    const auto text = HostFileSystem().read(each.path() / "mistletoe.yaml");
    if (!text.ok()) continue;
    const auto document = encoding::parse_yaml(*text);
    ASSERT_TRUE(document.ok()) << each.path();
    const Value* inputs = document->find("inputs");
    if (inputs == nullptr) inputs = document->at_path({"spec", "inputs"});
    if (inputs == nullptr) continue;
    ++looked_at;
    const auto found = known.find(each.path().filename().string());
    EXPECT_EQ(secrets_of(*inputs), found == known.end() ? std::vector<std::string>() : found->second)
        << each.path();
  }
  EXPECT_GE(looked_at, 10U);
}

TEST(InputForm, LabelsEachFieldAndMarksMistakes) {
  const auto fields = input_fields(kSchema);
  const FormAnswers answers{{"replicas", "x"}, {"debug", "true"}};
  const std::string text = input_markup(fields, answers, fill_inputs(fields, answers)).text();
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("<label for=\"input-1\"><code>host</code> <span class=\"soft\">required</span></label>"),
          HasSubstr("id=\"input-2\" name=\"replicas\" aria-describedby=\"input-2-about\" "
                    "autocomplete=\"off\" aria-invalid=\"true\""),
          HasSubstr("It must be a whole number."), HasSubstr("<option value=\"true\" selected>true</option>"),
          HasSubstr("Where it is reached")));
}

TEST(InputForm, ShowsAnswersAsTheyWereTyped) {
  const std::string joined = "\U0001F469\u200D\U0001F680";
  const auto fields = input_fields(json(fmt::format(
      R"({{"properties": {{"a\u200c": {{"type": "string"}}, "c": {{"enum": ["{}"]}}, "n": {{"type": "array"}}}}}})",
      joined)));
  const FormAnswers answers{
      {"a\u200C", joined}, {"c", fmt::format("\"{}\"", joined)}, {"n", "[\"a\",\r\n\"b\"]"}};
  const FilledInputs filled = fill_inputs(fields, answers);
  EXPECT_THAT(filled.faults, IsEmpty());
  EXPECT_EQ(filled.count, 3U);
  EXPECT_THAT(input_markup(fields, answers, filled).text(),
              AllOf(HasSubstr("name=\"a\u200C\""), HasSubstr(fmt::format("value=\"{}\"", joined)),
                    HasSubstr(fmt::format("value=\"&quot;{}&quot;\" selected", joined)),
                    HasSubstr(">\n[&quot;a&quot;,\n&quot;b&quot;]</textarea>"), Not(HasSubstr("\\x0d"))));
}

TEST(InputForm, IsBoundedAndHoldsNoMarkup) {
  const std::string hostile = "\"><script>alert(1)</script>";
  Value members = Value::object();
  for (int i = 0; i < 5000; ++i)
    members.set(fmt::format("m{}", i), Value::object({{"type", Value("string")}}));
  const InputForm form = input_form(PackageFacts{.inputs = Value::object({{"properties", members}})});
  EXPECT_EQ(form.fields.size(), 100U);
  EXPECT_EQ(form.left_out, 1000U);
  EXPECT_TRUE(form.has_more);
  Value deep = Value::object({{"type", Value("string")}});
  for (int i = 0; i < 200; ++i)
    deep = Value::object({{"properties", Value::object({{hostile, std::move(deep)}})}});
  EXPECT_EQ(input_fields(deep).size(), 1U);
  const Value odd = Value::object(
      {{"properties",
        Value::object(
            {{hostile, Value::object({{"enum", Value::array({Value(hostile), Value()})},
                                      {"default", Value(hostile)},
                                      {"description", Value(hostile)}})},
             {hostile + "2", Value::object({{"type", Value(hostile)}, {"default", Value(hostile)}})}})}});
  const auto fields = input_fields(odd);
  ASSERT_EQ(fields.size(), 2U);
  const FormAnswers answers{{hostile, hostile}, {hostile + "2", hostile}};
  EXPECT_THAT(input_markup(fields, answers, fill_inputs(fields, answers)).text(), Not(HasSubstr("<script")));
}

TEST(InputForm, CountsTheInputsThatItLeavesOut) {
  Value members = Value::object();
  for (int i = 0; i < 103; ++i)
    members.set(fmt::format("m{}", i), Value::object({{"type", Value("string")}}));
  const InputForm form = input_form(PackageFacts{.inputs = Value::object({{"properties", members}})});
  EXPECT_EQ(form.left_out, 3U);
  EXPECT_FALSE(form.has_more);
  EXPECT_EQ(input_form(PackageFacts{.inputs = kSchema}).left_out, 0U);
}

TEST(InputForm, BoundsTheWordsThatReferencesRepeat) {
  Value schema = Value::object({{"properties", Value::object()}});
  for (int i = 0; i < 50; ++i)
    schema["properties"].set(fmt::format("m{}", i), Value::object({{"$ref", "#/$defs/long"}}));
  schema.set("$defs", Value::object({{"long", Value::object({{"description", std::string(100'000, 'x')}})}}));
  const InputForm form = input_form(PackageFacts{.inputs = schema});
  EXPECT_EQ(form.fields.size(), 5U);
  EXPECT_EQ(form.left_out, 45U);
}

TEST(InputForm, APreviewHasPlaceholdersForSecretsThatAreNeeded) {
  const auto fields = input_fields(*encoding::parse_json(
      R"({"required": ["db"], "properties": {
            "db": {"required": ["password"], "properties": {
              "user": {"type": "string"},
              "password": {"type": "string", "format": "password"},
              "other": {"type": "string", "writeOnly": true}}}}})"));
  EXPECT_EQ(encoding::to_json(with_placeholders(fields, *encoding::parse_json(R"({"db": {"user": "a"}})"))),
            R"json({"db":{"user":"a","password":"(secret db.password)"}})json");
}

}  // namespace
}  // namespace mist::catalog
