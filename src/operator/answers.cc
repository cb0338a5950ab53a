#include "operator/answers.h"

#include <algorithm>

#include "base/doubled_pause.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::operator_ {
namespace {

// More of them would take long enough for others to wait.
constexpr std::size_t kMostAtOnce = 64;
// Of these so many are for instances that begin, where many go on; fewer go on at a time then, and each is
// finished sooner.
constexpr std::size_t kForNew = 4, kFilledByNew = 16;

}  // namespace

// With another wish the questions are others, but the instance stays a slow one until it was quick.
void Answers::begin(const Instance& instance, const crypto::Digest& wish) {
  if (!is_slow(instance)) {
    wishes_.erase(instance);
    return;
  }
  const auto [known, is_first] = wishes_.try_emplace(instance, wish);
  if (is_first || known->second == wish) return;
  known->second = wish;
  for (auto each = slow_.lower_bound({instance, {}}); each != slow_.end() && each->first.first == instance;
       ++each)
    each->second = {};
}

// The same may be asked with several inputs in one look, as long as it isn't known which nodes are wanted.
std::optional<Result<Value>> Answers::find(const Instance& instance, const std::string& what,
                                           const Value& input, SteadyTime now) {
  if (const auto slow = slow_.find({instance, what});
      slow != slow_.end() && slow->second.failure && slow->second.until > now)
    return Result<Value>(*slow->second.failure);
  auto& entries = entries_[{instance, what}];
  const crypto::Digest question = crypto::sha256(encoding::to_json(input, encoding::JsonStyle::Exact));
  const auto known =
      std::ranges::find_if(entries, [&](const auto& each) { return each->question == question; });
  if (known == entries.end()) {
    const bool is_first = is_new(instance);
    const Question asked = entries.emplace_back(std::make_shared<Entry>(instance, what, question, input));
    if (is_slow(instance))
      open_of_slow_.push_back(asked);
    else
      (is_first ? open_of_new_ : open_).push_back(asked);
    return std::nullopt;
  }
  (*known)->asked = true;
  if (!(*known)->is_answered()) return std::nullopt;
  if (const std::string* const text = std::get_if<std::string>(&(*known)->answer))
    return encoding::parse_json(*text);
  return Result<Value>(*std::get<std::unique_ptr<const Error>>((*known)->answer));
}

// Nothing that it asked was answered yet.
bool Answers::is_new(const Instance& instance) const {
  for (auto each = entries_.lower_bound({instance, {}});
       each != entries_.end() && each->first.first == instance; ++each)
    if (std::ranges::any_of(each->second, [](const auto& entry) { return entry->is_answered(); }))
      return false;
  return true;
}

bool Answers::is_slow(const Instance& instance) const {
  const auto first = slow_.lower_bound({instance, {}});
  return first != slow_.end() && first->first.first == instance;
}

// Those of the instance for which that holds.
template <typename Which>
void Answers::erase(const Instance& instance, Which which) {
  for (auto each = entries_.lower_bound({instance, {}});
       each != entries_.end() && each->first.first == instance;) {
    std::erase_if(each->second, [&](const auto& entry) { return which(*entry); });
    each = each->second.empty() ? entries_.erase(each) : std::next(each);
  }
}

void Answers::finish(const Instance& instance, SteadyTime now) {
  erase(instance, [](Entry& entry) { return !std::exchange(entry.asked, false); });
  // A resting question is no entry.
  for (auto each = slow_.lower_bound({instance, {}}); each != slow_.end() && each->first.first == instance;)
    each = each->second.until > now || entries_.contains(each->first) ? std::next(each) : slow_.erase(each);
}

// Those that are being evaluated are answered in vain.
void Answers::drop_open(const Instance& instance) {
  erase(instance, [](const Entry& entry) { return !entry.is_answered(); });
}

void Answers::forget(const Instance& instance) {
  erase(instance, [](const Entry& /*entry*/) { return true; });
  std::erase_if(slow_, [&](const auto& each) { return each.first.first == instance; });
  wishes_.erase(instance);
  begun_.erase(instance);
}

