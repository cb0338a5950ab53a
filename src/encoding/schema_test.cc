#include "encoding/schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "encoding/schema_cost.h"
#include "encoding/yaml.h"

namespace mist::encoding {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view kSchema = R"(
type: object
additionalProperties: false
required: [name]
properties:
  name: {type: string, minLength: 1, pattern: "^[a-z]+$"}
  replicas: {type: integer, minimum: 1, maximum: 10, default: 2}
  kind: {enum: [web, worker]}
  ratio: {type: [number, "null"], exclusiveMaximum: 1}
  ports: {type: array, minItems: 1, uniqueItems: true, items: {$ref: "#/$defs/port"}}
  ingress:
    type: object
    properties:
      enabled: {type: boolean, default: false}
      host: {type: string}
  tls:
    type: object
    required: [cert]
    properties:
      cert: {type: string}
      days: {default: 90}
  labels: {default: {a: b}, properties: {c: {default: d}}}
$defs:
  port: {type: integer, maximum: 65535}
)";

std::vector<std::string> messages(std::string_view yaml) {
  const auto schema = Schema::compile(*parse_yaml(kSchema));
  EXPECT_TRUE(schema.ok()) << (schema.ok() ? "" : schema.error().to_line());
  std::vector<std::string> out;
  if (schema.ok())
    for (const SchemaIssue& issue : schema->validate(*parse_yaml(yaml))) out.push_back(issue.message);
  return out;
}

using Messages = std::vector<std::string>;

TEST(Schema, AcceptsWhatFits) {
  EXPECT_EQ(messages("{name: web, replicas: 3, ports: [80, 443], ratio: null, kind: web}"), Messages{});
}

TEST(Schema, SaysWhatIsWrongInWords) {
  struct Case {
    std::string_view yaml, message;
  };
  const Case cases[] = {
      {"{name: a, replicas: three}", "replicas: must be integer, is string \"three\""},
      {"{name: a, replicas: 0}", "replicas: must be at least 1, is 0"},
      {"{name: a, replicas: 11}", "replicas: must be at most 10, is 11"},
      {"{name: a, replicas: [1]}", "replicas: must be integer, is an array"},
      {"{}", "\"name\" is missing"},
      {"{name: A}", "name: must match the pattern \"^[a-z]+$\", is \"A\""},
      {"{name: a, kind: job}", "kind: must be \"web\" or \"worker\", is \"job\""},
      {"{name: a, ratio: x}", "ratio: must be number or null, is string \"x\""},
      {"{name: a, ratio: 1}", "ratio: must be less than 1, is 1"},
      {"{name: a, ports: []}", "ports: must have at least 1 item, has 0"},
      {"{name: a, ports: [1, 1]}", "ports: two items are equal"},
      {"{name: a, ports: [1, 70000]}", "ports[1]: must be at most 65535, is 70000"},
      {"{name: a, ports: [x]}", "ports[0]: must be integer, is string \"x\""},
      {"{name: a, replica: 1}", "there is no \"replica\", did you mean \"replicas\"?"},
      {"{name: a, ingress: {enabled: 'yes'}}", "ingress.enabled: must be boolean, is string \"yes\""},
      {"[]", "must be object, is an array"},
      {"{name: a, tls: {}}", "tls: \"cert\" is missing"},
  };
  for (const Case& one : cases) EXPECT_EQ(messages(one.yaml), Messages{std::string(one.message)}) << one.yaml;
}

// Where secrets are hidden in texts, they are looked for whole.
TEST(Schema, ALongValueIsNotShownInPart) {
  const auto schema = *Schema::compile(
      *parse_yaml("{properties: {a: {maxLength: 63}, b: {type: integer}, c: {enum: [x]}, d: {enum: [x]}, "
                  "e: {contains: {const: 1}}}}"));
  const std::string key = "9b3fb1e91fb4c5afb287ee9271900a4baa410066369b6b36eb8c96672bedb7d3";
  const auto issues = schema.validate(*parse_yaml(
      fmt::format("{{a: {0}, b: {0}, c: {0}, d: [{0}], e: ['{1}{0}']}}", key, std::string(5000, 'x'))));
  Messages said;
  for (const SchemaIssue& issue : issues) said.push_back(issue.message);
  EXPECT_THAT(said, testing::UnorderedElementsAre(
                        "a: must have at most 63 characters, is a text of 64 characters",
                        "b: must be integer, is a text of 64 characters",
                        "c: must be \"x\", is a text of 64 characters", "d: must be \"x\", is a long array",
                        testing::AllOf(testing::StartsWith("e: "), testing::Not(HasSubstr("…")))));
  for (const std::string& each : said) EXPECT_THAT(each, testing::Not(HasSubstr(key.substr(0, 16))));
}

