#include "operator/answers.h"

#include <algorithm>

#include "encoding/json.h"

namespace mist::operator_ {
namespace {

// More of them would take long enough for others to wait.
constexpr std::size_t kMostAtOnce = 64;
// Of these so many are for instances that begin, where many go on; fewer go on at a time then, and each is
// finished sooner.
constexpr std::size_t kForNew = 4, kFilledByNew = 16;

}  // namespace

// The same may be asked with several inputs in one look, as long as it isn't known which nodes are wanted.
std::optional<Result<Value>> Answers::find(const Instance& instance, const std::string& what,
                                           const Value& input) {
  auto& entries = entries_[{instance, what}];
  const crypto::Digest question = crypto::sha256(encoding::to_json(input, encoding::JsonStyle::Exact));
  const auto known =
      std::ranges::find_if(entries, [&](const auto& each) { return each->question == question; });
  if (known == entries.end()) {
    (is_new(instance) ? open_of_new_ : open_)
        .push_back(entries.emplace_back(std::make_shared<Entry>(instance, question, input)));
    return std::nullopt;
  }
  (*known)->asked = true;
  const auto& answer = (*known)->answer;
  if (!answer) return std::nullopt;
  return answer->ok() ? encoding::parse_json(**answer) : Result<Value>(answer->error());
}

// Nothing that it asked was answered yet.
bool Answers::is_new(const Instance& instance) const {
  for (auto each = entries_.lower_bound({instance, {}});
       each != entries_.end() && each->first.first == instance; ++each)
    if (std::ranges::any_of(each->second, [](const auto& entry) { return entry->answer.has_value(); }))
      return false;
  return true;
}

void Answers::drop(const Instance& instance, const std::string& what) { entries_.erase({instance, what}); }

// Those of the instance for which that holds.
template <typename Which>
void Answers::erase(const Instance& instance, Which which) {
  for (auto each = entries_.lower_bound({instance, {}});
       each != entries_.end() && each->first.first == instance;) {
    std::erase_if(each->second, [&](const auto& entry) { return which(*entry); });
    each = each->second.empty() ? entries_.erase(each) : std::next(each);
  }
}

void Answers::finish(const Instance& instance) {
  erase(instance, [](Entry& entry) { return !std::exchange(entry.asked, false); });
}

// Those that are being evaluated are answered in vain.
void Answers::drop_open(const Instance& instance) {
  erase(instance, [](const Entry& entry) { return !entry.answer; });
}

void Answers::forget(const Instance& instance) {
  erase(instance, [](const Entry& /*entry*/) { return true; });
}

void Answers::clear() {
  entries_.clear();
  open_.clear();
  open_of_new_.clear();
}

Answers::Batch Answers::take() {
  Batch batch;
  std::erase_if(open_of_new_, [](const auto& each) { return each.use_count() == 1; });
  move(open_, kMostAtOnce - std::min(kForNew, open_of_new_.size()), batch);
  move(open_of_new_, std::max(batch.size() + kForNew, kFilledByNew), batch);
  return batch;
}

// Until the batch has that many.
void Answers::move(std::deque<std::shared_ptr<Entry>>& from, std::size_t most, Batch& batch) {
  while (!from.empty() && batch.size() < most) {
    // What isn't kept any more, nobody asks any more.
    if (from.front().use_count() > 1) batch.push_back(std::move(from.front()));
    from.pop_front();
  }
}

std::vector<Value> Answers::inputs(const Batch& batch) {
  std::vector<Value> all;
  for (const auto& each : batch) all.push_back(each->input);
  return all;
}

std::vector<Answers::Instance> Answers::put(const Batch& batch, std::vector<Result<Value>> answers) {
  std::vector<Instance> whose;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i].ok())
      batch[i]->answer.emplace(encoding::to_json(*answers[i], encoding::JsonStyle::Exact));
    else
      batch[i]->answer.emplace(std::move(answers[i]).error());
    batch[i]->input = {};
    whose.push_back(batch[i]->instance);
  }
  return whose;
}

}  // namespace mist::operator_
