#include "apimachinery/json_path.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apimachinery {
namespace {

constexpr std::string_view kObject = R"(
metadata: {annotations: {example.com/a.b: yes-it-is}}
status:
  phase: Running
  ready: true
  count: 3
  nothing: null
  conditions:
  - {type: Ready, status: "True", generation: 2}
  - {type: Synced, status: "False", generation: 3}
  list: [a, b, c]
)";

std::string selected(std::string_view path) {
  const auto object = encoding::parse_yaml(kObject);
  EXPECT_TRUE(object.ok());
  const auto parsed = JsonPath::parse(path);
  EXPECT_TRUE(parsed.ok()) << path << ": " << parsed.error().to_line();
  if (!parsed.ok()) return "?";
  std::string text;
  for (const encoding::Value* value : parsed->select(*object)) text += scalar_text(*value) + ";";
  return text;
}

TEST(JsonPath, LeadsToWhatKubectlFinds) {
  for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
           {"{.status.phase}", "Running;"},
           {"status.phase", "Running;"},
           {"{$.status.ready}", "true;"},
           {"{ .status.count }", "3;"},
           {"{.status.nothing}", ";"},
           {"{.status.missing}", ""},
           {"{.status.phase.deeper}", ""},
           {"{.status.list[0]}", "a;"},
           {"{.status.list[-1]}", "c;"},
           {"{.status.list[3]}", ""},
           {"{.status.list[*]}", "a;b;c;"},
           {"{.status['phase']}", "Running;"},
           {"{.metadata.annotations['example.com/a.b']}", "yes-it-is;"},
           {R"({.metadata.annotations.example\.com/a\.b})", "yes-it-is;"},
           {R"({.status.conditions[?(@.type=="Ready")].status})", "True;"},
           {R"({.status.conditions[?(@.type == 'Ready')].status})", "True;"},
           {R"({.status.conditions[?(@.type!="Ready")].type})", "Synced;"},
           {"{.status.conditions[?(@.generation==3)].type}", "Synced;"},
           {R"({.status.conditions[?(@.generation=="3")].type})", ""},
           {"{.status.conditions[?(@.generation)].type}", "Ready;Synced;"},
           {"{.status.conditions[*].type}", "Ready;Synced;"}})
    EXPECT_EQ(selected(path), expected) << path;
}

TEST(JsonPath, SaysWhatIsWrongAndWhere) {
  for (const auto& [path, piece] : std::vector<std::pair<std::string, std::string>>{
           {"", "names no field"},
           {"{}", "names no field"},
           {"{.a", "closing }"},
           {".a}", "no { for this }"},
           {"{.a}x", "nothing may follow"},
           {"{.}", "name of a field is missing (at character 3)"},
           {"{..a}", "recursive"},
           {"{.a[}", "holds a number"},
           {"{.a[1}", "closing ]"},
           {"{.a[1:2]}", "slices"},
           {"{.a['b]}", "quote"},
           {"{.a[?(@.b=1)]}", "written =="},
           {"{.a[?(@.b>1)]}", "only == and !="},
           {"{.a[?(@.b==)]}", "a value is"},
           {"{.a[?(b)]}", "begins with @"},
           {"{.a b}", "a . or a [ is missing"}}) {
    const auto parsed = JsonPath::parse(path);
    ASSERT_FALSE(parsed.ok()) << path;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_NE(parsed.error().message.find(piece), std::string::npos)
        << path << ": " << parsed.error().message;
  }
}

TEST(JsonPath, AFilterHoldsNoOther) {
  std::string path = "{.a";
  for (int i = 0; i < 200'000; ++i) path += i % 2 == 0 ? "[?(@" : ".[ ?(@";
  const auto parsed = JsonPath::parse(path);
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("only fields can stand below @"), std::string::npos);
  EXPECT_TRUE(JsonPath::parse("{.a[?(@.b==1)].c[?(@.d)]}").ok()) << "one after the other";
}

}  // namespace
}  // namespace mist::apimachinery
