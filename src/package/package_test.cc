#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "package/input.h"
#include "package/metadata.h"
#include "package/objects.h"
#include "package/renderer.h"
#include "package/values.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::package {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::yaml;

TEST(Values, FilesComeBeforeSetsAndLaterOnesWin) {
  const std::vector<ValuesInput> inputs{{ValuesFlag::Set, "a.b=3", ""},
                                        {ValuesFlag::File, "one.yaml", "a: {b: 1, c: 1}\nlist: [1, 2]\n"},
                                        {ValuesFlag::File, "two.yaml", "a: {c: 2}\n"},
                                        {ValuesFlag::SetString, "s=007", ""},
                                        {ValuesFlag::SetFile, "key.file", "text\n"},
                                        {ValuesFlag::Set, "x: 1, y: two", ""}};
  const auto merged = merge_values(inputs);
  ASSERT_TRUE(merged.ok()) << merged.error().to_line();
  EXPECT_EQ(*merged,
            yaml("a: {b: 3, c: 2}\nlist: [1, 2]\ns: '007'\nkey: {file: \"text\\n\"}\nx: 1\ny: two\n"));
}

TEST(Values, KindsComeInHelmsOrder) {
  const std::vector<ValuesInput> inputs{{ValuesFlag::SetLiteral, "a=x,y\\z=1", ""},
                                        {ValuesFlag::SetString, "s=1", ""},
                                        {ValuesFlag::Set, "s=2,t=2", ""},
                                        {ValuesFlag::SetJson, R"(t=[1,{"k":","}], u={"v": null},w=)", ""},
                                        {ValuesFlag::SetJson, R"( {"o": {"p": true}} )", ""}};
  const auto merged = merge_values(inputs);
  ASSERT_TRUE(merged.ok()) << merged.error().to_line();
  EXPECT_EQ(encoding::to_json(*merged),
            R"({"t":2,"u":{"v":null},"w":null,"o":{"p":true},"s":"1","a":"x,y\\z=1"})");
  for (const char* wrong : {"a", "a=[1", "a={]", "a.b[=1"}) {
    const std::vector<ValuesInput> bad{{ValuesFlag::SetJson, wrong, ""}};
    EXPECT_FALSE(merge_values(bad).ok()) << wrong;
  }
}

TEST(Values, NullsOfAFileStayToRemoveDefaults) {
  const std::vector<ValuesInput> inputs{{ValuesFlag::File, "one.yaml", "a: {b: 1, c: 1}"},
                                        {ValuesFlag::File, "two.yaml", "a: {b: null}"}};
  EXPECT_EQ(*merge_values(inputs), yaml("a: {b: null, c: 1}"));
}

// It is the package's default that they remove, so they have to reach it: alone, and over a file's value.
TEST(Values, NullsOfEveryFlagStayToRemoveDefaults) {
  for (const auto& input : {ValuesInput{ValuesFlag::File, "two.yaml", "a: {b: null}"},
                            {ValuesFlag::SetJson, "a.b=null", ""},
                            {ValuesFlag::SetJson, R"({"a": {"b": null}})", ""},
                            {ValuesFlag::Set, "a.b=null", ""},
                            {ValuesFlag::Set, "a: {b: null}", ""},
                            {ValuesFlag::Set, "{a: {b: null}}", ""}}) {
    EXPECT_EQ(*merge_values(std::span(&input, 1)), yaml("a: {b: null}")) << input.text;
    const std::vector<ValuesInput> over{{ValuesFlag::File, "one.yaml", "a: {b: 1, c: 1}"}, input};
    EXPECT_EQ(*merge_values(over), yaml("a: {b: null, c: 1}")) << input.text;
  }
}

TEST(Values, ChartsTellAnIntegerFromAFloat) {
  const std::vector<ValuesInput> inputs{{ValuesFlag::File, "one.yaml", "a: 1000000\nl: [1]"},
                                        {ValuesFlag::SetJson, "j=7", ""},
                                        {ValuesFlag::Set, "b=1000000", ""}};
  const auto merged = merge_values(inputs, Numbers::AsHelm);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(encoding::to_json(*merged, encoding::JsonStyle::Exact),
            R"({"a":1000000.0,"l":[1.0],"j":7.0,"b":1000000})");
}

