#include "action/authoring/blueprint_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

constexpr std::string_view kAppCrd =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
    "oxen.example.com}\n"
    "spec:\n  group: example.com\n  names: {kind: Ox, plural: oxen}\n"
    "  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        type: object\n        "
    "properties:\n"
    "          spec:\n            type: object\n            default: {}\n            properties:\n"
    "              size: {type: integer, default: 1}\n"
    "              legs: {type: array, items: {type: object, properties: {side: {type: string, default: "
    "left}}}}\n"
    "              more: {type: object, additionalProperties: {type: object, properties: {a: {default: "
    "2}}}}\n";

class BlueprintSourceTest : public ::testing::Test {
 protected:
  void write(std::string_view path, std::string_view text) {
    ASSERT_TRUE(files.write(temp.path() / path, text).ok());
  }
  HostFileSystem files;
  testing::TempDir temp;
};

TEST_F(BlueprintSourceTest, ADirectoryHasWhatItsBlueprintImports) {
  write("app/blueprint.ncl", "1");
  write("app/more.ncl", "2");
  write("app/crd.yaml", kAppCrd);
  write("app/notes.md", "x");
  write("app/tests/default.yaml", "x");
  const auto source = read_blueprint(files, temp.path() / "app");
  ASSERT_TRUE(source.ok()) << source.error().to_line();
  EXPECT_EQ(source->name, "app");
  EXPECT_EQ(source->files,
            (package::Files{{"blueprint.ncl", "1"}, {"more.ncl", "2"}, {"crd.yaml", std::string(kAppCrd)}}));
  EXPECT_EQ(source->plurals().at({"example.com", "Ox"}), "oxen");
  EXPECT_EQ(source->shown("more.ncl"), (temp.path() / "app/more.ncl").string());
  // The directory above has no blueprint, and one within.
  const auto all = read_blueprints(files, temp.path());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 1U);
}

TEST_F(BlueprintSourceTest, AFileOfAnotherNameIsTheBlueprint) {
  write("web.ncl", "1");
  write("blueprint.ncl", "2");
  const auto source = read_blueprint(files, temp.path() / "web.ncl");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->name, "web");
  EXPECT_EQ(source->files, (package::Files{{"blueprint.ncl", "1"}}));
  EXPECT_EQ(source->shown("blueprint.ncl"), (temp.path() / "web.ncl").string());
}

TEST_F(BlueprintSourceTest, AManifestHasTheConfigMapsWithABlueprint) {
  constexpr std::string_view kMap =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {blueprint.ncl: '1'}\n---\n";
  write("one.yaml",
        fmt::format("{}{}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other}}\n", kMap, kAppCrd));
  const auto one = read_blueprint(files, temp.path() / "one.yaml");
  ASSERT_TRUE(one.ok()) << one.error().to_line();
  EXPECT_EQ(one->name, "a");
  EXPECT_EQ(one->plurals().size(), 1U);
  EXPECT_THAT(one->shown("blueprint.ncl"), HasSubstr("one.yaml, blueprint.ncl of a"));
  write("two.yaml", fmt::format("{}{}", kMap, kMap));
  EXPECT_THAT(read_blueprint(files, temp.path() / "two.yaml").error().message, HasSubstr("2 blueprints"));
  // Parts are in the same manifest.
  constexpr std::string_view kPart =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lib, labels: {mistletoe.dev/blueprint: part}}\n"
      "data: {lib.ncl: '2'}\n---\n";
  constexpr std::string_view kFirst =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {mistletoe.dev/blueprint-parts: "
      "lib}}\ndata: {blueprint.ncl: '1'}\n---\n";
  write("parts.yaml", fmt::format("{}{}", kFirst, kPart));
  const auto whole = read_blueprint(files, temp.path() / "parts.yaml");
  ASSERT_TRUE(whole.ok()) << whole.error().to_line();
  EXPECT_EQ(whole->files, (package::Files{{"blueprint.ncl", "1"}, {"lib.ncl", "2"}}));
  write("lacking.yaml", kFirst);
  EXPECT_THAT(read_blueprint(files, temp.path() / "lacking.yaml").error().to_line(),
              ::testing::AllOf(HasSubstr("lacking.yaml"), HasSubstr("its part lib is missing")));
  write("none.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  EXPECT_EQ(read_blueprint(files, temp.path() / "none.yaml").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(read_blueprint(files, temp.path() / "gone.ncl").error().kind, ErrorKind::NotFound);
}

TEST_F(BlueprintSourceTest, ExamplesAreObjectsBesideItAndInstancesOfItsCases) {
  write("app/blueprint.ncl", "1");
  write("app/instance.yaml", "{apiVersion: example.com/v1, kind: Ox, metadata: {name: a}}");
  write("app/values.yaml", "just: data");
  write("app/broken.yaml", "{");
  write("app/tests/big.yaml", "instance: {apiVersion: example.com/v2, kind: Ox}\nevents: []\n");
  write("app/tests/big.golden.yaml", "instance: {apiVersion: example.com/v2, kind: Ox}\n");
  const auto source = read_blueprint(files, temp.path() / "app");
  ASSERT_TRUE(source.ok()) << source.error().to_line();
  const auto examples = read_examples(files, *source);
  ASSERT_TRUE(examples.ok()) << examples.error().to_line();
  ASSERT_EQ(examples->size(), 2U);
  EXPECT_EQ(examples->at(0).name, "instance.yaml");
  EXPECT_EQ(examples->at(0).object.string_at({"metadata", "name"}), "a");
  EXPECT_EQ(examples->at(1).name, "tests/big.yaml");
  EXPECT_EQ(examples->at(1).object.string_at("apiVersion"), "example.com/v2");
  write("one.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {blueprint.ncl: '1'}\n---\n"
        "{apiVersion: example.com/v1, kind: Ox}\n");
  const auto manifest = read_blueprint(files, temp.path() / "one.yaml");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(read_examples(files, *manifest)->back().object.string_at("kind"), "Ox");
}

TEST_F(BlueprintSourceTest, AnInstanceGetsTheDefaultsOfItsCrd) {
  write("app/blueprint.ncl", "1");
  write("app/crd.yaml", kAppCrd);
  const auto source = read_blueprint(files, temp.path() / "app");
  ASSERT_TRUE(source.ok());
  const auto blueprint =
      blueprint::Blueprint::parse(yaml("{kind: {group: example.com, version: v1, kind: Ox}, nodes: {a: own}, "
                                       "also: [{from: instance, to: a}], sequence: []}"));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  encoding::Value instance = yaml("{apiVersion: example.com/v1, kind: Ox}");
  source->fill_defaults(*blueprint, instance);
  EXPECT_EQ(instance, yaml("{apiVersion: example.com/v1, kind: Ox, spec: {size: 1}}"));
  instance =
      yaml("{apiVersion: example.com/v1, kind: Ox, spec: {size: 3, legs: [{}, {side: r}], more: {x: {}}}}");
  source->fill_defaults(*blueprint, instance);
  EXPECT_EQ(*instance.find("spec"), yaml("{size: 3, legs: [{side: left}, {side: r}], more: {x: {a: 2}}}"));
  instance = yaml("{apiVersion: example.com/v2, kind: Ox}");
  source->fill_defaults(*blueprint, instance);
  EXPECT_EQ(instance.find("spec"), nullptr) << "another version's defaults are others";
}

}  // namespace
}  // namespace mist::action
