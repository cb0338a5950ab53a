#pragma once
// Counts how often the bytes of each version were downloaded, or that version was installed by machines that
// report it, without keeping by whom: a client (client_of in
// sign_in.h) counts once a day for each of them. Until the day ends a hash of it is remembered, with a key
// that is drawn each day and is in memory alone. So each process counts for itself, and one that starts again
// counts a client once more. Any thread.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "catalog/store.h"

namespace mist::catalog {

/// The number of a day since 1970, in UTC.
std::int64_t day_of(WallTime time);
/// "2026-11-27".
std::string day_text(std::int64_t day);

enum class Counted : std::uint8_t { Downloads, Installs };

class DownloadCounter {
 public:
  struct Dependencies {
    Store& store;
    const Clock& clock;
    Random& random;
    EventSink& events;
    Counted what = Counted::Downloads;
  };
  explicit DownloadCounter(Dependencies dependencies) : dependencies_(dependencies) {}
  /// Keeps the counts.
  ~DownloadCounter();
  DownloadCounter(const DownloadCounter&) = delete;
  DownloadCounter& operator=(const DownloadCounter&) = delete;

  /// All bytes of `digest` were sent to `client`, or it installed that version. Beyond these bounds nothing
  /// is counted until the next day.
  void note(std::string_view client, const std::string& digest);
  /// Writes counts that aren't kept yet. Later ones wait for a second, so that many downloads aren't as many
  /// transactions; then for the next note() or keep(), which in a quiet catalog may be much later.
  void keep();

  static constexpr std::size_t kMostSeen = 400'000;  ///< 20 MB
  static constexpr std::uint32_t kMostOfClient = 1'000;

 private:
  using Counts = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;  // by digest and day

  bool counts(std::string_view client, const std::string& digest);
  std::uint64_t hashed(std::string_view client, std::string_view digest) const;
  bool is_time() const;
  // Without the lock while it writes.
  void write(std::unique_lock<std::mutex>& lock);

  Dependencies dependencies_;
  std::mutex mutex_;  // guards all below
  std::int64_t day_ = -1;
  std::string key_;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_map<std::uint64_t, std::uint32_t> clients_;
  Counts pending_;
  bool is_writing_ = false;
  SteadyTime written_{};
};

}  // namespace mist::catalog