TEST(Values, AChartsFileMayHaveSeveralDocuments) {
  const std::vector<ValuesInput> inputs{
      {ValuesFlag::File, "v.yaml", "a: {b: 1, c: x}\n---\n# nothing\n---\na: {b: null, d: 2}\n"}};
  EXPECT_EQ(encoding::to_json(*merge_values(inputs, Numbers::AsHelm), encoding::JsonStyle::Exact),
            R"({"a":{"b":null,"c":"x","d":2.0}})");
  EXPECT_THAT(merge_values(inputs).error().message, HasSubstr("document"));
  const std::vector<ValuesInput> list{{ValuesFlag::File, "v.yaml", "a: 1\n---\n- b\n"}};
  EXPECT_THAT(merge_values(list, Numbers::AsHelm).error().message, HasSubstr("must be a mapping"));
}

TEST(Values, AChartsFileIsReadAsHelmReadsIt) {
  const auto merged = [](std::string text, EventSink* events = nullptr) {
    const std::vector<ValuesInput> inputs{{ValuesFlag::File, "v.yaml", std::move(text)}};
    return merge_values(inputs, Numbers::AsHelm, events);
  };
  const auto json = [&](std::string text) {
    return encoding::to_json(*merged(std::move(text)), encoding::JsonStyle::Exact);
  };
  testing::RecordedEvents events;
  const auto twice = merged("# none\n---\nl: x\na: {b: 1, c: v}\na: {b: z}\n", &events);
  EXPECT_EQ(encoding::to_json(*twice), R"({"l":"x","a":{"b":"z"}})") << "not merged";
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("v.yaml:5: the key \"a\" is set twice")));
  EXPECT_EQ(json("x: &x {a: v, b: z}\nc: {<<: *x, a: w}\n"),
            R"({"x":{"a":"v","b":"z"},"c":{"a":"w","b":"z"}})");
  EXPECT_EQ(json("--- # first\na: b\n---# second\n---\t\r\nc: d\n---"), R"({"a":"b","c":"d"})");
  EXPECT_EQ(json("a: b\n...\nc: d\n---\ne: f\n"), R"({"a":"b","e":"f"})");
  for (const char* const text : {"a: b\n--- {c: d}\n", "a: b\n---c: d\n"}) {
    const Error refused = merged(text).error();
    EXPECT_THAT(refused.message, HasSubstr("follows the \"---\"")) << text;
    EXPECT_EQ(refused.where->line, 2u);
  }
  EXPECT_EQ(merged("a: b\n---\nc: d\n---\n\ne: }\n").error().where->line, 6u);
  const Error directive = merged("a: b\n---\n# why\n%YAML 1.1\n---\nc: d\n").error();
  EXPECT_THAT(directive.message, HasSubstr("directives"));
  EXPECT_EQ(directive.where->line, 4u);
}

TEST(Values, AKeyThatIsABooleanIsToldOfEveryPackagesFile) {
  for (const Numbers numbers : {Numbers::AsWritten, Numbers::AsHelm}) {
    testing::RecordedEvents events;
    const std::vector<ValuesInput> inputs{{ValuesFlag::File, "v.yaml", "a: 1\non: {x: 1}\n"}};
    ASSERT_TRUE(merge_values(inputs, numbers, &events).ok());
    EXPECT_THAT(events.messages, ElementsAre(HasSubstr("v.yaml:2: the key on is a boolean in YAML")));
  }
}

TEST(Values, WrongOnesNameTheirPlace) {
  const std::vector<ValuesInput> list{{ValuesFlag::File, "values.yaml", "- a\n"}};
  EXPECT_THAT(merge_values(list).error().message, HasSubstr("values.yaml must be a mapping"));
  const std::vector<ValuesInput> twice{{ValuesFlag::File, "values.yaml", "a: 1\na: 2\n"}};
  EXPECT_EQ(merge_values(twice).error().where->line, 2u);
}

constexpr std::string_view kPackageHead =
    "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: a}\n";
constexpr std::string_view kOriginalHead =
    "apiVersion: mistletoe.dev/v1alpha1\nkind: MistPackage\nmetadata: {name: a}\n";

Value document_of(std::string_view head, std::string_view spec) {
  return yaml(std::string(head) + "spec: " + std::string(spec) + "\n");
}

