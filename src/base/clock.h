#pragma once
// Time as a constructor argument. SystemClock is the real one; testing/fake_clock.h is the other.
// All clocks may be used from any thread.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace mist {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual SteadyTime steady_now() const = 0;
  /// Sleeps until `duration` has passed or `stop` is requested; true when it slept to the end.
  virtual bool sleep(Duration duration, std::stop_token stop) = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime now() const override { return std::chrono::system_clock::now(); }
  SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
  bool sleep(Duration duration, std::stop_token stop) override;
};

/// RFC 3339 in UTC with seconds, "2026-03-01T09:30:00Z", as metav1.Time prints it.
std::string format_time(WallTime time);
/// Reads RFC 3339 in UTC, with or without a fraction of a second ("2026-03-01T09:30:00Z"); nullopt for
/// anything else.
std::optional<WallTime> parse_time(std::string_view text);
/// RFC 3339 in UTC with microseconds, as metav1.MicroTime prints it.
std::string format_micro_time(WallTime time);
/// "4s", "3m20s", "5h", "2d3h": how kubectl prints ages.
std::string format_age(Duration age);

}  // namespace mist