TEST(Schema, AValueThatItCallsASecretIsNotShown) {
  const auto schema = *Schema::compile(
      *parse_yaml("{properties: {a: {writeOnly: true, minLength: 8}, b: {format: password, type: integer}, "
                  "c: {$ref: '#/$defs/c'}, d: {writeOnly: true, oneOf: [{const: x}, {const: z}]}, "
                  "e: {properties: {writeOnly: {type: integer}}}}, "
                  "$defs: {c: {format: password, allOf: [{enum: [x]}]}}}"));
  Messages said;
  for (const SchemaIssue& issue : schema.validate(
           *parse_yaml("{a: hunter2, b: hunter2, c: hunter2, d: hunter2, e: {writeOnly: no-secret}}")))
    said.push_back(issue.message);
  EXPECT_THAT(said, testing::UnorderedElementsAre("a: must have at least 8 characters, is ***",
                                                  "b: must be integer, is string", "c: must be \"x\", is ***",
                                                  "d: must be \"x\" or \"z\", is ***",
                                                  "e.writeOnly: must be integer, is string \"no-secret\""));
}

TEST(Schema, NamesInstanceAndKeyword) {
  const auto schema = Schema::compile(*parse_yaml(kSchema));
  const auto issues = schema->validate(*parse_yaml("{name: a, ports: [1, x]}"));
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues[0].instance_path, "/ports/1");
  EXPECT_NE(issues[0].schema_path.find("type"), std::string::npos) << issues[0].schema_path;
}

TEST(Schema, LineOfAnIssue) {
  const Value value = *parse_yaml("a:\n  list:\n  - x\n  - ~1/b: 1\n");
  EXPECT_EQ(line_at(value, "/a/list/1"), 4u);
  EXPECT_EQ(line_at(value, "/a/list/1/~01~1b"), 4u);
  EXPECT_EQ(line_at(value, "/a/list/7/none"), 2u) << "where the key of the list stands";
  EXPECT_EQ(line_at(value, "/none"), 1u);
  EXPECT_EQ(line_at(Value::object({{"a", 1}}), "/a"), 0u);
}

TEST(Schema, RefusesWhatIsNoSchema) {
  EXPECT_FALSE(Schema::compile(*parse_yaml("{type: 5}")).ok());
  EXPECT_FALSE(Schema::compile(*parse_yaml("{pattern: '('}")).ok());
  EXPECT_FALSE(Schema::compile(*parse_yaml("{$ref: 'https://example.com/schema.json'}")).ok());
  EXPECT_FALSE(Schema::compile(Value("x")).ok());
  EXPECT_TRUE(Schema::compile(Value(true)).ok());
}

TEST(Schema, TooDeepAValueIsAnIssue) {
  Value deep;
  for (int i = 0; i < 400; ++i) deep = Value::array({std::move(deep)});
  EXPECT_EQ(Schema::compile(Value(true))->validate(deep).size(), 1U);
}

TEST(SchemaDefaults, ComeFromEveryDepth) {
  EXPECT_EQ(to_json(schema_defaults(*parse_yaml(kSchema))),
            R"({"replicas":2,"ingress":{"enabled":false},"labels":{"a":"b","c":"d"}})");
  EXPECT_EQ(to_json(schema_defaults(Value(true))), "{}");
}

// Packages were given these before conditions counted when objects that are given in part are filled.
TEST(SchemaDefaults, AreThereWhateverTheConditions) {
  const Value schema = *parse_yaml(R"(
dependentRequired: {db: [other]}
properties:
  other: {}
  db:
    dependentRequired: {tls: [ca]}
    properties: {host: {}, ca: {}, tls: {properties: {issuer: {default: le}}}}
)");
  EXPECT_EQ(to_json(schema_defaults(schema)), R"({"db":{"tls":{"issuer":"le"}}})");
}

