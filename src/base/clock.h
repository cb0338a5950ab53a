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

/// Time since the machine was started, the time that it slept included (CLOCK_BOOTTIME). steady_clock
/// (CLOCK_MONOTONIC) stands still while a laptop is suspended: right for how long we worked or waited, wrong
/// for a right that others may take when it was not renewed, since their clocks went on. A type of its own,
/// so that nobody compares it with a deadline.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now();
};
using BootTime = BootClock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() const = 0;
  virtual SteadyTime steady_now() const = 0;
  virtual BootTime boot_now() const = 0;
  /// Sleeps until `duration` of steady time has passed or `stop` is requested; true when it slept to the end.
  virtual bool sleep(Duration duration, std::stop_token stop) = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime now() const override { return std::chrono::system_clock::now(); }
  SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
  BootTime boot_now() const override { return BootClock::now(); }
  bool sleep(Duration duration, std::stop_token stop) override;
};
/// The one that a Context waits by unless it is told another.
Clock& machine_clock();

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
