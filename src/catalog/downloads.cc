#include "catalog/downloads.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

constexpr Duration kBetweenWrites = std::chrono::seconds(1);

}  // namespace

std::int64_t day_of(WallTime time) {
  return std::chrono::floor<std::chrono::days>(time).time_since_epoch().count();
}

std::string day_text(std::int64_t day) { return format_time(WallTime(std::chrono::days(day))).substr(0, 10); }

DownloadCounter::~DownloadCounter() {
  std::unique_lock lock(mutex_);
  write(lock);
}

void DownloadCounter::note(std::string_view client, const std::string& digest) {
  std::unique_lock lock(mutex_);
  if (!counts(client, digest)) return;
  ++pending_[{digest, day_}];
  if (is_time()) write(lock);
}

void DownloadCounter::keep() {
  std::unique_lock lock(mutex_);
  if (!pending_.empty() && is_time()) write(lock);
}

bool DownloadCounter::is_time() const {
  return !is_writing_ && dependencies_.clock.steady_now() - written_ >= kBetweenWrites;
}

bool DownloadCounter::counts(std::string_view client, const std::string& digest) {
  if (const std::int64_t today = day_of(dependencies_.clock.now()); today != day_) {
    day_ = today;
    key_ = dependencies_.random.token(32);
    seen_.clear();
    clients_.clear();
  }
  if (seen_.size() >= kMostSeen) return false;
  std::uint32_t& of_client = clients_[hashed(client, {})];
  if (of_client >= kMostOfClient || !seen_.insert(hashed(client, digest)).second) return false;
  ++of_client;
  return true;
}

std::uint64_t DownloadCounter::hashed(std::string_view client, std::string_view digest) const {
  const auto bytes =
      crypto::hmac_sha256(crypto::as_bytes(key_), crypto::as_bytes(fmt::format("{}\n{}", client, digest)));
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sizeof hash; ++i) hash = hash << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return hash;
}

// Counts that can't be written now are tried again: a download doesn't fail for it. Nobody waits meanwhile.
void DownloadCounter::write(std::unique_lock<std::mutex>& lock) {
  written_ = dependencies_.clock.steady_now();
  if (pending_.empty()) return;
  Counts writing;
  writing.swap(pending_);
  is_writing_ = true;
  lock.unlock();
  std::vector<DownloadCount> counts;
  for (const auto& [what, count] : writing)
    counts.push_back({.digest = what.first, .day = what.second, .count = count});
  const bool installs = dependencies_.what == Counted::Installs;
  const Status kept =
      installs ? dependencies_.store.add_installs(counts) : dependencies_.store.add_downloads(counts);
  if (!kept.ok())
    dependencies_.events.warn(fmt::format("{} aren't counted now: {}", installs ? "installs" : "downloads",
                                          kept.error().to_line()));
  lock.lock();
  is_writing_ = false;
  if (!kept.ok())
    for (const auto& [what, count] : writing) pending_[what] += count;
}

}  // namespace mist::catalog