TEST(SchemaDefaults, EndForASchemaThatContainsItself) {
  EXPECT_EQ(to_json(schema_defaults(*parse_yaml("{properties: {a: {$ref: '#'}, b: {default: 1}}}"))),
            R"({"b":1})");
}

// A host does that with values: they are laid over the defaults, then filled.
std::string filled(const Value& schema, std::string_view values) {
  Value data = schema_defaults(schema);
  const Value given = *parse_yaml(values);
  merge_into(data, given);
  const Status status = fill_schema_defaults(schema, data, given);
  EXPECT_TRUE(status.ok()) << values;
  return to_json(data);
}

TEST(FillSchemaDefaults, ReachesObjectsThatAreGivenInPart) {
  const Value schema = *parse_yaml(R"(
$defs:
  port: {type: object, required: [name], properties: {name: {type: string}, port: {default: 80}}}
properties:
  db: {required: [host], properties: {host: {type: string}, port: {default: 5432}, pool: {properties: {size: {default: 3}}}}}
  ports: {type: array, default: [{name: http}], items: {$ref: '#/$defs/port'}}
  users: {additionalProperties: {properties: {admin: {default: false}}}}
  pair: {prefixItems: [{properties: {a: {default: 1}}}], items: {properties: {b: {default: 2}}}}
  some: {patternProperties: {^x: {}}, additionalProperties: {properties: {a: {default: 1}}}}
)");
  EXPECT_EQ(filled(schema, "{}"), R"({"ports":[{"name":"http","port":80}]})");
  EXPECT_EQ(filled(schema, "{db: {host: pg}, ports: []}"),
            R"({"ports":[],"db":{"host":"pg","port":5432,"pool":{"size":3}}})");
  EXPECT_EQ(filled(schema, "{ports: [{name: a}, {name: b, port: 1}, {name: c, port: null}, d]}"),
            R"({"ports":[{"name":"a","port":80},{"name":"b","port":1},{"name":"c","port":null},"d"]})");
  EXPECT_EQ(filled(schema, "{ports: [], users: {ann: {}, bob: {admin: true}}}"),
            R"({"ports":[],"users":{"ann":{"admin":false},"bob":{"admin":true}}})");
  EXPECT_EQ(filled(schema, "{ports: [], pair: [{}, {}], some: {a: {}}}"),
            R"({"ports":[],"pair":[{"a":1},{"b":2}],"some":{"a":{}}})");
}

TEST(FillSchemaDefaults, NullTakesADefaultAway) {
  const Value schema = *parse_yaml(
      "{properties: {whole: {properties: {a: {default: 1}, b: {default: 2}}},"
      " part: {required: [host], properties: {a: {default: 1}, b: {type: 'null'}}}}}");
  EXPECT_EQ(filled(schema, "{whole: {a: null}}"), R"({"whole":{"b":2}})");
  EXPECT_EQ(filled(schema, "{whole: null, part: {host: x, a: null, b: null}}"),
            R"({"part":{"host":"x","b":null}})");
}

TEST(FillSchemaDefaults, ChoosesNoAlternative) {
  const Value schema = *parse_yaml(R"(
properties:
  sources:
    items:
      oneOf: [{required: [git]}, {required: [chart]}]
      properties:
        git: {properties: {url: {type: string}, branch: {default: main}}}
        chart: {properties: {version: {default: '*'}}}
        path: {default: /}
)");
  EXPECT_EQ(
      filled(schema, "{sources: [{git: {url: x}}, {chart: {}}]}"),
      R"({"sources":[{"git":{"url":"x","branch":"main"},"path":"/"},{"chart":{"version":"*"},"path":"/"}]})");
}

