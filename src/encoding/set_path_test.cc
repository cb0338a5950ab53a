#include "encoding/set_path.h"

#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::encoding {
namespace {

std::string after(std::string_view json, std::string_view set, SetValues values = SetValues::Typed) {
  Value target = *parse_json(json);
  const Status status = apply_set(target, set, values);
  return status.ok() ? to_json(target) : "error: " + status.error().to_line();
}

TEST(SetPath, FollowsHelmsGrammar) {
  struct Case {
    std::string_view set, want;
  };
  const Case cases[] = {
      {"", "{}"},
      {"a=1", R"({"a":1})"},
      {"a=1,", R"({"a":1})"},
      {"a=1,b=x", R"({"a":1,"b":"x"})"},
      {"a.b.c=true", R"({"a":{"b":{"c":true}}})"},
      {"a.b[0].c=1", R"({"a":{"b":[{"c":1}]}})"},
      {"a[1]=x", R"({"a":[null,"x"]})"},
      {"a[0][1]=x", R"({"a":[[null,"x"]]})"},
      {"a[0]=x,a[1]=y", R"({"a":["x","y"]})"},
      {"a={b,c}", R"({"a":["b","c"]})"},
      {"a={}", R"({"a":[]})"},
      {"a=TRUE,b=False,c={Null,x}", R"({"a":true,"b":false,"c":[null,"x"]})"},
      {"a=b\\", R"({"a":"b"})"},
      {"a={1,true,null,x y}", R"({"a":[1,true,null,"x y"]})"},
      {"a={b},c=d", R"({"a":["b"],"c":"d"})"},
      {"a=", R"({"a":""})"},
      {"a=,b=1", R"({"a":"","b":1})"},
      {"a=null", R"({"a":null})"},
      {"a=b=c", R"({"a":"b=c"})"},
      {"a=b.c[0]", R"({"a":"b.c[0]"})"},
      {"a=x\\,y", R"({"a":"x,y"})"},
      {"kubernetes\\.io/os=linux", R"({"kubernetes.io/os":"linux"})"},
      {"a=\\{b", R"({"a":"{b"})"},
      {"a=c:\\\\d", R"({"a":"c:\\d"})"},
      {"a=0", R"({"a":0})"},
      {"a=-5", R"({"a":-5})"},
      {"a=+5", R"({"a":5})"},
      {"a=007", R"({"a":"007"})"},
      {"a=1.10", R"({"a":"1.10"})"},
      {"a=9223372036854775808", R"({"a":"9223372036854775808"})"},
      {"a=é", R"({"a":"é"})"},
      {"a= b", R"({"a":" b"})"},
  };
  for (const Case& one : cases) EXPECT_EQ(after("{}", one.set), one.want) << one.set;
}

TEST(SetPath, EmptyItemsOfListsStayOnlyForCharts) {
  const auto set = [](std::string_view text, SetLists lists) {
    Value target = Value::object();
    EXPECT_TRUE(apply_set(target, text, SetValues::Typed, lists).ok());
    return to_json(target);
  };
  EXPECT_EQ(set("a={},b={x,}", SetLists::AsMeant), R"({"a":[],"b":["x"]})");
  EXPECT_EQ(set("a={},b={x,}", SetLists::AsHelm), R"({"a":[""],"b":["x",""]})");
}

TEST(SetPath, StringsStayText) {
  EXPECT_EQ(after("{}", "a=1,b=true,c={1,null}", SetValues::Strings),
            R"({"a":"1","b":"true","c":["1","null"]})");
}

TEST(SetPath, KeepsWhatIsBeside) {
  EXPECT_EQ(after(R"({"a":{"b":1,"c":2},"l":[1,2]})", "a.b=5,l[1]=x"), R"({"a":{"b":5,"c":2},"l":[1,"x"]})");
  EXPECT_EQ(after(R"({"a":null})", "a.b=1"), R"({"a":{"b":1}})");
}

TEST(SetPath, SaysWhereItIsWrong) {
  struct Case {
    std::string_view set;
    std::uint32_t column;
  };
  const Case cases[] = {{"a", 2},        {"a,b=1", 2},  {"=1", 1},      {"a..b=1", 3},     {"a[=1", 3},
                        {"a[x]=1", 3},   {"a[0=1", 4},  {"a[0]b=1", 5}, {".a=1", 1},       {"a.=1", 3},
                        {"b=1,a={x", 7}, {"a={x}y", 6}, {"a[-1]=1", 3}, {"a[70000]=1", 3}, {"é[x]=1", 3}};
  for (const Case& one : cases) {
    const auto result = parse_set(one.set);
    ASSERT_FALSE(result.ok()) << one.set;
    EXPECT_EQ(result.error().where->column, one.column) << one.set << ": " << result.error().to_line();
    EXPECT_EQ(result.error().where->excerpt, one.set);
  }
}

TEST(SetPath, RefusesToReplaceAScalarByAMapping) {
  EXPECT_EQ(after(R"({"a":{"b":1}})", "a.b.c=1"),
            "error: cannot set \"a.b.c\": \"a.b\" is of type integer, not object");
  EXPECT_EQ(after(R"({"a":{}})", "a[0]=1"), "error: cannot set \"a[0]\": \"a\" is of type object, not array");
  EXPECT_EQ(after(R"({"a":1})", "a=null,a.b=2"), R"({"a":{"b":2}})");
}

TEST(SetPath, TheListsOfAPathHaveABoundTogether) {
  EXPECT_NE(after("{}", "a[40000][20000]=1").substr(0, 5), "error");
  EXPECT_EQ(after("{}", "a[40000][40000]=1"),
            "error: the path \"a[40000][40000]\" needs more than 65536 list items");
}

TEST(SetPath, PathsReadBack) {
  for (const std::string_view text : {"a", "a.b[0].c", "x\\.y/z[3][4]", "a\\=b"})
    EXPECT_EQ(to_string(*parse_set_path(text)), text);
  EXPECT_FALSE(parse_set_path("a=1").ok());
  EXPECT_FALSE(parse_set_path("").ok());
}

}  // namespace
}  // namespace mist::encoding
