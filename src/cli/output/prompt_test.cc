#include "cli/output/prompt.h"

#include <gtest/gtest.h>

#include "cli/parse/flags.h"
#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

constexpr FlagGroup kPromptGroups[] = {kConfirmFlags};
constexpr Command kDelete{.path = "delete", .flags = kPromptGroups};

struct Prompt : ::testing::Test {
  void use_terminal() { fake.in.terminal = fake.err.terminal = true; }
  bool ask(std::deque<std::string> lines) {
    fake.in.lines = std::move(lines);
    return confirm(fake.machine, Invocation(kDelete), "Delete it?").value_or(false);
  }
  testing::FakeMachine fake;
};

TEST_F(Prompt, AsksUntilItIsAnswered) {
  use_terminal();
  EXPECT_TRUE(ask({"what", "y"}));
  EXPECT_EQ(fake.err.take(), "Delete it? [y/N] Delete it? [y/N] ");
  EXPECT_TRUE(ask({"yes"}));
  EXPECT_FALSE(ask({"n", "y"}));
  EXPECT_FALSE(ask({""}));
  EXPECT_FALSE(ask({}));
}

TEST_F(Prompt, AsksForALineOnATerminalOnly) {
  const Question question{"Password: ", "--password-stdin"};
  const auto refused = ask_secret(fake.machine, Invocation(kDelete), question);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  EXPECT_EQ(refused.error().hint, "add --password-stdin");
  use_terminal();
  fake.in.lines = {" alice ", " blanks count "};
  EXPECT_EQ(*cli::ask(fake.machine, Invocation(kDelete), {"User: ", "-u NAME"}), "alice");
  EXPECT_EQ(ask_secret(fake.machine, Invocation(kDelete), question)->reveal(), " blanks count ");
  EXPECT_EQ(fake.err.take(), "User: Password: \n");
  EXPECT_EQ(cli::ask(fake.machine, Invocation(kDelete), question).error().kind, ErrorKind::Cancelled);
}

TEST_F(Prompt, WhatIsDrawnIsAwayUntilTheAnswer) {
  struct Noting final : Screen {
    explicit Noting(testing::FakeOutput& output) : err(output) {}
    void suspend() override { err.write("<"); }
    void resume() override { err.write(">"); }
    testing::FakeOutput& err;
  } screen(fake.err);
  use_terminal();
  fake.machine.screen = &screen;
  EXPECT_TRUE(ask({"y"}));
  EXPECT_EQ(fake.err.take(), "<Delete it? [y/N] >");
}

TEST_F(Prompt, AnInterruptedQuestionEndsItsLineAboveWhatIsDrawn) {
  struct : Screen {
    void suspend() override {}
    void resume() override {}
  } screen;
  fake.machine.screen = &screen;
  use_terminal();
  std::stop_source stop;
  stop.request_stop();
  fake.machine.context = Context(stop.get_token());
  const auto answer = confirm(fake.machine, Invocation(kDelete), "Delete it?");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::Cancelled);
  EXPECT_EQ(fake.err.take(), "Delete it? [y/N] \n");
}

TEST_F(Prompt, YesNeedsNoTerminal) {
  Invocation invocation(kDelete);
  invocation.add_flag(kConfirmFlagList[0], "true");
  EXPECT_TRUE(confirm(fake.machine, invocation, "Delete it?").value_or(false));
  EXPECT_EQ(fake.err.take(), "");
}

TEST_F(Prompt, WithoutTerminalItSaysYesIsNeeded) {
  for (const auto& [in, err] : {std::pair(true, false), {false, true}, {false, false}}) {
    fake.in.terminal = in;
    fake.err.terminal = err;
    const auto answer = confirm(fake.machine, Invocation(kDelete), "Delete it?");
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().kind, ErrorKind::Usage);
    EXPECT_EQ(answer.error().hint, "add --yes");
  }
}

TEST_F(Prompt, AProgramThatReadsEventsIsNotAsked) {
  use_terminal();
  fake.machine.json_events = true;
  const auto answer = confirm(fake.machine, Invocation(kDelete), "Delete it?");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().hint, "add --yes");
  EXPECT_EQ(fake.err.take(), "") << "standard error is JSON lines";
}

TEST_F(Prompt, CtrlCEndsTheQuestion) {
  use_terminal();
  std::stop_source stop;
  stop.request_stop();
  fake.machine.context = Context(stop.get_token());
  const auto answer = confirm(fake.machine, Invocation(kDelete), "Delete it?");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace mist::cli
