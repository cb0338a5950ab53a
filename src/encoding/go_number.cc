#include "encoding/go_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace mist::encoding {
namespace {

/// The shortest digits of a finite number: 0.d1d2d3… × 10^point.
struct Decimal {
  bool negative = false;
  std::array<char, 32> digits{};
  int count = 0;
  int point = 0;
};

template <typename Float>
Decimal shortest(Float number) {
  Decimal result;
  result.negative = std::signbit(number);
  if (number == 0) {
    result.digits[0] = '0';
    result.count = 1;
    result.point = 1;
    return result;
  }
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                                 std::chars_format::scientific)
                       .ptr;
  const char* at = buffer.data();
  for (; at != end && *at != 'e'; ++at)
    if (*at != '.') result.digits[static_cast<std::size_t>(result.count++)] = *at;
  int exponent = 0;
  if (at != end) {
    ++at;
    if (*at == '+') ++at;
    std::from_chars(at, end, exponent);
  }
  result.point = exponent + 1;
  return result;
}

void append_exponent_form(std::string& out, const Decimal& decimal, bool two_digits) {
  out += decimal.digits[0];
  if (decimal.count > 1) {
    out += '.';
    out.append(decimal.digits.data() + 1, static_cast<std::size_t>(decimal.count - 1));
  }
  const int exponent = decimal.point - 1;
  out += exponent < 0 ? "e-" : "e+";
  const int size = std::abs(exponent);
  // encoding/json shortens "e-07" to "e-7", and only there.
  if (size < 10 && (two_digits || exponent >= 0)) out += '0';
  append_integer(out, size);
}

void append_fixed_form(std::string& out, const Decimal& decimal) {
  const auto digits = std::string_view(decimal.digits.data(), static_cast<std::size_t>(decimal.count));
  if (decimal.point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-decimal.point), '0');
    out += digits;
  } else if (decimal.point >= decimal.count) {
    out += digits;
    out.append(static_cast<std::size_t>(decimal.point - decimal.count), '0');
  } else {
    out += digits.substr(0, static_cast<std::size_t>(decimal.point));
    out += '.';
    out += digits.substr(static_cast<std::size_t>(decimal.point));
  }
}

/// strconv's %g with precision -1: the exponent form below 10^-4 and from 10^6 on.
void append_g(std::string& out, const Decimal& decimal) {
  if (decimal.negative) out += '-';
  const int exponent = decimal.point - 1;
  if (exponent < -4 || exponent >= 6)
    append_exponent_form(out, decimal, true);
  else
    append_fixed_form(out, decimal);
}

/// True if the decimal number `text`, which no double can hold, is nearer to zero than to infinity.
bool is_tiny(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  if (e == std::string_view::npos) return false;
  std::string_view exponent = text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec != std::errc())
    return exponent.starts_with('-');
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  return power + static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) < 0;
}

}  // namespace

void append_json_double(std::string& out, double number) {
  const Decimal decimal = shortest(number);
  if (decimal.negative) out += '-';
  const double size = std::abs(number);
  if (size != 0 && (size < 1e-6 || size >= 1e21))
    append_exponent_form(out, decimal, false);
  else
    append_fixed_form(out, decimal);
}

void append_go_g64(std::string& out, double number) { append_g(out, shortest(number)); }

std::string float_key(double number) {
  const auto narrow = static_cast<float>(number);
  if (std::isnan(narrow)) return ".nan";
  if (std::isinf(narrow)) return narrow > 0 ? ".inf" : "-.inf";
  std::string out;
  append_g(out, shortest(narrow));
  return out;
}

Value json_number(double number) {
  if (std::trunc(number) != number || std::abs(number) >= 1e21) return number;
  if (number == 0) return std::signbit(number) ? Value(number) : Value(0);
  std::string text;
  append_json_double(text, number);
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto read = std::from_chars(text.data(), end, integer); read.ec == std::errc() && read.ptr == end)
    return integer;
  std::uint64_t positive = 0;
  if (const auto read = std::from_chars(text.data(), end, positive);
      read.ec == std::errc() && read.ptr == end)
    return positive;
  return number;
}

std::errc parse_double(std::string_view text, double& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec == std::errc::result_out_of_range) {
    // from_chars doesn't say which way; what is too small is zero for Go.
    if (!is_tiny(text)) return std::errc::result_out_of_range;
    out = text.starts_with('-') ? -0.0 : 0.0;
    return {};
  }
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::errc::invalid_argument;
  return {};
}

}  // namespace mist::encoding