TEST(Metadata, SaysTheSameAgain) {
  const auto good = Metadata::parse(
      document_of(kPackageHead, "{version: 1.0.0, needs: {release: true}, requires: [secret.get]}"), "a");
  ASSERT_TRUE(good.ok()) << good.error().to_line();
  EXPECT_TRUE(good->needs_release);
  const auto again = Metadata::parse_strictly(good->to_value(), "a");
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->version, "1.0.0");
  EXPECT_THAT(again->required_features, ElementsAre("secret.get"));
  EXPECT_FALSE(Metadata::parse(yaml("kind: MistResult"), "a").ok());
}

TEST(Metadata, IgnoresWhatItDoesNotKnowAndNamesIt) {
  for (const std::string_view head : {kPackageHead, kOriginalHead}) {
    const auto metadata = Metadata::parse(
        document_of(head, "{inpts: {}, needs: {moon: true}, later: [1], description: d}"), "a");
    ASSERT_TRUE(metadata.ok()) << metadata.error().to_line();
    EXPECT_EQ(metadata->description, "d");
    EXPECT_THAT(metadata->ignored,
                ElementsAre("spec.inpts (did you mean inputs?)", "spec.later", "spec.needs.moon"));
    EXPECT_EQ(metadata->original, head == kOriginalHead);
  }
}

TEST(Metadata, IsStrictWithAuthors) {
  const auto typo = Metadata::parse_strictly(document_of(kPackageHead, "{inpts: {}}"), "a");
  ASSERT_FALSE(typo.ok());
  EXPECT_THAT(typo.error().message, HasSubstr("spec.inpts is unknown"));
  EXPECT_THAT(typo.error().hint, HasSubstr("inputs"));
}

TEST(Metadata, KnowsTheFunctionsOfTheOriginalAbi) {
  const auto metadata = Metadata::parse(document_of(kOriginalHead, "{functions: {generate: make}}"), "a");
  ASSERT_TRUE(metadata.ok()) << metadata.error().to_line();
  EXPECT_THAT(metadata->ignored, IsEmpty());
  EXPECT_EQ(metadata->to_value().string_at({"spec", "functions", "generate"}), "make");
}

TEST(Metadata, HasAThousandDependenciesAtMost) {
  const auto with = [](int count) {
    std::string entries;
    for (int i = 0; i < count; ++i) entries += fmt::format("{{name: d{0}, package: m/d{0}}},", i);
    return Metadata::parse(document_of(kPackageHead, fmt::format("{{dependencies: [{}]}}", entries)), "a");
  };
  const auto most = with(1000);
  ASSERT_TRUE(most.ok()) << most.error().to_line();
  EXPECT_EQ(most->dependencies.size(), 1000U);
  const auto more = with(1001);
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message, HasSubstr("spec.dependencies has 1001 entries, and 1000 are allowed"));
}

// A required feature may give other members another meaning, so that nothing else is looked at.
TEST(Metadata, AFeatureThatIsMissingNeedsANewerMistctl) {
  for (const std::string_view head : {kPackageHead, kOriginalHead}) {
    const auto metadata = Metadata::parse(
        document_of(head, "{requires: [secret.get, tide.tables, moon], inputs: 5, version: {major: 1}}"),
        "shop/tides:2.0.0");
    ASSERT_FALSE(metadata.ok());
    EXPECT_EQ(metadata.error().message, "shop/tides:2.0.0 needs a newer mistctl");
    EXPECT_THAT(metadata.error().because, HasSubstr("tide.tables, moon"));
    EXPECT_THAT(metadata.error().because, Not(HasSubstr("secret.get")));
  }
}

struct Warnings final : EventSink {
  void message(const Message& event) override {
    if (event.level == EventLevel::Warning) texts.push_back(event.text);
  }
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}
  std::vector<std::string> texts;
};

