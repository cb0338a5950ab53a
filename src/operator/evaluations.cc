#include "operator/evaluations.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "operator/log_fields.h"

namespace mist::operator_ {
namespace {

// Nickel's own word on the question: the same the next time.
bool is_answer(const Result<Value>& said) { return said.ok() || said.error().kind == ErrorKind::Invalid; }

}  // namespace

void Evaluations::run(const std::string& blueprint, std::unique_lock<std::mutex>& lock,
                      const Context& context) {
  Loaded& loaded = revisions_.of(blueprint);
  slow_.insert(blueprint);
  wake_slow_.notify_all();
  if (std::exchange(loaded.is_evaluating, true)) return;
  while (!context.stop().stop_requested()) {
    const Answers::Batch batch = loaded.answers.take(clock_.steady_now());
    const std::shared_ptr<const blueprint::Evaluator> evaluator = loaded.evaluator;
    if (batch.empty() || !evaluator) break;
    std::optional<std::vector<Value>> together;
    if (batch.size() > 1) {
      const std::vector<Value> inputs = Answers::inputs(batch);
      lock.unlock();
      together = evaluator->answer_together(inputs, context.with_timeout(kTogetherTime));
      lock.lock();
    }
    if (!together) {
      answer_alone(blueprint, batch, *evaluator, lock, context);
      continue;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      loaded.answers.put(batch[i], std::move((*together)[i]));
      wake_({blueprint, Answers::instance(batch[i])});
    }
  }
  loaded.is_evaluating = false;
  if (const auto waiting = loaded.answers.waiting()) wake_later_({blueprint, *waiting});
}

// Each is told at once: the next may take as long as it is allowed to.
void Evaluations::answer_alone(const std::string& blueprint, const Answers::Batch& batch,
                               const blueprint::Evaluator& evaluator, std::unique_lock<std::mutex>& lock,
                               const Context& context) {
  Answers& answers = revisions_.of(blueprint).answers;
  for (const Answers::Question& question : batch) {
    if (!answers.is_wanted(question)) continue;
    if (answers.is_slow(Answers::instance(question))) {
      answers.defer(question);
      continue;
    }
    const Value input = Answers::input(question);
    lock.unlock();
    auto said = evaluator.answer(input, context.with_timeout(kAloneTime));
    lock.lock();
    if (context.stop().stop_requested()) return;
    if (is_answer(said)) {
      answers.put(question, std::move(said));
    } else if (said.error().kind == ErrorKind::Timeout) {
      answers.defer(question);
      continue;
    } else {
      rest(blueprint, question, said.error());
    }
    wake_({blueprint, Answers::instance(question)});
  }
  slow_.insert(blueprint);
  wake_slow_.notify_all();
}

void Evaluations::run_slow(const Context& context) {
  std::unique_lock lock(mutex_);
  while (wake_slow_.wait(lock, context.stop(), [this] { return !slow_.empty(); })) {
    // One question of each, in turn.
    const std::set<std::string> now = std::exchange(slow_, {});
    for (const std::string& blueprint : now) {
      if (context.stop().stop_requested()) return;
      answer_slow(blueprint, lock, context);
    }
  }
}

void Evaluations::answer_slow(const std::string& blueprint, std::unique_lock<std::mutex>& lock,
                              const Context& context) {
  Loaded& loaded = revisions_.of(blueprint);
  const Answers::Question question = loaded.answers.take_slow();
  const std::shared_ptr<const blueprint::Evaluator> evaluator = loaded.evaluator;
  if (!question || !evaluator) return;
  slow_.insert(blueprint);
  const Value input = Answers::input(question);
  const SteadyTime began = clock_.steady_now();
  lock.unlock();
  auto said = evaluator->answer(input, context.with_timeout(kSlowTime));
  lock.lock();
  if (context.stop().stop_requested()) return;
  if (!is_answer(said)) {
    rest(blueprint, question, said.error());
  } else {
    const bool is_wanted = loaded.answers.is_wanted(question);
    loaded.answers.put(question, std::move(said));
    if (is_wanted && clock_.steady_now() - began < kAloneTime) loaded.answers.quicken(question);
  }
  wake_({blueprint, Answers::instance(question)});
}

void Evaluations::rest(const std::string& blueprint, const Answers::Question& question,
                       const Error& failure) {
  const Duration rest = revisions_.of(blueprint).answers.rest(question, failure, Answers::Now::of(clock_));
  // Of another revision, or an instance that is gone.
  if (rest == Duration()) return;
  const auto& [ns, name] = Answers::instance(question);
  events_.warn(fmt::format("{} {}/{}: {}; it is evaluated again in {} s", blueprint, ns, name,
                           failure.to_line(), std::chrono::duration_cast<std::chrono::seconds>(rest).count()),
               fields_of({blueprint, {ns, name}}, Named::Yes));
}

}  // namespace mist::operator_
