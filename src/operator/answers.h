#pragma once
// The answers of a blueprint's program: of functions of nodes and of contracts, by instance and question. A
// question that has no answer yet is open, and open ones are evaluated together: evaluating many costs little
// more than evaluating one, and they gather while others are evaluated. Those of instances that had answers
// before come first, so that begun work is finished; a part of each turn is for new ones, as long as not too
// many have begun. Only the digest of an answered question is kept.
//
// A question that takes long, or that reaches a limit of the sandbox, makes its instance a slow one: all its
// questions are evaluated alone and beside the others (take_slow()). A question that reached a limit rests,
// for longer each time, until its instance or the program changes. One thread at a time.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "kube/informer.h"
#include "operator/words.h"

namespace mist::operator_ {

/// How long what reached a limit rests after the first time; doubled with each further one.
inline constexpr Duration kFirstRest = std::chrono::seconds(10);
inline constexpr Duration kLongestRest = std::chrono::minutes(30);
/// So many instances at a time are between their first answer and the look that finds nothing left to do.
/// More would each take longer, and be told of on the way. One that takes longer than kLongestBegun, as where
/// the server doesn't answer, makes room for another.
inline constexpr std::size_t kMostBegun = 64;
inline constexpr Duration kLongestBegun = std::chrono::seconds(3);

class Answers {
 public:
  using Instance = kube::Informer::Key;
  struct Now {
    SteadyTime steady;
    WallTime wall;  ///< for people
    static Now of(const Clock& clock) { return {clock.steady_now(), clock.now()}; }
  };

  /// The instance is looked at, as it is: `wish` is a digest of what its author gives. With another one what
  /// rests is asked again.
  void begin(const Instance& instance, const crypto::Digest& wish);
  /// `what` is asked, with that input. Nothing: nobody has answered yet; it is open.
  std::optional<Result<Value>> find(const Instance& instance, const std::string& what, const Value& input,
                                    SteadyTime now);
  /// Its questions that nobody evaluates yet are asked no more.
  void drop_open(const Instance& instance);
  /// Drops all that nobody has asked of the instance since the last call.
  void finish(const Instance& instance, SteadyTime now);
  void forget(const Instance& instance);
  void clear();
  /// When the first of what rests of the instance is asked again.
  std::optional<SteadyTime> next(const Instance& instance, SteadyTime now) const;

 private:
  // None yet; as JSON, which takes less memory than a Value; or an error, which is rare and large.
  using Answer = std::variant<std::monostate, std::string, std::unique_ptr<const Error>>;
  struct Entry {
    bool is_answered() const { return !std::holds_alternative<std::monostate>(answer); }
    Instance instance;
    std::string what;
    crypto::Digest question;  // of the input
    Value input;              // until it is answered
    Answer answer = {};
    bool asked = true;  // since the last finish()
  };

 public:
  /// An open question, which is open no more.
  using Question = std::shared_ptr<Entry>;
  using Batch = std::vector<Question>;
  /// Of instances that aren't slow.
  Batch take(SteadyTime now);
  /// Nothing is left to do of the instance for now: another one may begin.
  void settle(const Instance& instance) { begun_.erase(instance); }
  /// One that can't begin yet, although nothing else is open.
  std::optional<Instance> waiting() const;
  /// Of those that are; null: there is none.
  Question take_slow();
  static std::vector<Value> inputs(const Batch& batch);
  static const Value& input(const Question& question) { return question->input; }
  static const Instance& instance(const Question& question) { return question->instance; }
  /// Whether somebody still wants to know the answer.
  bool is_wanted(const Question& question) const;
  bool is_slow(const Instance& instance) const;
  /// The answer that came in the usual time: a value, or an error of Nickel's (Invalid).
  void put(const Question& question, Result<Value> answer);
  /// It takes longer than others can wait: it is for take_slow().
  void defer(const Question& question);
  /// The evaluation failed otherwise, at a limit of the sandbox: how long it rests.
  Duration rest(const Question& question, Error failure, Now now);
  /// It was quick although its instance was slow.
  void quicken(const Question& question);

 private:
  // A question that took long or reached a limit.
  struct Slow {
    int times = 0;  // that it reached a limit, one after the other
    SteadyTime until{};
    std::optional<Error> failure = {};
  };
  using Asked = std::pair<Instance, std::string>;

  bool is_new(const Instance& instance) const;
  template <typename Which>
  void erase(const Instance& instance, Which which);
  static void move(std::deque<Question>& from, std::size_t most, Batch& batch);
  bool may_begin(const Instance& instance, SteadyTime now);

  std::map<Asked, std::vector<Question>> entries_;
  std::deque<Question> open_, open_of_new_, open_of_slow_;
  std::map<Instance, SteadyTime> begun_;
  std::map<Asked, Slow> slow_;
  std::map<Instance, crypto::Digest> wishes_;  // of slow instances
};

}  // namespace mist::operator_
