#include "blueprint/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blueprint/contracts_library.h"
#include "blueprint/library.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> self_references(std::string_view text) {
  std::vector<std::string> found;
  for (const SelfReference& each : scan(text).self_references)
    found.push_back(each.name + ":" + std::to_string(each.line) + ":" + std::to_string(each.column));
  return found;
}

std::vector<std::string> heads(std::string_view text) {
  std::vector<std::string> found;
  for (const FunctionHead& each : scan(text).functions) {
    std::string line = each.field + ":";
    for (const FunctionHead::Taken& one : each.takes) line += " " + one.name + (one.optional ? "?" : "");
    found.push_back(line + (each.open ? " .." : "") + (each.whole ? " whole" : ""));
  }
  return found;
}

TEST(Scan, FindsWhatFunctionsOfNodesTakeByName) {
  EXPECT_THAT(heads(R"(let { Blueprint, .. } = import "mistletoe.ncl" in
let f = fun { hidden, .. } => { a.b = fun { inner } => 1 } in
{
  kind = { group = "g" },
  nodes = {
    service.own = fun { instance, .. } => { x = fun { not_a_node } => 1 },
    "a b" = { own | doc "fun { no }" = fun { instance, address = ip, ready ? 0, size | Number ? 1 } => [1], policy = 'retain },
    rest.value = fun { instance, ..others } => others,
    all.value = fun e @ { instance, .. } => e.x,
    name.value = fun e => e.x,
    made.own = f 1,
  },
} & { nodes.more.own = (fun { instance, size } => {}) } | Blueprint)"),
              ElementsAre("nodes.service.own: instance ..", "nodes.a b.own: instance address ready? size?",
                          "nodes.rest.value: instance .. whole", "nodes.all.value: instance .. whole",
                          "nodes.more.own: instance size"));
}

TEST(Scan, FindsFieldsThatReferToThemselves) {
  EXPECT_THAT(self_references("{\n  a = a,\n  b = { c = c },\n  d = d + 1, e = f, g.h = h\n}"),
              ElementsAre("a:2:3", "c:3:9"));
  EXPECT_THAT(self_references("fun { phase, .. } => { data = { phase = phase } }"),
              ElementsAre("phase:1:33"));
  EXPECT_THAT(self_references("fun rule => [{ rule = rule.cel, message = m.rule, m = other.m }]"),
              ElementsAre("rule:1:16"));
}

TEST(Scan, TheLibraryHasNoFieldThatRefersToItself) {
  EXPECT_THAT(self_references(kContractsLibrary), IsEmpty());
  EXPECT_THAT(self_references(kLibrary), IsEmpty());
}

TEST(Scan, TakesNoPatternTextOrCommentForARecord) {
  EXPECT_THAT(self_references("fun { a = a, .. } => let { b = b, .. } = x in let c = c in 1"), IsEmpty());
  EXPECT_THAT(self_references("x |> match { 'A { a = a } => 1, _ => 2 }"), IsEmpty());
  EXPECT_THAT(self_references("# { a = a }\n\"{ a = a } %{ \"}\" } { b = b }\""), IsEmpty());
  EXPECT_THAT(self_references("m%\"{ a = a } %{ m%%\"}\"%% } \" { b = b }\"% ++ yaml-s%\"{ c = c }\"%"),
              IsEmpty());
  EXPECT_THAT(self_references("{ include a, b | String | default = c }"), IsEmpty());
}

TEST(Scan, EndsWithTextsThatAreNoNickel) {
  for (const std::string_view text : {"}}}", "{{{", "fun {", "let {", "\"", "m%\"", "\"%{",
                                      "{ a = ", "{ , , = = }", "match {", "in in , ,", "'", "[|", "#"})
    EXPECT_THAT(heads(text), IsEmpty()) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{a=";
  EXPECT_THAT(self_references(deep), IsEmpty());
  deep.clear();
  for (int i = 0; i < 100000; ++i) deep += "\"%{";
  EXPECT_THAT(heads(deep), IsEmpty());
}

}  // namespace
}  // namespace mist::blueprint