TEST(FillSchemaDefaults, MakesNoObjectThatAConditionAsksAbout) {
  constexpr std::string_view kHasCondition[] = {
      "allOf: [{if: {required: [tls]}, then: {required: [ca]}}]",
      "allOf: [{oneOf: [{required: [tls]}, {required: [ca]}]}]",
      "dependentRequired: {tls: [ca]}",
      "dependentSchemas: {tls: {required: [ca]}}",
      "dependencies: {tls: [ca]}",
      "$ref: '#/$defs/exclusive'",
  };
  constexpr std::string_view kWithoutCondition = R"(
$defs:
  port: {default: 5432}
  exclusive: {oneOf: [{required: [tls]}, {required: [ca]}, {required: [host]}]}
properties:
  db:
    required: [host]
    properties: {host: {}, tls: {properties: {issuer: {default: le}}}, ca: {}, port: {$ref: '#/$defs/port'}}
)";
  for (const std::string_view condition : kHasCondition) {
    SCOPED_TRACE(condition);
    const Value schema = *parse_yaml(fmt::format("{}    {}\n", kWithoutCondition, condition));
    EXPECT_EQ(filled(schema, "{db: {host: pg}}"), R"({"db":{"host":"pg","port":5432}})");
    EXPECT_EQ(filled(schema, "{db: {host: pg, tls: {}, ca: x}}"),
              R"({"db":{"host":"pg","tls":{"issuer":"le"},"ca":"x","port":5432}})");
  }
  // The other way round: the properties are in what the reference names.
  const Value behind = *parse_yaml(R"(
$defs: {db: {required: [host], properties: {host: {}, tls: {properties: {issuer: {default: le}}}}}}
properties: {db: {$ref: '#/$defs/db', maxProperties: 1}}
)");
  EXPECT_EQ(filled(behind, "{db: {host: pg}}"), R"({"db":{"host":"pg"}})");
}

// It is also how one schema extends another.
TEST(FillSchemaDefaults, AllOfCountsWhereAPartOfItHasConditions) {
  constexpr std::string_view kExtended = R"(
$defs:
  plain: {properties: {name: {}, limits: {oneOf: [{required: [cpu]}, {required: [memory]}]}}}
  again: {allOf: [{$ref: '#/$defs/again'}, {$ref: '#/$defs/plain'}]}
  condition: {dependentRequired: {tls: [ca]}}
  behind: {$ref: '#/$defs/further'}
  further: {allOf: [{$ref: '#/$defs/condition'}]}
properties:
  db: {required: [host], properties: {host: {}, tls: {properties: {issuer: {default: le}}}}, allOf: ALL}
)";
  const auto with = [&](std::string_view parts) {
    std::string text(kExtended);
    text.replace(text.find("ALL"), 3, parts);
    return filled(*parse_yaml(text), "{db: {host: pg}}");
  };
  constexpr std::string_view kWhole = R"({"db":{"host":"pg","tls":{"issuer":"le"}}})";
  constexpr std::string_view kAsGiven = R"({"db":{"host":"pg"}})";
  EXPECT_EQ(with("[{$ref: '#/$defs/plain'}]"), kWhole);
  EXPECT_EQ(with("[{$ref: '#/$defs/again'}, {required: [host]}]"), kWhole);
  EXPECT_EQ(with("[{$ref: '#/$defs/plain'}, {$ref: '#/$defs/behind'}]"), kAsGiven);
  EXPECT_EQ(with("[{allOf: [{maxProperties: 1}]}]"), kAsGiven);
}

// Schemas that contain one another would otherwise get a level deeper with each filling.
TEST(FillSchemaDefaults, AWholeObjectStaysAsItIs) {
  const Value schema = *parse_yaml(
      "{$ref: '#/$defs/a', $defs: {a: {properties: {x: {default: 1}, b: {$ref: '#/$defs/b'}}},"
      " b: {properties: {z: {default: 2}, a: {$ref: '#/$defs/a'}}}}}");
  EXPECT_EQ(filled(schema, "{}"), to_json(schema_defaults(schema)));
  EXPECT_EQ(filled(schema, "{b: {a: {}}}"), R"({"x":1,"b":{"z":2,"a":{"x":1}}})");
  EXPECT_EQ(filled(*parse_yaml("{$ref: '#'}"), "{a: {}}"), R"({"a":{}})");
}