TEST(Render, WarnsOfWhatItIgnoresButNotInTheOriginalFormat) {
  for (const bool original : {false, true}) {
    Warnings events;
    Renderer renderer({}, events);
    Source source{.reference = "./a",
                  .name = "a",
                  .version = {},
                  .digest = "sha256:0",
                  .content = Files{{"mistletoe.yaml", std::string(original ? kOriginalHead : kPackageHead) +
                                                          "spec: {later: 1}\n"},
                                   {"cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}"}}};
    RenderRequest request;
    request.release_name = "web";
    request.user_values = Value::object();
    const auto rendered = renderer.render(source, request, {});
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
    EXPECT_EQ(events.texts.size(), original ? 0u : 1u);
    for (const std::string& text : events.texts) EXPECT_THAT(text, HasSubstr("spec.later"));
    EXPECT_THAT(rendered->metadata.ignored, ElementsAre("spec.later"));
  }
}

TEST(InputData, HasDefaultsNameAndNamespace) {
  Metadata metadata;
  metadata.name = "p";
  metadata.inputs = yaml(
      "type: object\nadditionalProperties: false\nproperties: {replicas: {type: integer, default: 2}, "
      "namespace: {type: string}, image: {type: string}}\n");
  RenderRequest request;
  request.release_name = "web";
  request.release_namespace = "shop";
  request.user_values = yaml("{image: nginx}");
  EXPECT_EQ(*input_data(metadata, request), yaml("{replicas: 2, image: nginx, namespace: shop, name: web}"));
  for (const auto& [given, expected] :
       {std::pair("{namespace: data}", "data"), {"{namespace: null}", "shop"}}) {
    request.user_values = yaml(given);
    EXPECT_EQ(input_data(metadata, request)->string_at("namespace"), expected) << given;
  }
  request.user_values = yaml("{image: nginx}");
  EXPECT_TRUE(check_input(metadata, request).ok())
      << "its name, which the schema doesn't declare, isn't checked";
  request.user_values = yaml("{replicas: three, colour: red}");
  const auto refused = check_input(metadata, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().because, HasSubstr("replicas"));
  EXPECT_THAT(refused.error().because, HasSubstr("colour"));
  request.user_values = yaml("{name: other}");
  EXPECT_THAT(input_data(metadata, request).error().message, HasSubstr("release's name"));
}

TEST(InputData, FillsObjectsThatAreGivenInPart) {
  Metadata metadata;
  metadata.inputs = yaml(
      "{properties: {db: {required: [host], properties: {host: {type: string}, port: {type: integer, "
      "default: "
      "5432}}}, ports: {items: {properties: {port: {default: 80}}}}}}");
  RenderRequest request;
  request.release_name = "web";
  request.user_values = yaml("{db: {host: pg}, ports: [{}]}");
  EXPECT_EQ(*input_data(metadata, request),
            yaml("{db: {host: pg, port: 5432}, ports: [{port: 80}], name: web}"));
  request.user_values = yaml("{db: {host: pg, port: null}}");
  EXPECT_EQ(*input_data(metadata, request), yaml("{db: {host: pg}, name: web}"));
  EXPECT_TRUE(check_input(metadata, request).ok());
  metadata.defaults = yaml("{db: {port: null}}");
  request.user_values = yaml("{db: {host: pg}}");
  EXPECT_EQ(*input_data(metadata, request), yaml("{db: {host: pg}, name: web}"));
}

TEST(EngineData, HasTheDefaultsThatTheEngineCannotKnow) {
  Metadata metadata;
  metadata.inputs = yaml(
      "{properties: {db: {required: [host], properties: {host: {}, port: {default: 5432}, size: {default: "
      "1}}},"
      " cache: {required: [host], properties: {host: {}, port: {default: 6379}}},"
      " ports: {items: {properties: {port: {default: 80}}}}}}");
  metadata.defaults = yaml("{db: {size: 3}, cache: {host: redis}, ports: [{name: http}]}");
  RenderRequest request;
  request.release_name = "web";
  request.user_values = yaml("{db: {host: pg}}");
  const auto complete = input_data(metadata, request);
  ASSERT_TRUE(complete.ok()) << complete.error().to_line();
  EXPECT_EQ(
      engine_data(metadata, request, *complete),
      yaml("{db: {host: pg, port: 5432}, name: web, cache: {port: 6379}, ports: [{name: http, port: 80}]}"));
}