void Answers::clear() {
  entries_.clear();
  open_.clear();
  open_of_new_.clear();
  open_of_slow_.clear();
  begun_.clear();
  slow_.clear();
  wishes_.clear();
}

std::optional<SteadyTime> Answers::next(const Instance& instance, SteadyTime now) const {
  std::optional<SteadyTime> first;
  for (auto each = slow_.lower_bound({instance, {}}); each != slow_.end() && each->first.first == instance;
       ++each)
    if (each->second.until > now && (!first || each->second.until < *first)) first = each->second.until;
  return first;
}

Answers::Batch Answers::take(SteadyTime now) {
  Batch batch;
  std::erase_if(open_of_new_, [](const auto& each) { return each.use_count() == 1; });
  move(open_, kMostAtOnce - std::min(kForNew, open_of_new_.size()), batch);
  const std::size_t most = std::max(batch.size() + kForNew, kFilledByNew);
  while (batch.size() < most && !open_of_new_.empty() && may_begin(open_of_new_.front()->instance, now))
    move(open_of_new_, batch.size() + 1, batch);
  return batch;
}

bool Answers::may_begin(const Instance& instance, SteadyTime now) {
  std::erase_if(begun_, [&](const auto& each) { return now - each.second >= kLongestBegun; });
  if (begun_.size() >= kMostBegun && !begun_.contains(instance)) return false;
  begun_.try_emplace(instance, now);
  return true;
}

std::optional<Answers::Instance> Answers::waiting() const {
  return open_.empty() && !open_of_new_.empty() ? std::optional(open_of_new_.front()->instance)
                                                : std::nullopt;
}

// Until the batch has that many.
void Answers::move(std::deque<Question>& from, std::size_t most, Batch& batch) {
  while (!from.empty() && batch.size() < most) {
    // A question that isn't kept any more is asked by nobody.
    if (from.front().use_count() > 1) batch.push_back(std::move(from.front()));
    from.pop_front();
  }
}

Answers::Question Answers::take_slow() {
  Batch one;
  move(open_of_slow_, 1, one);
  return one.empty() ? nullptr : std::move(one.front());
}

std::vector<Value> Answers::inputs(const Batch& batch) {
  std::vector<Value> all;
  for (const auto& each : batch) all.push_back(each->input);
  return all;
}

bool Answers::is_wanted(const Question& question) const {
  const auto entries = entries_.find({question->instance, question->what});
  return entries != entries_.end() && std::ranges::find(entries->second, question) != entries->second.end();
}

void Answers::put(const Question& question, Result<Value> answer) {
  if (!is_wanted(question)) return;
  if (answer.ok()) {
    std::string text = encoding::to_json(*answer, encoding::JsonStyle::Exact);
    text.shrink_to_fit();
    question->answer = std::move(text);
  } else {
    question->answer = std::make_unique<const Error>(std::move(answer).error());
  }
  question->input = {};
  // It ended, after however long.
  if (const auto slow = slow_.find({question->instance, question->what}); slow != slow_.end())
    slow->second = {};
}

void Answers::defer(const Question& question) {
  if (!is_wanted(question)) return;
  slow_.try_emplace({question->instance, question->what});
  open_of_slow_.push_back(question);
}

Duration Answers::rest(const Question& question, Error failure, Now now) {
  if (!is_wanted(question)) return {};
  const Asked asked(question->instance, question->what);
  Slow& slow = slow_[asked];
  const Duration rest = doubled_pause(kFirstRest, slow.times++, kLongestRest);
  slow.until = now.steady + std::chrono::duration_cast<SteadyTime::duration>(rest);
  failure.message +=
      fmt::format("; it is evaluated again at {}, or when the instance or its blueprint changes",
                  format_time(now.wall + std::chrono::duration_cast<WallTime::duration>(rest)));
  slow.failure = std::move(failure);
  // Asked then with whatever the input is.
  entries_.erase(asked);
  return rest;
}

void Answers::quicken(const Question& question) { slow_.erase({question->instance, question->what}); }

}  // namespace mist::operator_
