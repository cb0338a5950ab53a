#include "view/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::view {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(std::string_view inputs, std::string_view engine = "", std::string_view values = "") {
  package::Inspection inspection;
  inspection.metadata.name = "web";
  inspection.metadata.inputs = testing::yaml(inputs);
  inspection.metadata.values_file = values;
  inspection.engine = engine;
  return package_text({}, inspection, {}, false);
}

TEST(Packages, AnInputThatHasADefaultIsNotRequired) {
  const std::string schema = R"(
required: [replicas, host, image, tag]
properties:
  replicas: {type: integer, default: 1}
  host: {type: string}
  image: {type: object, required: [tag], properties: {tag: {type: string, default: latest}}}
  tag: {type: string})";
  const std::string text = text_of(schema);
  EXPECT_THAT(text, ContainsRegex("replicas +integer +1\n"));
  EXPECT_THAT(text, HasSubstr("host        string, required"));
  EXPECT_THAT(text, ContainsRegex("image +object\n"));
  EXPECT_THAT(text, ContainsRegex("image.tag +string +latest"));
  // A value in a chart's values.yaml is a default, too, and wins over the schema's.
  const std::string chart = text_of(schema, "helm", "replicas: 3\nhost: a\ntag: ''\n");
  EXPECT_THAT(chart, ContainsRegex("replicas +integer +3\n"));
  EXPECT_THAT(chart, Not(HasSubstr("required")));
}

TEST(Packages, NameAndNamespaceComeFromTheReleaseUnlessItIsAChart) {
  const std::string schema =
      "{required: [name], properties: {name: {type: string}, namespace: {type: string}}}";
  EXPECT_THAT(text_of(schema), ContainsRegex("name +string +\\(the release's name\\)"));
  EXPECT_THAT(text_of(schema), ContainsRegex("namespace +string +\\(the release's namespace\\)"));
  EXPECT_THAT(text_of(schema, "helm"), HasSubstr("string, required"));
}

}  // namespace
}  // namespace mist::view