TEST(FillSchemaDefaults, IsBounded) {
  const Value large = Value::object({{"default", std::string(1 << 20, 'x')}});
  const Value schema = Value::object(
      {{"additionalProperties", Value::object({{"properties", Value::object({{"text", large}})}})}});
  Value data = Value::object();
  for (int i = 0; i < 40; ++i) data.set(fmt::format("k{}", i), Value::object());
  const Status status = fill_schema_defaults(schema, data, Value());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("takes more than 16 MiB"));
}

// Two references a level: 2^40 ways to the last one.
Value doubling_schema(std::string_view keyword, int levels) {
  Value definitions = Value::object();
  for (int i = 0; i < levels; ++i) {
    const Value next = Value::object({{"$ref", fmt::format("#/$defs/s{}", i + 1)}});
    const Value twice =
        keyword == "allOf" ? Value::array({next, next}) : Value::object({{"a", next}, {"b", next}});
    definitions.set(fmt::format("s{}", i), Value::object({{keyword, twice}}));
  }
  definitions.set(fmt::format("s{}", levels), Value::object({{"default", 1}, {"type", "object"}}));
  return Value::object({{"$ref", "#/$defs/s0"}, {"$defs", std::move(definitions)}});
}

TEST(SchemaCost, DoublingReferencesEndBeforeTheyBegin) {
  const auto schema = Schema::compile(doubling_schema("allOf", 40));
  ASSERT_TRUE(schema.ok()) << schema.error().to_line();
  const auto issues = schema->validate(Value::object());
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_THAT(issues[0].message, HasSubstr("steps"));
  EXPECT_TRUE(Schema::compile(doubling_schema("allOf", 6))->validate(Value::object()).empty());
}

TEST(SchemaCost, ValidationsShareABudget) {
  const Value schema = Value::object({{"type", "string"}});
  ValidationBudget budget;
  const std::uint64_t whole = budget.steps;
  const auto issues = validate_within(budget, schema, Value(1));
  ASSERT_TRUE(issues);
  EXPECT_EQ(issues->size(), 1U);
  EXPECT_LT(budget.steps, whole);
  budget.steps = 0;
  EXPECT_FALSE(validate_within(budget, schema, Value(1)));
}

// The parts that cost most to compile may apply to no value, and take no step.
TEST(SchemaCost, CompilingIsOfTheBudgetToo) {
  const Value schema = *parse_yaml(
      "{type: string, $defs: {a: {type: array, items: {$ref: '#/$defs/b'}}, b: {pattern: abcd}}}");
  const auto twice = [&](ValidationBudget budget) {
    EXPECT_TRUE(validate_within(budget, schema, Value(1)));
    return validate_within(budget, schema, Value(1)).has_value();
  };
  EXPECT_TRUE(twice({}));
  EXPECT_FALSE(twice({.references = 1}));
  EXPECT_FALSE(twice({.pattern_bytes = 7}));
  EXPECT_FALSE(twice({.schema_bytes = 200}));
}

TEST(SchemaCost, AlternativesAreCompiledWithinTheBudget) {
  const Value schema = *parse_yaml("{oneOf: [{type: integer, minimum: 3}, {type: string, pattern: abcd}]}");
  ValidationBudget budget;
  EXPECT_THAT(validate_within(budget, schema, Value(1))->front().schema_path, HasSubstr("minimum"));
  budget.pattern_bytes = 4;
  EXPECT_THAT(validate_within(budget, schema, Value(1))->front().schema_path, EndsWith("oneOf"));
}

TEST(SchemaCost, DoublingDefaultsAreRefused) {
  const auto schema = Schema::compile(doubling_schema("properties", 40));
  ASSERT_FALSE(schema.ok());
  EXPECT_THAT(schema.error().message, HasSubstr("defaults are more than"));
}