TEST(EngineData, LeavesDefaultsToTheEngineAndIsCheckedWithThem) {
  Metadata metadata;
  metadata.name = "shop";
  metadata.inputs = yaml(
      "{type: object, required: [replicas, size], properties: {replicas: {type: integer, default: 1},"
      " size: {type: string}, more: {type: object, properties: {a: {default: 1}, b: {default: 2}}}}}");
  metadata.defaults = yaml("{replicas: 3, size: big, more: {a: 9}}");
  RenderRequest request;
  request.release_name = "web";
  request.user_values = yaml("{more: {a: null}}");
  const auto complete = input_data(metadata, request);
  ASSERT_TRUE(complete.ok()) << complete.error().to_line();
  EXPECT_EQ(*complete, yaml("{replicas: 3, more: {b: 2}, size: big, name: web}"));
  EXPECT_EQ(engine_data(metadata, request, *complete), yaml("{more: {b: 2, a: null}, name: web}"));
  EXPECT_TRUE(check_input(metadata, request).ok());
  request.user_values = yaml("{size: null}");
  EXPECT_THAT(check_input(metadata, request).error().because, HasSubstr("size"));
}

TEST(ParseObjects, KeepsFileAndLineAndFlattensLists) {
  NullEventSink events;
  const auto objects = parse_objects({{"b.yaml",
                                       "# c\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  "
                                       "kind: ConfigMap\n  metadata: {name: x}\n"},
                                      {"a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}"}},
                                     events);
  ASSERT_TRUE(objects.ok()) << objects.error().to_line();
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ((*objects)[0].file, "a.yaml");
  EXPECT_EQ((*objects)[1].line, 6u);
}

TEST(ParseObjects, ErrorsShowTheLine) {
  NullEventSink events;
  const auto broken = parse_objects(
      {{"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: 1}\n  name: x\n"}}, events);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().where->file, "a.yaml");
  EXPECT_EQ(broken.error().where->line, 4u);
  EXPECT_THAT(broken.error().where->excerpt, HasSubstr("labels"));
}

// Five lines that a template of three made.
constexpr std::string_view kFromTemplate =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: \"1\"\n";
const FileOrigins kTemplates{{"web/templates/a.yaml", {"templates/a.yaml", {7, 7, 8, 9, 12}}}};

TEST(ParseObjects, ObjectsAndTheirValuesHaveTheLinesOfTheTemplate) {
  NullEventSink events;
  const auto line_of_data = [&](const FileOrigins& origins) {
    const auto objects = parse_objects({{"web/templates/a.yaml", std::string(kFromTemplate)}}, events,
                                       Lines::Rendered, origins);
    EXPECT_TRUE(objects.ok());
    const apimachinery::RenderedObject& object = objects->front();
    EXPECT_EQ(object.file, "web/templates/a.yaml");
    return object.place().text() + ", " +
           object.place(object.object.value().at_path({"data", "a"})->position()).text();
  };
  EXPECT_EQ(line_of_data(kTemplates), "templates/a.yaml:7, templates/a.yaml:12");
  // The file passed as it was written.
  EXPECT_EQ(line_of_data({{"web/templates/a.yaml", {"crds/a.yaml", {}}}}), "crds/a.yaml:1, crds/a.yaml:5:6");
  EXPECT_EQ(line_of_data({}), "web/templates/a.yaml:1 (rendered), web/templates/a.yaml:5:6 (rendered)");
  // A guest may say anything.
  EXPECT_EQ(line_of_data({{"web/templates/a.yaml", {"templates/a.yaml", {7}}}}),
            "templates/a.yaml:7, templates/a.yaml:7");
}

// Objects of one rendered file may be from several files of the package.
TEST(ParseObjects, EachObjectHasTheFileThatItIsFrom) {
  testing::RecordedEvents events;
  FileOrigin origin{"main.ncl", {0, 0, 0, 0, 7, 7, 7}};
  origin.others = {{"lib.ncl", {3, 4, 5}}, {"z.ncl", {}}};
  const auto objects = parse_objects({{"main.ncl",
                                       "apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\n"
                                       "apiVersion: v1\nkind: B\nmetadata: {name: y, name: z}\n"}},
                                     events, Lines::Rendered, {{"main.ncl", origin}});
  ASSERT_TRUE(objects.ok());
  EXPECT_EQ(objects->at(0).place().text(), "lib.ncl:3");
  EXPECT_EQ(objects->at(0).place(objects->at(0).object.value().find("metadata")->position()).text(),
            "lib.ncl:5");
  EXPECT_EQ(objects->at(1).place().text(), "main.ncl:7");
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("main.ncl:7: the key \"name\" is set twice")));
  const auto broken = parse_objects({{"main.ncl", "apiVersion: v1\nkind: A\nmetadata: {}\n"}}, events,
                                    Lines::Rendered, {{"main.ncl", origin}});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().where->text(), "lib.ncl:5");
}

