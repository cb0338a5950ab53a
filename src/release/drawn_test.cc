#include "release/drawn.h"

#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::release {
namespace {

TEST(Drawn, IsReadAsItWasWritten) {
  const Drawn drawn{"2026-01-01T00:00:00Z",
                    {{"", 1}, {"db", 4294967295}},
                    true,
                    {"api", "db"},
                    {{{{"apps", "Deployment"}, "shop", "web"}, ".spec.x[name=a].y", {"api"}},
                     {{{"", "Secret"}, "shop", "db"}, ".data.password", {}}},
                    {{{{"apps", "Deployment"}, "shop", "web"}, ".spec.y", {}}},
                    {{"secret.get", "sha256:00"}},
                    true,
                    {{"db-old", 0}}};
  const auto text = encoding::to_json(to_value(drawn));
  const auto read = drawn_from_value(*encoding::parse_json(text));
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(*read, drawn);
  EXPECT_TRUE(read->anything());
  EXPECT_FALSE(read->empty());
}

TEST(Drawn, RemembersWhatEarlierRevisionsUsedAboveIt) {
  Drawn drawn;
  drawn.secrets = {"api", "db"};
  drawn.rotations = {{"", 1}, {"db", 2}};
  drawn.remember({{"", 3}, {"api", 0}, {"db", 1}, {"gone", 0}});
  EXPECT_EQ(drawn.highest, (Rotations{{"", 3}, {"gone", 0}}));
  EXPECT_EQ(drawn.used(), (Rotations{{"", 3}, {"api", 0}, {"db", 2}, {"gone", 0}}));
  drawn.remember({{"db", 5}, {"gone", 1}});
  EXPECT_EQ(drawn.used(), (Rotations{{"", 3}, {"api", 0}, {"db", 5}, {"gone", 1}}));
}

TEST(Drawn, NothingIsEmpty) {
  const auto read = drawn_from_value(encoding::Value());
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->empty());
  EXPECT_FALSE(read->anything());
}

TEST(Drawn, DamageIsNoticed) {
  for (const std::string_view text :
       {"5", R"({"rotations":[]})", R"({"rotations":{"db":-1}})", R"({"rotations":{"db":4294967296}})",
        R"({"rotations":{"db":"1"}})", R"({"highest":{"db":-1}})", R"({"secrets":[1]})",
        R"({"secrets":"db"})", R"({"fields":{}})", R"({"fields":[{"kind":"Secret","name":"a"}]})",
        R"({"fields":[{"name":"a","path":".b"}]})"}) {
    const auto read = drawn_from_value(*encoding::parse_json(text));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::Internal);
  }
}

}  // namespace
}  // namespace mist::release
