#include "base/duration.h"

#include <cmath>
#include <cstdlib>

namespace mist {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// Longer names first where one begins with the other.
constexpr Unit kUnits[] = {
    {"ns", 1},
    {"us", 1'000},
    {"µs", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
};

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

// Digits with at most one point; false if there is no digit.
bool take_number(std::string_view& text, std::string& digits) {
  digits.clear();
  bool point = false, any = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '.' && !point)
      point = true;
    else if (c >= '0' && c <= '9')
      any = true;
    else
      break;
    digits += c;
    text.remove_prefix(1);
  }
  return any;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto fail = [&] {
    return error(ErrorKind::Usage, "\"{}\" is no duration", text)
        .with_hint("a number with a unit each: 300ms, 45s, 1m30s, 2h (units ns us ms s m h)");
  };
  std::string_view rest = text;
  bool negative = false;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return fail();
  // Long double has 64 bits of mantissa here: every whole number of nanoseconds is exact.
  long double total = 0;
  std::string digits;
  while (!rest.empty()) {
    if (!take_number(rest, digits)) return fail();
    const Unit* unit = take_unit(rest);
    if (unit == nullptr) return fail();
    total += std::strtold(digits.c_str(), nullptr) * static_cast<long double>(unit->nanoseconds);
  }
  if (total > static_cast<long double>(INT64_MAX)) return fail();
  const auto count = static_cast<std::int64_t>(std::floor(total));
  return Duration(negative ? -count : count);
}

std::string format_elapsed(Duration elapsed) {
  const auto tenths = elapsed.count() / 100'000'000;
  if (tenths < 100) return fmt::format("{}.{}s", tenths / 10, tenths % 10);
  const auto seconds = tenths / 10;
  return seconds < 60 ? fmt::format("{}s", seconds) : fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
}

}  // namespace mist
