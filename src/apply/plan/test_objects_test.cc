#include "apply/plan/test_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;

std::vector<RenderedObject> parsed_objects(const std::string& text) {
  std::vector<RenderedObject> objects;
  const auto documents = encoding::parse_yaml_documents(text);
  EXPECT_TRUE(documents.ok()) << documents.error().to_line();
  for (const auto& document : *documents)
    objects.push_back({*apimachinery::Object::from_value(document), "all.yaml", 1});
  return objects;
}

TEST(TestObjects, AreTakenOutInTheirOrder) {
  auto objects = parsed_objects(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: b, annotations: {mistletoe.dev/test: \"true\"}}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/test: "
      "\"false\"}}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: d, annotations: {mistletoe.dev/test: \"true\"}}}\n");
  const auto tests = take_tests(objects);
  ASSERT_TRUE(tests.ok()) << tests.error().to_line();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].object.name(), "a");
  EXPECT_EQ(objects[1].object.name(), "c");
  ASSERT_EQ(tests->size(), 2u);
  EXPECT_EQ((*tests)[0].object.name(), "b");
  EXPECT_EQ((*tests)[1].object.name(), "d");
}

TEST(TestObjects, OtherValuesAndOurMarksAreRefusedAtTheirLine) {
  for (const auto& [annotations, piece] : std::vector<std::pair<std::string, std::string>>{
           {"mistletoe.dev/test: \"yes\"", "in quotes"},
           {"mistletoe.dev/test: \"\"", "in quotes"},
           {"mistletoe.dev/test: \"true\"\n    mistletoe.dev/release: a/b", "belongs to Mistletoe"},
           {"mistletoe.dev/test: \"true\"\n    mistletoe.dev/timeout: soon", "can't be read"}}) {
    auto objects = parsed_objects("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    " +
                                  annotations + "\n");
    const auto tests = take_tests(objects);
    ASSERT_FALSE(tests.ok()) << annotations;
    EXPECT_EQ(tests.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(tests.error().to_line(), HasSubstr(piece));
    ASSERT_TRUE(tests.error().where.has_value());
    EXPECT_EQ(tests.error().where->file, "all.yaml");
  }
}

TEST(TestObjects, BelongToASetThatNoReleaseCanBe) {
  const Owner id = test_set({"shop", "web"});
  EXPECT_EQ(id.display(), "shop/web.test");
  EXPECT_FALSE(is_dns1123_label(id.name)) << "the name of a release";
}

}  // namespace
}  // namespace mist::apply
