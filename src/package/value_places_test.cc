#include "package/value_places.h"

#include <gtest/gtest.h>

#include "encoding/schema_place.h"
#include "testing/yaml.h"

namespace mist::package {
namespace {

using testing::yaml;

Error failure_of(std::string because, std::vector<std::string> pointers) {
  return error(ErrorKind::Invalid, "the values don't fit")
      .with_because(std::move(because))
      .with_detail(encoding::ValueFaults{std::move(pointers)});
}

TEST(ValuePlaces, AreTheLineOfAFileOrTheFlagThatIsMergedLast) {
  const std::vector<ValuesInput> inputs{
      {ValuesFlag::Set, "image.tga=1,list[1]=x", {}},
      {ValuesFlag::File, "a.yaml", "replicas: 1\nimage:\n  tga: 2\n  tag:\n    x\n"},
      {ValuesFlag::File, "b.yaml", "\nreplicas: three\n"},
  };
  const Error placed =
      with_value_places(failure_of("no replicas\nno tga\nno tag\nno item\nnobody's",
                                   {"/replicas", "/image/tga", "/image/tag", "/list/1", "/port"}),
                        inputs);
  EXPECT_EQ(placed.because,
            "no replicas (b.yaml:2:11)\nno tga (--set image.tga)\nno tag (a.yaml:4:3)\nno item (--set "
            "list[1])\nnobody's");
  ASSERT_TRUE(placed.where);
  EXPECT_EQ(placed.where->text(), "b.yaml:2:11");
}

TEST(ValuePlaces, OfAnotherErrorAreNone) {
  const std::vector<ValuesInput> inputs{{ValuesFlag::Set, "a=1", {}}};
  EXPECT_EQ(with_value_places(error(ErrorKind::Invalid, "x").with_because("y"), inputs).because, "y");
  EXPECT_EQ(with_value_places(failure_of("y", {"/a", "/b"}), inputs).because, "y") << "not a line for each";
}

TEST(ValuePlaces, AMemberThatTheSchemaDoesNotHaveIsNamedItself) {
  const encoding::Value schema = yaml(
      "{type: object, properties: {image: {type: object, additionalProperties: false, properties: {tag: "
      "{}}}, zone: "
      "{type: integer}}}");
  const encoding::Value value = yaml("{image: {tag: x, a/b: 1}, zone: x}");
  const auto compiled = encoding::Schema::compile(schema);
  ASSERT_TRUE(compiled.ok());
  const auto faults = encoding::faults_of(compiled->validate(value));
  EXPECT_EQ(faults.pointers, (std::vector<std::string>{"/image/a~1b", "/zone"}));
}

}  // namespace
}  // namespace mist::package
