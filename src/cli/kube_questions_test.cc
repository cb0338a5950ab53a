#include "cli/kube_questions.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

using encoding::Value;
using package::AnswerType;

struct KubeQuestions : ::testing::Test {
  KubeQuestions() { fake.in.terminal = fake.err.terminal = true; }
  Result<Answered> ask(std::deque<std::string> lines) {
    fake.in.lines = std::move(lines);
    return ask_question(fake.machine, question);
  }
  testing::FakeMachine fake;
  package::Question question{.name = "admin.password", .prompt = "Password", .secret = true};
};

TEST_F(KubeQuestions, AnEmptyLineKeepsTheDefaultOfASecret) {
  question.has_default = true;
  const auto kept = ask({""});
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  EXPECT_EQ(fake.err.take(), "Password [keep the default] \n");
  EXPECT_TRUE(kept->keeps_default);
  EXPECT_TRUE(kept->hidden.empty());
  EXPECT_EQ(kept->value.flag, package::ValuesFlag::SetJson);
  EXPECT_EQ(kept->value.text, R"({"admin":{"password":{"kpm.take-default":true}}})");
  const auto given = ask({"mine"});
  ASSERT_TRUE(given.ok());
  EXPECT_FALSE(given->keeps_default);
  EXPECT_EQ(given->value.text, R"({"admin":{"password":"mine"}})");
  ASSERT_EQ(given->hidden.size(), 1U);
  EXPECT_EQ(given->hidden.begin()->second.reveal(), "mine");
}

TEST_F(KubeQuestions, AnEmptySecretWithoutADefaultIsAskedForAgain) {
  const auto given = ask({"", " blanks count "});
  ASSERT_TRUE(given.ok()) << given.error().to_line();
  EXPECT_EQ(given->value.text, R"({"admin":{"password":" blanks count "}})");
  EXPECT_EQ(fake.err.take(), "Password \nThat doesn't fit.\nPassword \n");
  EXPECT_EQ(ask({"", "", ""}).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(ask({}).error().kind, ErrorKind::Cancelled);
}

TEST_F(KubeQuestions, AShownDefaultBecomesTheAnswer) {
  question = {.name = "count",
              .prompt = "How many?",
              .type = AnswerType::Integer,
              .default_answer = Value(2),
              .has_default = true};
  const auto taken = ask({"many", " "});
  ASSERT_TRUE(taken.ok()) << taken.error().to_line();
  EXPECT_EQ(fake.err.take(), "How many? [2] That doesn't fit.\nHow many? [2] ");
  EXPECT_FALSE(taken->keeps_default);
  EXPECT_EQ(taken->value.text, R"({"count":2})");
  EXPECT_TRUE(taken->hidden.empty()) << "everybody may see it";
}

}  // namespace
}  // namespace mist::cli