TEST(ParseObjects, ErrorsAndWarningsHaveTheLinesOfTheTemplate) {
  testing::RecordedEvents events;
  const auto failure = [&](const std::string& text, const FileOrigins& origins) {
    return parse_objects({{"web/templates/a.yaml", text}}, events, Lines::Rendered, origins).error();
  };
  const std::string unnamed = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:\n";
  EXPECT_EQ(failure(unnamed, kTemplates).where->text(), "templates/a.yaml:9");
  EXPECT_EQ(failure(unnamed, kTemplates).because, "line 4 of what web/templates/a.yaml rendered is: name:");
  EXPECT_EQ(failure(unnamed, {}).where->file, "web/templates/a.yaml (rendered)");
  EXPECT_EQ(failure("a: b\nc: [\n", kTemplates).where->file, "templates/a.yaml");
  const auto twice =
      parse_objects({{"web/templates/a.yaml", std::string(kFromTemplate) + "kind: ConfigMap\n"}}, events,
                    Lines::Rendered, {{"web/templates/a.yaml", {"templates/a.yaml", {1, 2, 3, 4, 5, 11}}}});
  ASSERT_TRUE(twice.ok());
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("templates/a.yaml:11: the key \"kind\" is set twice")));
}

TEST(ParseObjects, ErrorsShowNothingOfASecretButTheKey) {
  NullEventSink events;
  const auto excerpt = [&](std::string_view text) {
    const auto broken = parse_objects({{"a.yaml", std::string(text)}}, events);
    EXPECT_FALSE(broken.ok());
    return broken.ok() || !broken.error().where ? std::string("none") : broken.error().where->excerpt;
  };
  constexpr std::string_view kHead = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n";
  const std::string head(kHead);
  EXPECT_EQ(excerpt(head + "  password: hunter2: really\n"), "  password: ***");
  EXPECT_EQ(excerpt(head + "  {hunter2: a: b}\n"), "  ***");
  EXPECT_EQ(excerpt("kind: List\nitems:\n- kind: 'Secret'\n  data: {a: hunter2: b}\n"), "  data: ***");
  EXPECT_EQ(excerpt("{\"kind\": \"Secret\", \"data\": {\"a\": hunter2: b}}"), "***");
  EXPECT_THAT(excerpt(head + "-----BEGIN KEY-----\n  password: hunter2: really\n"),
              ::testing::AllOf(HasSubstr("***"), ::testing::Not(HasSubstr("hunter2"))))
      << "that begins no document";
  // Another document of the file isn't one.
  EXPECT_EQ(excerpt(head + "  a: b\n---\nkind: ConfigMap\ndata: {a: shown: b}\n"), "data: {a: shown: b}");
  EXPECT_EQ(excerpt("kind: ConfigMap\ndata: {a: shown: b}\n---\n" + head + "  a: b\n"),
            "data: {a: shown: b}");
}

TEST(Renderer, PlainYamlIsAPackageWithoutValues) {
  NullEventSink events;
  Renderer renderer({}, events);
  Source source{
      "./dir", "dir", "", "sha256:0",
      std::map<std::string, std::string>{
          {"cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}"}, {"README.md", "text"}}};
  RenderRequest request;
  request.release_name = "web";
  request.user_values = Value::object();
  const auto rendered = renderer.render(source, request, Context());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_EQ(rendered->objects.size(), 1u);
  request.user_values = yaml("{a: 1}");
  EXPECT_THAT(renderer.render(source, request, Context()).error().message, HasSubstr("takes no values"));
}

