#pragma once
// How often somebody may do something: a bucket for each key that fills at a constant rate. Any thread.

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace mist::catalog {

class RateLimit {
 public:
  /// `rate` each second on average, `burst` at once; a rate of 0: no limit.
  RateLimit(const Clock& clock, double rate, double burst) : clock_(clock), rate_(rate), burst_(burst) {}

  /// 0: it may; else the seconds until it may.
  int wait_for(const std::string& key) {
    if (rate_ <= 0) return 0;
    const std::scoped_lock lock(mutex_);
    const SteadyTime now = clock_.steady_now();
    if (buckets_.size() >= kMostKeys) forget_full(now);
    const auto [found, is_new] = buckets_.try_emplace(key, Bucket{burst_, now});
    Bucket& bucket = found->second;
    bucket.left = std::min(burst_, bucket.left + rate_ * seconds(now - bucket.then));
    bucket.then = now;
    if (bucket.left >= 1) {
      bucket.left -= 1;
      return 0;
    }
    return static_cast<int>(std::ceil((1 - bucket.left) / rate_));
  }

 private:
  static constexpr std::size_t kMostKeys = 100'000;
  struct Bucket {
    double left;
    SteadyTime then;
  };
  static double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
  // A full bucket is as good as none.
  void forget_full(SteadyTime now) {
    std::erase_if(buckets_, [&](const auto& each) {
      return each.second.left + rate_ * seconds(now - each.second.then) >= burst_;
    });
    if (buckets_.size() >= kMostKeys) buckets_.clear();
  }

  const Clock& clock_;
  const double rate_, burst_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace mist::catalog
