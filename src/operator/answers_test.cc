#include "operator/answers.h"

#include <gtest/gtest.h>

#include <set>

namespace mist::operator_ {
namespace {

const Answers::Instance kOne{"shop", "one"}, kOther{"shop", "other"};
const Error kLimit = error(ErrorKind::Trap, "it used more than 60 s");

SteadyTime at(int seconds) { return SteadyTime(std::chrono::seconds(seconds)); }
Answers::Now now_at(int seconds) { return {at(seconds), WallTime(std::chrono::seconds(seconds))}; }
crypto::Digest wish(std::string_view text) { return crypto::sha256(crypto::as_bytes(text)); }

// As it is asked where time doesn't matter.
class Asked : public Answers {
 public:
  auto find(const Instance& instance, const std::string& what, const Value& input, int seconds = 0) {
    return Answers::find(instance, what, input, at(seconds));
  }
  void finish(const Instance& instance, int seconds = 0) { Answers::finish(instance, at(seconds)); }
  Batch take(int seconds = 0) { return Answers::take(at(seconds)); }
};

std::vector<Answers::Instance> answer_all(Asked& answers) {
  const Answers::Batch batch = answers.take();
  const std::vector<Value> inputs = Answers::inputs(batch);
  std::vector<Answers::Instance> whose;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    whose.push_back(Answers::instance(batch[i]));
    answers.put(batch[i], Value::object({{"of", inputs[i]}}));
  }
  return whose;
}

TEST(Answers, OpenQuestionsAreAnsweredTogetherAndOnce) {
  Asked answers;
  EXPECT_FALSE(answers.find(kOne, "a", Value(1)));
  EXPECT_FALSE(answers.find(kOther, "a", Value(2)));
  EXPECT_FALSE(answers.find(kOne, "a", Value(1)));
  const Answers::Batch batch = answers.take();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_TRUE(answers.take().empty());
  EXPECT_EQ(Answers::instance(batch[0]), kOne);
  answers.put(batch[0], Value("x"));
  answers.put(batch[1], error(ErrorKind::Invalid, "no"));
  EXPECT_EQ(**answers.find(kOne, "a", Value(1)), Value("x"));
  EXPECT_FALSE(answers.find(kOther, "a", Value(2))->ok());
}

TEST(Answers, SeveralInputsOfOneLookAreKept) {
  Asked answers;
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
  Asked answers;
  const auto named = [](int number) { return Answers::Instance{"shop", std::to_string(number)}; };
  for (int i = 0; i < 64; ++i) answers.find(named(i), "a", Value(1));
  for (int i = 0; i < 4; ++i) answer_all(answers);
  for (int i = 0; i < 20; ++i) answers.settle(named(i));
  for (int i = 100; i < 200; ++i) answers.find(named(i), "a", Value(1));
  for (int i = 0; i < 64; ++i) answers.find(named(i), "b", Value(1));
  auto whose = answer_all(answers);
  ASSERT_EQ(whose.size(), 64U);
  EXPECT_EQ(whose[0], named(0));
  EXPECT_EQ(whose[59], named(59));
  EXPECT_EQ(whose[60], named(100));
  // Where little goes on, more begin.
  whose = answer_all(answers);
  ASSERT_EQ(whose.size(), 16U);
  EXPECT_EQ(whose[3], named(63));
  EXPECT_EQ(whose[4], named(104));
}

TEST(Answers, WhatIsAskedNoMoreIsNotEvaluated) {
  Asked answers;
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

// Each of them would take longer, and its status would be written on the way.
TEST(Answers, NotTooManyInstancesAreBetweenBeginAndEnd) {
  Asked answers;
  std::set<Answers::Instance> begun;
  const auto begin = [&](int seconds) {
    while (true) {
      const Answers::Batch batch = answers.take(seconds);
      if (batch.empty()) return;
      for (const Answers::Question& each : batch) {
        begun.insert(Answers::instance(each));
        answers.put(each, Value("x"));
      }
    }
  };
  for (std::size_t i = 0; i < 3 * kMostBegun; ++i) answers.find({"shop", std::to_string(i)}, "a", Value(1));
  begin(0);
  EXPECT_EQ(begun.size(), kMostBegun);
  ASSERT_TRUE(answers.waiting());
  EXPECT_FALSE(begun.contains(*answers.waiting()));
  const Answers::Instance first = *begun.begin();
  answers.find(first, "b", Value(1));
  EXPECT_FALSE(answers.waiting()) << "it can be answered";
  EXPECT_EQ(answers.take(0).size(), 1U) << "what has begun goes on";
  answers.settle(first);
  answers.forget(*std::next(begun.begin()));
  begin(2);
  EXPECT_EQ(begun.size(), kMostBegun + 2);
  begin(3);
  EXPECT_EQ(begun.size(), 2 * kMostBegun) << "the others of the first ones take too long";
  for (const Answers::Instance& each : begun) answers.settle(each);
  begin(3);
  EXPECT_EQ(begun.size(), 3 * kMostBegun);
  EXPECT_FALSE(answers.waiting());
}

TEST(Answers, NobodyEvaluatesForAnInstanceThatIsGone) {
  Asked answers;
  answers.find(kOne, "a", Value(1));
  answers.find(kOther, "a", Value(1));
  answers.forget(kOne);
  EXPECT_EQ(answers.take().size(), 1U);
}

TEST(Answers, WhatTakesLongIsAskedBesideTheOthers) {
  Asked answers;
  answers.find(kOne, "a", Value(1));
  answers.defer(answers.take().front());
  EXPECT_FALSE(answers.find(kOne, "a", Value(1)));
  EXPECT_FALSE(answers.find(kOne, "b", Value(1)));
  EXPECT_FALSE(answers.find(kOther, "a", Value(1)));
  const Answers::Batch others = answers.take();
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(Answers::instance(others.front()), kOther);
  const Answers::Question slow = answers.take_slow();
  ASSERT_TRUE(slow);
  answers.put(slow, Value("x"));
  EXPECT_EQ(**answers.find(kOne, "a", Value(1)), Value("x"));
  EXPECT_TRUE(answers.is_slow(kOne)) << "it ended, after long";
  const Answers::Question next = answers.take_slow();
  ASSERT_TRUE(next);
  answers.put(next, Value("y"));
  EXPECT_FALSE(answers.take_slow());
  answers.quicken(slow);
  EXPECT_FALSE(answers.is_slow(kOne));
}

TEST(Answers, WhatReachedALimitRestsLongerEachTime) {
  Asked answers;
  answers.begin(kOne, wish("a"));
  answers.find(kOne, "a", Value(1));
  EXPECT_EQ(answers.rest(answers.take().front(), kLimit, now_at(0)), kFirstRest);
  int now = 0;
  for (Duration rest = kFirstRest;; rest = std::min<Duration>(2 * rest, kLongestRest)) {
    EXPECT_EQ(answers.next(kOne, at(now)), at(now) + rest);
    const auto said = answers.find(kOne, "a", Value(1), now + 9);
    ASSERT_TRUE(said && !said->ok());
    const auto until = now + static_cast<int>(rest / std::chrono::seconds(1));
    EXPECT_NE(said->error().message.find("it used more than 60 s; it is evaluated again at " +
                                         format_time(WallTime(std::chrono::seconds(until)))),
              std::string::npos);
    EXPECT_FALSE(answers.find(kOne, "a", Value(2), until - 1)->ok()) << "another input rests, too";
    EXPECT_FALSE(answers.take_slow());
    now = until;
    EXPECT_FALSE(answers.next(kOne, at(now)));
    EXPECT_FALSE(answers.find(kOne, "a", Value(1), now)) << "it is asked again";
    EXPECT_TRUE(answers.take().empty()) << "beside the others";
    const Answers::Question question = answers.take_slow();
    ASSERT_TRUE(question);
    if (rest == kLongestRest) break;
    answers.rest(question, kLimit, now_at(now));
    answers.finish(kOne, now);
    EXPECT_TRUE(answers.is_slow(kOne));
  }
}

TEST(Answers, AnotherWishEndsTheRestButNotThatItIsSlow) {
  Asked answers;
  answers.find(kOne, "a", Value(1));
  answers.rest(answers.take().front(), kLimit, now_at(0));
  answers.begin(kOne, wish("a"));
  EXPECT_TRUE(answers.find(kOne, "a", Value(1), 1));
  answers.begin(kOne, wish("a"));
  EXPECT_TRUE(answers.find(kOne, "a", Value(1), 1));
  answers.begin(kOne, wish("b"));
  EXPECT_FALSE(answers.find(kOne, "a", Value(2), 1));
  EXPECT_TRUE(answers.take().empty());
  const Answers::Question question = answers.take_slow();
  ASSERT_TRUE(question);
  EXPECT_EQ(answers.rest(question, kLimit, now_at(2)), kFirstRest) << "the pauses begin again";
}

TEST(Answers, NothingRestsForAnInstanceThatIsGoneOrAnotherProgram) {
  Asked answers;
  answers.find(kOne, "a", Value(1));
  answers.find(kOther, "a", Value(1));
  for (const Answers::Question& each : answers.take()) answers.rest(each, kLimit, now_at(0));
  answers.forget(kOne);
  EXPECT_FALSE(answers.is_slow(kOne));
  EXPECT_TRUE(answers.is_slow(kOther));
  answers.clear();
  EXPECT_FALSE(answers.is_slow(kOther));
  // A question that is dropped while it is evaluated is nobody's any more.
  answers.find(kOne, "a", Value(1));
  const Answers::Question question = answers.take().front();
  answers.clear();
  EXPECT_EQ(answers.rest(question, kLimit, now_at(0)), Duration());
  EXPECT_FALSE(answers.is_slow(kOne));
}

}  // namespace
}  // namespace mist::operator_