TEST(Renderer, TheSourceOfAProgramIsNamedAsThat) {
  NullEventSink events;
  Renderer renderer({}, events);
  Source source{"./shop", "shop", "", "sha256:0",
                std::map<std::string, std::string>{{"mistletoe.yaml", "name: shop\ninputs: {type: object}\n"},
                                                   {"tests/default.yaml", "values: {}\n"}}};
  RenderRequest request;
  request.release_name = "web";
  request.user_values = Value::object();
  const auto rendered = renderer.render(source, request, Context());
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().message, "./shop is the source of a program: its mistletoe.yaml has no kind");
  EXPECT_THAT(rendered.error().hint, HasSubstr("build its module"));
}

std::string refusal_of(Files files, std::string engine = {}) {
  NullEventSink events;
  Renderer renderer({}, events);
  const Source source{.reference = "./shop",
                      .name = "shop",
                      .version = "",
                      .digest = "sha256:0",
                      .content = std::move(files),
                      .engine = std::move(engine)};
  RenderRequest request;
  request.release_name = "web";
  request.user_values = Value::object();
  const auto rendered = renderer.render(source, request, Context());
  const auto inspected = renderer.inspect(source, Context());
  if (source.engine.empty()) {
    EXPECT_EQ(inspected.ok() ? "" : inspected.error().message, rendered.ok() ? "" : rendered.error().message);
  }
  return rendered.ok() ? "rendered"
                       : fmt::format("{}; try: {}", rendered.error().message, rendered.error().hint);
}

TEST(Renderer, ADirectoryThatIsNoPackageIsToldWhatItLacks) {
  const std::string object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
  const std::string overlay = "resources: [../../base]\n";
  EXPECT_EQ(
      refusal_of({{"templates/a.yaml", "kind: {{ .Values.kind }}\n"}, {"values.yaml", "kind: Pod\n"}}),
      "./shop has the templates of a Helm chart, but no Chart.yaml; try: add a Chart.yaml with apiVersion: "
      "v2, a name and a version, or name the chart's directory");
  EXPECT_EQ(refusal_of({{"chart.yml", "name: x\n"}, {"templates/a.yaml", object}}),
            "./shop has a chart.yml where Chart.yaml is expected; try: rename chart.yml to Chart.yaml");
  EXPECT_EQ(refusal_of({{"kustomize.yaml", "resources: [a.yaml]\n"}, {"a.yaml", object}}),
            "./shop has a kustomize.yaml where kustomization.yaml is expected; try: rename kustomize.yaml to "
            "kustomization.yaml");
  const std::string below =
      "./shop is no package itself: its packages are in directories below it; try: name one of them: "
      "./shop/base, ./shop/overlays/prod";
  EXPECT_EQ(refusal_of({{"base/kustomization.yaml", "resources: [a.yaml]\n"},
                        {"base/a.yaml", object},
                        {"overlays/prod/kustomization.yaml", overlay}}),
            below);
  // With its apiVersion it is read as an object, which no cluster knows.
  const std::string typed =
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: x}\n";
  EXPECT_EQ(refusal_of({{"base/kustomization.yaml", typed},
                        {"base/a.yaml", object},
                        {"overlays/prod/kustomization.yml", typed + overlay}}),
            below);
  EXPECT_EQ(
      refusal_of({{"x/Chart.yaml", "name: x\n"}, {"x/charts/y/Chart.yaml", "name: y\n"}}),
      "./shop is no package itself: its packages are in directories below it; try: name that directory: "
      "./shop/x");
}

TEST(Renderer, ADirectoryOfObjectsResemblesNoPackage) {
  const std::string object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
  const std::string flux =
      "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\n";
  EXPECT_EQ(refusal_of({{"kustomization.yaml", flux}, {"a.yaml", object}}, "yaml"), "rendered");
  EXPECT_EQ(refusal_of({{"kustomize.yaml", flux}, {"tools/main.py", "print(1)\n"}, {"a.yaml", object}}),
            "rendered");
  EXPECT_THAT(refusal_of({{"kustomize.yaml", flux}, {"tools/main.py", "print(1)\n"}, {"a.yaml", "a: 1\n"}}),
              HasSubstr("an object has no kind"));
  EXPECT_THAT(refusal_of({{"kustomize.yaml", "resources: [a.yaml]\n"}, {"a.yaml", object}}, "yaml"),
              HasSubstr("an object has no kind"));
}

}  // namespace
}  // namespace mist::package
