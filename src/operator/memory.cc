#include "operator/memory.h"

#include <algorithm>

namespace mist::operator_ {

namespace {

constexpr Duration kLongestPause = std::chrono::minutes(5);

// From 0.2 s, doubled each time.
SteadyTime::duration pause_after(int times) {
  return std::chrono::duration_cast<SteadyTime::duration>(std::min<Duration>(
      std::chrono::milliseconds(200) * (std::int64_t{1} << std::min(times, 12)), kLongestPause));
}

}  // namespace

Duration Memory::failed(const ObjectId& id, const std::string& hash, std::string words, SteadyTime now) {
  // Nothing wants to write these any more: they would have been tried again.
  std::erase_if(failures_, [&](const auto& entry) { return now - entry.second.until > kLongestPause; });
  Failure& failure = failures_[id];
  if (failure.hash != hash) failure.times = 0;
  const SteadyTime::duration pause = pause_after(failure.times);
  failure = {hash, failure.times + 1, now + pause, std::move(words)};
  return pause;
}

void Memory::succeeded(const ObjectId& id, const std::string& hash, SteadyTime now) {
  failures_.erase(id);
  // After as long a rest as it was held for, or a minute.
  std::erase_if(repairs_, [&](const auto& entry) {
    const Repairs& each = entry.second;
    const auto calm = std::chrono::duration_cast<SteadyTime::duration>(kCalm);
    return now - std::max(each.last, each.until) >= std::max(calm, each.until - each.last);
  });
  Repairs& repairs = repairs_[id];
  if (repairs.hash != hash) repairs = {.hash = hash};
  repairs.last = now;
  if (++repairs.times > kFreeRepairs) repairs.until = now + pause_after(repairs.times - kFreeRepairs - 1);
}

std::optional<std::string> Memory::held(const ObjectId& id, const std::string& hash, SteadyTime now) const {
  if (const auto known = repairs_.find(id);
      known != repairs_.end() && known->second.hash == hash && known->second.until > now)
    return "something else changes or deletes it each time that it is written; it is repaired with growing "
           "pauses";
  const auto found = failures_.find(id);
  if (found == failures_.end() || found->second.hash != hash || found->second.until <= now)
    return std::nullopt;
  return found->second.words;
}

void Memory::wanted(const std::string& node, graph::Truth wanted, SteadyTime now) {
  if (wanted == graph::Truth::Unknown) return;
  Flips& flips = flips_[node];
  const bool is_wanted = wanted == graph::Truth::True;
  if (flips.wanted && *flips.wanted != is_wanted) flips.at.push_back(now);
  flips.wanted = is_wanted;
  if (flips.at.size() > kMostFlips) flips.at.erase(flips.at.begin());
}

// A text that was printed here, or was read well before.
Record Memory::known_record() const {
  if (!record_) return stored_record();
  Result<Record> known = reconcile::record_from(*record_);
  MIST_CHECK(known.ok());
  return *std::move(known);
}

void Memory::know(const Record& record) {
  record_.reset();
  if (!stored_ || stored_record() != record) {
    record_ = to_text(record, reconcile::RecordText::Known);
    record_->shrink_to_fit();
  }
}

Record Memory::stored_record() const {
  if (!stored_) return {};
  Result<Record> stored = reconcile::record_from(*stored_);
  return stored.ok() ? *std::move(stored) : Record();
}

Result<Record> Memory::record(std::string_view stored_text, std::string_view uid) {
  if (uid_ != uid) {
    // Metrics still count the one before.
    Memory other;
    other.counted_reason = std::move(counted_reason);
    other.is_counted_stalled = is_counted_stalled;
    other.counted_pending = counted_pending;
    *this = std::move(other);
  }
  uid_ = uid;
  if (stored_ && *stored_ == stored_text) return known_record();
  Record known = known_record();
  auto read = reconcile::record_from(stored_text);
  if (!read.ok() && known.empty()) return std::move(read).error();
  if (known.empty()) {
    stored(std::string(stored_text));
    return read;
  }
  // Somebody wrote over it, as by applying an older manifest: what is known isn't as stored, so that it is
  // stored again.
  stored_ = stored_text;
  known = reconcile::united(std::move(known), read.ok() ? *read : Record());
  know(known);
  return known;
}

bool Memory::is_new_damage(std::string_view stored) {
  const bool is_new = damaged_ != stored;
  damaged_ = stored;
  return is_new;
}

void Memory::stored(std::string text) {
  stored_ = std::move(text);
  stored_->shrink_to_fit();
  record_.reset();
  forget_unrecorded(stored_record());
}

void Memory::keep(const Record& record) {
  know(record);
  forget_unrecorded(record);
}

void Memory::keep(std::vector<ObjectId> unaccounted) {
  Record record = known_record();
  if (record.unaccounted == unaccounted) return;
  record.unaccounted = std::move(unaccounted);
  know(record);
}

// Names that contain a digest are others with each change.
void Memory::forget_unrecorded(const Record& record) {
  std::erase_if(gone_, [&](const ObjectId& id) { return record.find(id) == nullptr; });
  std::erase_if(immutable_, [&](const auto& entry) { return record.find(entry.first) == nullptr; });
}

// As many flips as are allowed within the window: until the first of them is older than that.
std::optional<SteadyTime> Memory::frozen_until(const Flips& flips) {
  if (flips.at.size() < kMostFlips) return std::nullopt;
  const auto window = std::chrono::duration_cast<SteadyTime::duration>(kFlipWindow);
  if (flips.at.back() - flips.at.front() >= window) return std::nullopt;
  return flips.at.front() + window;
}

bool Memory::frozen(const std::string& node, SteadyTime now) const {
  const auto found = flips_.find(node);
  if (found == flips_.end()) return false;
  const auto until = frozen_until(found->second);
  return until && now < *until;
}

bool Memory::is_stalled(std::int64_t generation, SteadyTime unready_since, Duration deadline,
                        SteadyTime now) {
  if (!progress_)
    progress_ = {.generation = generation, .since = std::min(unready_since, now)};
  else if (progress_->generation != generation)
    progress_ = {.generation = generation, .since = now};
  progress_->until = progress_->since + std::chrono::duration_cast<SteadyTime::duration>(deadline);
  progress_->is_over = now >= progress_->until;
  return progress_->is_over;
}

std::optional<SteadyTime> Memory::next(SteadyTime now) const {
  std::optional<SteadyTime> first;
  const auto take = [&](SteadyTime at) {
    if (at > now && (!first || at < *first)) first = at;
  };
  if (progress_) take(progress_->until);
  if (const auto told = pending_deletes.next()) take(*told);
  for (const auto& [id, failure] : failures_) take(failure.until);
  for (const auto& [id, repairs] : repairs_) take(repairs.until);
  for (const auto& [node, flips] : flips_)
    if (const auto until = frozen_until(flips)) take(*until);
  return first;
}

}  // namespace mist::operator_
