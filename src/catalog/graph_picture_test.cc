#include "catalog/graph_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string drawn(std::string_view json) { return graph_picture(*encoding::parse_json(json)).text(); }

std::size_t count(std::string_view text, std::string_view piece) {
  std::size_t found = 0;
  for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

constexpr std::string_view kShop = R"({"objects": 3, "namespace": "default", "nodes": [
  {"id": 0, "role": "object", "step": 1, "kind": "ConfigMap", "namespace": "default", "name": "settings"},
  {"id": 1, "role": "object", "step": 2, "kind": "Deployment", "namespace": "other", "name": "web"},
  {"id": 2, "role": "object", "step": 2, "kind": "Service", "namespace": "default", "name": "web"},
  {"id": 3, "role": "barrier", "step": 2, "kind": null, "name": null},
  {"id": 4, "role": "outside", "step": 1, "kind": "Secret", "namespace": "default", "name": "password"}],
 "edges": [
  {"before": 0, "after": 1, "reason": "a volume of its pods", "implied": false},
  {"before": 4, "after": 1, "reason": "an environment variable", "implied": false},
  {"before": 3, "after": 2, "reason": "it comes last", "implied": false},
  {"before": 0, "after": 2, "reason": "nothing new", "implied": true}]})";

TEST(GraphPicture, HasABoxForEachObjectAndAnArrowForEachReason) {
  const std::string text = drawn(kShop);
  EXPECT_EQ(count(text, "<rect"), 4U) << text;
  EXPECT_EQ(count(text, "class=\"edge\""), 2U) << text;
  EXPECT_EQ(count(text, "class=\"node outside\""), 1U);
  EXPECT_THAT(text,
              AllOf(HasSubstr("role=\"img\" aria-labelledby=\"graph-title\" aria-describedby=\"graph-desc\""),
                    HasSubstr("3 objects in 2 steps"), HasSubstr("Deployment other/web")));
}

TEST(GraphPicture, IsAListToo) {
  const std::string text = drawn(kShop);
  EXPECT_THAT(text,
              HasSubstr("<li>Deployment other/web, after ConfigMap settings (a volume of its pods); Secret "
                        "password (an environment variable)</li>"));
  EXPECT_THAT(text, HasSubstr("<li>Service web, after everything else (it comes last)</li>"));
  EXPECT_THAT(text, Not(HasSubstr("nothing new")));
}

TEST(GraphPicture, LeadsArrowsPastTheBoxesBetween) {
  const std::string text =
      drawn(R"({"objects": 3, "nodes": [{"step": 1, "kind": "A"}, {"step": 2, "kind": "B"},
    {"step": 3, "kind": "C"}], "edges": [{"before": 0, "after": 1}, {"before": 1, "after": 2},
    {"before": 0, "after": 2}]})");
  EXPECT_EQ(count(text, "class=\"edge\""), 3U);
  // The boxes are from 8 to 52; that of the second column from 258 to 448.
  EXPECT_THAT(text, HasSubstr(" 258 59L448 59C"));
}

TEST(GraphPicture, IsNothingWhereNothingIsKnown) {
  for (const char* each : {"null", "{}", "[]", "3", R"({"objects": 0})", R"({"objects": -1, "nodes": []})"})
    EXPECT_THAT(drawn(each), IsEmpty()) << each;
  EXPECT_THAT(drawn(R"({"objects": 12345, "nodes": [], "edges": []})"), HasSubstr("12345 objects: too many"));
}

TEST(GraphPicture, SurvivesWhatNoWorkerWrites) {
  for (const char* each :
       {R"({"objects": 1, "nodes": 3, "edges": 4})",
        R"({"objects": 1, "nodes": [1, null, {}], "edges": [1, {}]})",
        R"({"objects": 1, "nodes": [{"step": "x", "kind": 3}], "edges": [{"before": 9, "after": 0}]})",
        R"({"objects": 1, "nodes": [{"step": -9223372036854775807}, {"step": 9223372036854775807}],
            "edges": [{"before": 0, "after": 1}, {"before": 1, "after": 0}, {"before": 0, "after": 0},
                      {"before": -1, "after": 1}]})"})
    drawn(each);
  const std::string hostile = R"("><script>alert(1)</script>)";
  const Value graph = Value::object(
      {{"objects", Value(2)},
       {"namespace", Value(hostile)},
       {"nodes", Value::array({Value::object({{"kind", Value(hostile)}, {"name", Value(hostile)}}),
                               Value::object({{"step", Value(2)},
                                              {"kind", Value(hostile)},
                                              {"name", Value(hostile)},
                                              {"namespace", Value(hostile + "x")}})})},
       {"edges", Value::array({Value::object(
                     {{"before", Value(0)}, {"after", Value(1)}, {"reason", Value(hostile)}})})}});
  const std::string text = graph_picture(graph).text();
  EXPECT_EQ(count(text, "class=\"edge\""), 1U);
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;"));
}

TEST(GraphPicture, OfVeryManyObjectsIsBounded) {
  Value nodes{Value::Array{}};
  Value edges{Value::Array{}};
  for (int i = 0; i < 20'000; ++i) {
    nodes.push_back(Value::object(
        {{"step", Value(i % 7)}, {"kind", Value("ConfigMap")}, {"name", Value(std::to_string(i))}}));
    edges.push_back(
        Value::object({{"before", Value(i % 50)}, {"after", Value((i * 31) % 300)}, {"reason", Value("r")}}));
  }
  const std::string many =
      graph_picture(Value::object({{"objects", Value(20'000)}, {"nodes", nodes}, {"edges", edges}})).text();
  EXPECT_THAT(many, Not(HasSubstr("<svg")));
  EXPECT_LT(many.size(), 200'000U);
  nodes.as_array().resize(60);
  const std::string some =
      graph_picture(Value::object({{"objects", Value(60)}, {"nodes", nodes}, {"edges", edges}})).text();
  EXPECT_THAT(some, HasSubstr("<svg"));
  EXPECT_LE(count(some, "class=\"edge\""), 200U);
  EXPECT_LT(some.size(), 200'000U);
}

TEST(GraphPicture, CutsLongNamesBetweenCharacters) {
  const std::string name = "ääääääääääääääääääääääääääääää";
  const std::string text =
      graph_picture(
          Value::object(
              {{"objects", Value(1)},
               {"nodes", Value::array({Value::object({{"kind", Value("A")}, {"name", Value(name)}})})}}))
          .text();
  EXPECT_THAT(text, HasSubstr("ääää…</text>"));
  EXPECT_THAT(text, HasSubstr(name)) << "the whole name is its title";
}

}  // namespace
}  // namespace mist::catalog
