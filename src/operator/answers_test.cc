#include "operator/answers.h"

#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

const Answers::Instance kOne{"shop", "one"}, kOther{"shop", "other"};

void answer_all(Answers& answers) {
  const Answers::Batch batch = answers.take();
  std::vector<Result<Value>> said;
  for (const Value& input : Answers::inputs(batch)) said.emplace_back(Value::object({{"of", input}}));
  Answers::put(batch, std::move(said));
}

TEST(Answers, OpenQuestionsAreAnsweredTogetherAndOnce) {
  Answers answers;
  EXPECT_FALSE(answers.find(kOne, "a", Value(1)));
  EXPECT_FALSE(answers.find(kOther, "a", Value(2)));
  EXPECT_FALSE(answers.find(kOne, "a", Value(1)));
  const Answers::Batch batch = answers.take();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_TRUE(answers.take().empty());
  EXPECT_EQ(Answers::put(batch, {Value("x"), error(ErrorKind::Invalid, "no")}),
            (std::vector<Answers::Instance>{kOne, kOther}));
  EXPECT_EQ(**answers.find(kOne, "a", Value(1)), Value("x"));
  EXPECT_FALSE(answers.find(kOther, "a", Value(2))->ok());
}

TEST(Answers, SeveralInputsOfOneLookAreKept) {
  Answers answers;
  for (int round = 0; round < 2; ++round) {
    answers.find(kOne, "a", Value(1));
    answers.find(kOne, "a", Value(2));
    answer_all(answers);
  }
  EXPECT_TRUE(answers.find(kOne, "a", Value(1)));
  EXPECT_TRUE(answers.find(kOne, "a", Value(2)));
  answers.finish(kOne);
  EXPECT_TRUE(answers.find(kOne, "a", Value(2)));
  answers.finish(kOne);
  EXPECT_FALSE(answers.find(kOne, "a", Value(1))) << "nobody had asked that in the last look";
}

TEST(Answers, WhatWasBegunComesFirstAndLeavesAPartToNewOnes) {
  Answers answers;
  const auto named = [](int number) { return Answers::Instance{"shop", std::to_string(number)}; };
  for (int i = 0; i < 64; ++i) answers.find(named(i), "a", Value(1));
  for (int i = 0; i < 4; ++i) answer_all(answers);
  for (int i = 100; i < 200; ++i) answers.find(named(i), "a", Value(1));
  for (int i = 0; i < 64; ++i) answers.find(named(i), "b", Value(1));
  Answers::Batch batch = answers.take();
  auto whose = Answers::put(batch, std::vector<Result<Value>>(batch.size(), Value(1)));
  ASSERT_EQ(whose.size(), 64U);
  EXPECT_EQ(whose[0], named(0));
  EXPECT_EQ(whose[59], named(59));
  EXPECT_EQ(whose[60], named(100));
  // Where little goes on, more begin.
  batch = answers.take();
  whose = Answers::put(batch, std::vector<Result<Value>>(batch.size(), Value(1)));
  ASSERT_EQ(whose.size(), 16U);
  EXPECT_EQ(whose[3], named(63));
  EXPECT_EQ(whose[4], named(104));
}

TEST(Answers, WhatIsAskedNoMoreIsNotEvaluated) {
  Answers answers;
  answers.find(kOne, "a", Value(1));
  answer_all(answers);
  answers.find(kOne, "b", Value(1));
  answers.find(kOther, "b", Value(1));
  answers.drop_open(kOne);
  EXPECT_EQ(answers.take().size(), 1U);
  EXPECT_TRUE(answers.find(kOne, "a", Value(1)));
  EXPECT_FALSE(answers.find(kOne, "b", Value(1)));
  EXPECT_EQ(answers.take().size(), 1U) << "it is asked again";
}

TEST(Answers, NobodyEvaluatesForAnInstanceThatIsGone) {
  Answers answers;
  answers.find(kOne, "a", Value(1));
  answers.find(kOther, "a", Value(1));
  answers.forget(kOne);
  EXPECT_EQ(answers.take().size(), 1U);
  answers.find(kOther, "b", Value(1));
  answers.drop(kOther, "b");
  EXPECT_TRUE(answers.take().empty());
}

}  // namespace
}  // namespace mist::operator_
