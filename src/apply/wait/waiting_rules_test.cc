#include "apply/wait/waiting_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

TEST(ReadyWhen, ComparesAndExplains) {
  const encoding::Value live = yaml(
      "status: {phase: Pending, ready: false, count: 3, address: '', items: [{ok: yes-so}, {ok: no-not}], "
      "conditions: [{type: Ready, status: 'False'}]}");
  struct Case {
    const char* text;
    bool holds;
    const char* explanation;
  };
  for (const Case& one :
       {Case{"{.status.phase}=Running", false, "{.status.phase} is Pending, not Running"},
        Case{"{.status.phase}=Pending", true, ""}, Case{"{.status.phase} == Pending", true, ""},
        Case{"{.status.phase}='Pending'", true, ""}, Case{".status.phase=Pending", true, ""},
        Case{"{.status.phase}!=Pending", false, "{.status.phase} is still Pending"},
        Case{"{.status.phase}!=Running", true, ""}, Case{"{.status.count}=3", true, ""},
        Case{"{.status.ready}=true", false, "{.status.ready} is false, not true"},
        Case{"{.status.phase}", true, ""}, Case{"{.status.address}", false, "{.status.address} is empty"},
        Case{"{.status.host}", false, "{.status.host} is not there yet"},
        Case{"{.status.host}!=x", false, "{.status.host} is not there yet"},
        Case{"{.status.items[*].ok}=yes-so", false, "{.status.items[*].ok} is no-not, not yes-so"},
        Case{R"({.status.conditions[?(@.type=="Ready")].status}=True)", false,
             R"({.status.conditions[?(@.type=="Ready")].status} is False, not True)"}}) {
    const auto rule = ReadyWhen::parse(one.text);
    ASSERT_TRUE(rule.ok()) << one.text << ": " << rule.error().to_line();
    EXPECT_EQ(rule->holds(live), one.holds) << one.text;
    if (!one.holds) {
      EXPECT_EQ(rule->explain(live), one.explanation) << one.text;
    }
  }
}

TEST(WaitingRules, AreReadFromAnnotations) {
  const auto rules = waiting_rules(
      yaml("metadata: {annotations: {mistletoe.dev/timeout: 10m, mistletoe.dev/ready-when: '{.a}=b'}}"));
  ASSERT_TRUE(rules.ok()) << rules.error().to_line();
  EXPECT_EQ(rules->timeout, Duration(std::chrono::minutes(10)));
  EXPECT_TRUE(rules->ready_when.has_value());
  const auto none = waiting_rules(yaml("metadata: {name: a}"));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->timeout || none->ready_when);
}

TEST(WaitingRules, RefuseWhatCannotBeReadAtItsLine) {
  for (const auto& [text, piece] : std::vector<std::pair<std::string, std::string>>{
           {"mistletoe.dev/ready-when: '{.status.phase'", "closing }"},
           {"mistletoe.dev/ready-when: '{.status.phase}='", "compares with nothing"},
           {"mistletoe.dev/ready-when: 3", "put it in quotes"},
           {"mistletoe.dev/timeout: ten minutes", "no duration"},
           {"mistletoe.dev/timeout: 0s", "not more than nothing"},
           {"mistletoe.dev/timeout: -1m", "not more than nothing"}}) {
    const auto rules = waiting_rules(yaml("metadata:\n  annotations:\n    " + text + "\n"));
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_EQ(rules.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(rules.error().to_line(), HasSubstr(piece));
    ASSERT_TRUE(rules.error().where.has_value()) << text;
    EXPECT_EQ(rules.error().where->line, 3u);
  }
}

}  // namespace
}  // namespace mist::apply
