#include "blueprint/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Parts : public ::testing::Test {
 protected:
  static encoding::Value first(std::string_view parts) {
    return testing::yaml(
        fmt::format("metadata: {{name: app, labels: {{mistletoe.dev/blueprint: 'true'}}, "
                    "annotations: {{mistletoe.dev/blueprint-parts: '{}'}}}}\n"
                    "data: {{blueprint.ncl: '1', a.ncl: '2'}}",
                    parts));
  }
  void part(const std::string& name, std::string_view data) {
    parts_[name] = testing::yaml(fmt::format(
        "metadata: {{name: {}, labels: {{mistletoe.dev/blueprint: part}}}}\ndata: {}", name, data));
  }
  Result<package::Files> files(std::string_view parts) {
    return files_of(first(parts), [this](const std::string& name) {
      const auto found = parts_.find(name);
      return found == parts_.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::map<std::string, encoding::Value> parts_;
};

TEST_F(Parts, AreNamedInAnAnnotation) {
  EXPECT_THAT(parts_of(first(" lib, more,,lib ")), ElementsAre("lib", "more"));
  EXPECT_THAT(parts_of(first("")), IsEmpty());
  EXPECT_THAT(parts_of(testing::yaml("metadata: {name: app}")), IsEmpty());
  part("lib", "{}");
  EXPECT_TRUE(is_part(parts_["lib"]));
  EXPECT_FALSE(is_part(first("lib")));
}

TEST_F(Parts, HoldFilesAsIfTheyWereInTheFirst) {
  part("lib", "{b.ncl: '3'}");
  part("more", "{c.ncl: '4'}");
  part("other", "{d.ncl: '5'}");
  const auto all = files("lib,more");
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_EQ(*all, (package::Files{{"blueprint.ncl", "1"}, {"a.ncl", "2"}, {"b.ncl", "3"}, {"c.ncl", "4"}}));
}

TEST_F(Parts, ThatAreMissingOrRepeatAFileAreFaultsOfTheBlueprint) {
  part("lib", "{b.ncl: '3'}");
  part("more", "{b.ncl: '4'}");
  const auto missing = files("lib,gone");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(missing.error().message,
            "its part gone is missing: its namespace has no ConfigMap of that name with the label "
            "mistletoe.dev/blueprint=part");
  const auto twice = files("lib,more");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(twice.error().message, "the ConfigMaps lib and more both have a file b.ncl");
}

}  // namespace
}  // namespace mist::blueprint
