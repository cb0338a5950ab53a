#include "base/clock.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "base/context.h"
#include "base/error.h"
#include "base/utc_time.h"

namespace mist {
namespace {

std::tm utc(WallTime time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

BootTime BootClock::now() {
  std::timespec time{};
  MIST_CHECK(clock_gettime(CLOCK_BOOTTIME, &time) == 0, "every Linux since 2.6.39 has this clock");
  return BootTime(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

bool SystemClock::sleep(Duration duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

Clock& machine_clock() {
  static SystemClock clock;
  return clock;
}

std::string format_time(WallTime time) {
  const std::tm t = utc(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec);
}

std::optional<WallTime> parse_time(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kShape.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(at, count)) value = value * 10 + (c - '0');
    return value;
  };
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  std::int64_t nanos = 0;
  if (!fraction.empty()) {
    if (fraction[0] != '.' || fraction.size() == 1 || fraction.size() > 10) return std::nullopt;
    fraction.remove_prefix(1);
    for (std::size_t i = 0; i < 9; ++i) {
      const char c = i < fraction.size() ? fraction[i] : '0';
      if (c < '0' || c > '9') return std::nullopt;
      nanos = nanos * 10 + (c - '0');
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::chrono::sys_seconds at = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                                      std::chrono::minutes(minute) + std::chrono::seconds(second);
  return nearest_time(at, nanos);
}

std::string format_micro_time(WallTime time) {
  const std::tm t = utc(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec, micros);
}

std::string format_age(Duration age) {
  const auto total = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (total < 0) return "0s";
  const auto days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60, seconds = total % 60;
  const auto two = [](long long big, char big_unit, long long small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (total < 120) return fmt::format("{}s", total);
  if (total < 600) return two(minutes, 'm', seconds, 's');
  if (total < 3 * 3600) return fmt::format("{}m", total / 60);
  if (total < 8 * 3600) return two(hours, 'h', minutes, 'm');
  if (total < 48 * 3600) return fmt::format("{}h", total / 3600);
  if (days < 8) return two(days, 'd', hours, 'h');
  return fmt::format("{}d", days);
}

struct Context::Guard {
  std::function<Status()> ask;
  std::shared_ptr<const Guard> others;
};

Context Context::with_guard(std::function<Status()> guard) const {
  Context result = *this;
  result.guard_ = std::make_shared<Guard>(std::move(guard), guard_);
  return result;
}

Status Context::check() const {
  if (stop_.stop_requested()) return error(ErrorKind::Cancelled, "stopped on request");
  if (deadline_ && now() >= *deadline_) return error(ErrorKind::Timeout, "the time allowed is over");
  for (const Guard* guard = guard_.get(); guard != nullptr; guard = guard->others.get())
    MIST_TRY_VOID(guard->ask());
  return {};
}

Status Context::pause(Duration duration) const {
  MIST_TRY_VOID(check());
  clock_->sleep(std::min(duration, remaining().value_or(duration)), stop_);
  return check();
}

}  // namespace mist