TEST(SchemaCost, LargeDefaultsThatAreReferredToOftenAreRefused) {
  Value properties = Value::object();
  for (int i = 0; i < 200; ++i)
    properties.set(fmt::format("p{}", i), Value::object({{"$ref", "#/$defs/large"}}));
  const auto schema = Schema::compile(Value::object(
      {{"$defs", Value::object({{"large", Value::object({{"default", std::string(200'000, 'x')}})}})},
       {"properties", std::move(properties)}}));
  ASSERT_FALSE(schema.ok());
  EXPECT_THAT(schema.error().message, HasSubstr("its defaults are more than 16 MiB"));
}

TEST(SchemaCost, PatternsAreBoundedTogether) {
  const auto with = [](int count) {
    Value properties = Value::object();
    for (int i = 0; i < count; ++i)
      properties.set(fmt::format("p{}", i),
                     Value::object({{"pattern", fmt::format("^a{{1,3}}-{}-{}$", i, std::string(200, 'x'))}}));
    return Value::object({{"properties", std::move(properties)}});
  };
  EXPECT_TRUE(Schema::compile(with(100)).ok());
  const auto schema = Schema::compile(with(1000));
  ASSERT_FALSE(schema.ok());
  EXPECT_THAT(schema.error().message, HasSubstr("its patterns are more than 64 KiB"));
}

TEST(SchemaCost, APlaceIsNamedThroughListsAndLongKeys) {
  const std::string key(1000, 'k');
  const auto schema = Schema::compile(Value::object(
      {{key, Value::array({Value::object(),
                           Value::object({{"$anchor", "a"}, {"not", Value::object({{"$ref", "#a"}})}})})}}));
  ASSERT_FALSE(schema.ok());
  EXPECT_THAT(schema.error().message, HasSubstr(fmt::format("#/{}/1 refers to itself", key)));
}

// The validator says of these no more than the value.
TEST(SchemaAlternatives, AValueThatFitsNoneIsExplainedByTheNearest) {
  const auto schema = Schema::compile(*parse_yaml(R"(
definitions: {host: {type: string, minLength: 2}}
properties:
  ingress:
    oneOf:
    - {type: object, additionalProperties: false, properties: {enabled: {const: false}, hosts: {type: array}}}
    - type: object
      additionalProperties: false
      required: [hosts]
      properties: {enabled: {const: true}, hosts: {type: array, minItems: 1, items: {$ref: "#/definitions/host"}}}
  extra: {anyOf: [{type: object}, {type: 'null'}]}
  auth: {type: object, anyOf: [{required: [user, password]}, {required: [token]}]}
  kind:
    oneOf: [{properties: {is: {const: a}}}, {properties: {is: {enum: [b, c]}}}]
  port: {anyOf: [{type: integer, maximum: 9}, {type: string, pattern: "^[a-z]+$"}]}
)"));
  ASSERT_TRUE(schema.ok()) << schema.error().to_line();
  const auto said = [&](std::string_view values) {
    std::vector<std::string> messages;
    for (const SchemaIssue& each : schema->validate(*parse_yaml(values))) messages.push_back(each.message);
    return messages;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(said("ingress: {enabled: true, hosts: []}"),
              ElementsAre("ingress.hosts: must have at least 1 item, has 0"));
  EXPECT_THAT(said("ingress: {enabled: true, hosts: [a.b], hots: 1}"),
              ElementsAre("ingress: there is no \"hots\", did you mean \"hosts\"?"));
  EXPECT_THAT(said("ingress: {enabled: true, hosts: [3]}"),
              ElementsAre("ingress.hosts[0]: must be string, is integer 3"));
  EXPECT_THAT(said("ingress: {enabled: 'yes', hosts: []}"),
              ElementsAre("ingress.enabled: must be false or true, is \"yes\""));
  EXPECT_THAT(said("ingress: {enabled: true}"), ElementsAre("ingress: \"hosts\" is missing"));
  EXPECT_THAT(said("kind: {is: d}"), ElementsAre(R"(kind.is: must be "a", "b" or "c", is "d")"));
  EXPECT_THAT(said("extra: 3"), ElementsAre("extra: must be object or null, is integer 3"));
  EXPECT_THAT(said("auth: {user: a}"),
              ElementsAre(R"(auth: must have at least one of: "user" and "password", or "token")"));
  EXPECT_THAT(said("port: 80"), ElementsAre("port: must be at most 9, is 80"));
  EXPECT_THAT(said("port: H"), ElementsAre("port: must match the pattern \"^[a-z]+$\", is \"H\""));
  EXPECT_THAT(said("ingress: {enabled: false, hosts: []}"), ElementsAre());
}

// Each alternative holds others, and so on: 8 to the power of 5.
TEST(SchemaAlternatives, AreLookedAtUpToABound) {
  std::string part = "{type: integer}";
  for (int depth = 0; depth < 5; ++depth) {
    std::string parts;
    for (int i = 0; i < 8; ++i) parts += fmt::format("{}, ", part);
    part = fmt::format("{{anyOf: [{}]}}", parts);
  }
  const auto schema = Schema::compile(*parse_yaml(part));
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(schema->validate(Value("x")).size(), 1U);
}

TEST(SchemaDefaults, OfManyPropertiesKeepTheirOrder) {
  Value properties = Value::object();
  for (int i = 0; i < 20'000; ++i) properties.set(fmt::format("p{}", i), Value::object({{"default", i}}));
  const Value schema = Value::object(
      {{"default", Value::object({{"p7", "given"}, {"own", 1}})}, {"properties", std::move(properties)}});
  const Value defaults = schema_defaults(schema);
  ASSERT_EQ(defaults.size(), 20'001U);
  EXPECT_EQ(defaults.as_object()[0].key, "p7");
  EXPECT_EQ(defaults.string_at("p7"), "given");
  EXPECT_EQ(defaults.as_object()[2].key, "p0");
  EXPECT_EQ(defaults.as_object().back().key, "p19999");
}

TEST(SchemaCost, AReferenceBackToItselfForTheSameValueIsRefused) {
  for (const char* text :
       {"{$ref: '#'}", "{allOf: [{$ref: '#'}]}", "{$defs: {a: {anyOf: [{not: {$ref: '#/$defs/a'}}]}}}",
        "{$anchor: top, if: {$ref: '#top'}}", "{$defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}}"}) {
    const auto schema = Schema::compile(*parse_yaml(text));
    ASSERT_FALSE(schema.ok()) << text;
    EXPECT_THAT(schema.error().message, HasSubstr("refers to itself")) << text;
  }
}

// As the validator resolves them (RFC 3986), where another way to write "this very schema" would have it run
// on its stack for ever.
TEST(SchemaCost, AReferenceMayBeWrittenInManyWays) {
  for (const char* text :
       {"{$ref: ''}", "{$defs: {'a b': {$ref: '#/$defs/a%20b'}}, $ref: '#/%24defs/a%20b'}",
        "{$id: 'https://x.example/a', $ref: a}",
        "{properties: {p: {$ref: 'https://x.example/b'}}, $defs: {b: {$id: 'https://x.example/b', $ref: "
        "'#'}}}",
        "{properties: {p: {$ref: 'https://x.example/b'}}, $defs: {b: {$id: 'https://x.example/b', allOf: "
        "[{$ref: './c/../b#'}]}}}",
        "{$schema: 'http://json-schema.org/draft-07/schema#', $ref: '#n', definitions: {n: {$id: '#n', "
        "allOf: [{$ref: "
        "'#n'}]}}}",
        "{$schema: 'http://json-schema.org/draft-04/schema#', properties: {p: {$ref: '#n'}}, definitions: "
        "{n: {id: '#n', "
        "allOf: [{$ref: '#n'}]}}}",
        "{$schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveAnchor: true, anyOf: "
        "[{$recursiveRef: "
        "'#'}]}"}) {
    const auto schema = Schema::compile(*parse_yaml(text));
    ASSERT_FALSE(schema.ok()) << text;
    EXPECT_THAT(schema.error().message, HasSubstr("refers to itself")) << text;
  }
}

TEST(SchemaCost, WhatASchemaLooksAtItselfCounts) {
  const auto refused = [](std::string_view schema, Value value) {
    const auto compiled = Schema::compile(*parse_yaml(schema));
    MIST_CHECK(compiled.ok());
    const auto issues = compiled->validate(value);
    return issues.size() == 1 && issues[0].message.find("would need more than") != std::string::npos;
  };
  const auto list = [](std::size_t size, std::string_view text) {
    Value items = Value::array();
    for (std::size_t i = 0; i < size; ++i) items.push_back(text);
    return items;
  };
  const auto members = [](std::size_t size) {
    Value object = Value::object();
    for (std::size_t i = 0; i < size; ++i) object.as_object().push_back({fmt::format("member{}", i), 1});
    return object;
  };
  std::string options, schemas;
  for (int i = 0; i < 5000; ++i) options += fmt::format("option{}, ", i);
  for (int i = 0; i < 1000; ++i) schemas += "{}, ";
  EXPECT_TRUE(refused(fmt::format("{{items: {{enum: [{}]}}}}", options), list(5000, "none")));
  EXPECT_TRUE(refused(fmt::format("{{items: {{required: [{}]}}}}", options),
                      Value(Value::Array(5000, Value::object()))));
  EXPECT_TRUE(refused(fmt::format("{{propertyNames: {{allOf: [{}]}}}}", schemas), members(30'000)));
  EXPECT_TRUE(refused("{items: {pattern: '(?=a*a*a*b)a*'}}", list(3000, "aaaaaaaaaaaaaaaa")));
  EXPECT_TRUE(refused("{patternProperties: {'(.)\\1': true}}", members(3000)));
  EXPECT_TRUE(refused("{items: {pattern: '^([ab]{50}){50}c$'}}", list(1, std::string(1'000'000, 'a'))));
}

TEST(SchemaCost, WhatNobodyLooksAtDoesNot) {
  std::string schemas;
  for (int i = 0; i < 1000; ++i) schemas += "{minProperties: 1}, ";
  const auto schema = Schema::compile(*parse_yaml(fmt::format("{{allOf: [{}]}}", schemas)));
  ASSERT_TRUE(schema.ok());
  EXPECT_TRUE(schema->validate(Value(Value::Array(1'000'000, Value(1)))).empty());
  const auto names = Schema::compile(*parse_yaml(
      "{items: {type: string, pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$', enum: [a, web, db]}}"));
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->validate(Value(Value::Array(10'000, Value("web")))).empty());
}

TEST(SchemaCost, ReferencesAreBounded) {
  const auto with = [](int count) {
    Value definitions = Value::object();
    for (int i = 0; i < count; ++i)
      definitions.as_object().push_back(
          {fmt::format("d{}", i), Value::object({{"$ref", fmt::format("#/$defs/d{}", i + 1)}})});
    definitions.as_object().push_back({fmt::format("d{}", count), Value(true)});
    return Value::object({{"$ref", "#/$defs/d0"}, {"$defs", std::move(definitions)}});
  };
  const auto chain = Schema::compile(with(1000));
  ASSERT_TRUE(chain.ok()) << chain.error().to_line();
  EXPECT_TRUE(chain->validate(Value(1)).empty());
  EXPECT_THAT(Schema::compile(with(10'000)).error().message, HasSubstr("more than 10000 references"));
}

// Each is looked for among all of them.
TEST(SchemaCost, ChainsOfReferencesAreLinear) {
  constexpr int kMany = 50'000;
  Value definitions = Value::object();
  for (int i = 0; i < kMany; ++i)
    definitions.as_object().push_back(
        {fmt::format("d{}", i), Value::object({{"$ref", fmt::format("#/$defs/d{}", (i + 7919) % kMany)}})});
  EXPECT_EQ(endless_reference(Value::object({{"$defs", definitions}})), "#/$defs/d0");
  definitions.as_object()[0].value = Value(true);
  EXPECT_EQ(endless_reference(Value::object({{"$defs", definitions}})), "");
  EXPECT_GT(
      validation_steps(Value::object({{"$ref", "#/$defs/d1"}, {"$defs", definitions}}), Value(1), 1'000'000),
      1000U);
}

TEST(SchemaCost, ASchemaOfTreesIsFine) {
  const auto schema = Schema::compile(*parse_yaml(
      "{type: object, properties: {kids: {type: array, items: {$ref: '#'}}, left: {$ref: '#'}}}"));
  ASSERT_TRUE(schema.ok()) << schema.error().to_line();
  Value tree = Value::object();
  for (int i = 0; i < 50; ++i)
    tree = Value::object({{"left", tree}, {"kids", Value::array({Value::object()})}});
  EXPECT_TRUE(schema->validate(tree).empty());
  EXPECT_EQ(schema->validate(*parse_yaml("{left: {kids: [{left: 5}]}}")).size(), 1U);
}

}  // namespace
}  // namespace mist::encoding
