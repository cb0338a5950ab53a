#include "apimachinery/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace mist::apimachinery {
namespace {

// digits × 10^exponent, digits without leading or trailing zeros.
struct Amount {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
};

enum class Units : std::uint8_t { Decimal, Binary, Exponent };

struct Quantity {
  Amount amount;
  Units units = Units::Decimal;
};

struct Suffix {
  std::string_view text;
  int exponent;
  int shift;
};
constexpr std::array kSuffixes{
    Suffix{"n", -9, 0},  Suffix{"u", -6, 0},  Suffix{"m", -3, 0},  Suffix{"", 0, 0},
    Suffix{"k", 3, 0},   Suffix{"M", 6, 0},   Suffix{"G", 9, 0},   Suffix{"T", 12, 0},
    Suffix{"P", 15, 0},  Suffix{"E", 18, 0},  Suffix{"Ki", 0, 10}, Suffix{"Mi", 0, 20},
    Suffix{"Gi", 0, 30}, Suffix{"Ti", 0, 40}, Suffix{"Pi", 0, 50}, Suffix{"Ei", 0, 60},
};

// Decimal digits times two.
void double_digits(std::string& digits) {
  int carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    const int value = (*digit - '0') * 2 + carry;
    *digit = static_cast<char>('0' + value % 10);
    carry = value / 10;
  }
  if (carry != 0) digits.insert(digits.begin(), static_cast<char>('0' + carry));
}

// The exponent of "e-3". Go reads all 64 bits, and keeps the lower 32.
std::optional<std::int32_t> exponent_of(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  const bool plus = text[1] == '+';
  text.remove_prefix(plus ? 2 : 1);
  if (plus && text.starts_with('-')) return std::nullopt;
  std::int64_t exponent = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, exponent);
  if (failed != std::errc() || stop != end) return std::nullopt;
  return static_cast<std::int32_t>(exponent);
}

// The number at the beginning, which is taken off the text.
std::optional<Amount> take_number(std::string_view& text) {
  Amount amount;
  if (text.starts_with('+') || text.starts_with('-')) {
    amount.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text[0];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      amount.digits += c;
      if (point) --amount.exponent;
    } else {
      break;
    }
  }
  if (amount.digits.empty() || amount.digits.size() > 64) return std::nullopt;
  return amount;
}

void normalize(Amount& amount) {
  amount.digits.erase(0, amount.digits.find_first_not_of('0'));
  while (amount.digits.ends_with('0')) {
    amount.digits.pop_back();
    ++amount.exponent;
  }
  if (amount.digits.empty()) amount = Amount{};
}

// As Go's interpret(): "E" and "Ei" are suffixes, and an exponent is what is none.
std::optional<Quantity> parse(std::string_view text) {
  auto amount = take_number(text);
  if (!amount) return std::nullopt;
  Quantity quantity{.amount = *std::move(amount)};
  const auto* const suffix = std::ranges::find(kSuffixes, text, &Suffix::text);
  if (suffix != kSuffixes.end()) {
    quantity.amount.exponent += suffix->exponent;
    for (int i = 0; i < suffix->shift; ++i) double_digits(quantity.amount.digits);
    if (suffix->shift != 0) quantity.units = Units::Binary;
  } else {
    const auto exponent = exponent_of(text);
    if (!exponent) return std::nullopt;
    quantity.amount.exponent += *exponent;
    quantity.units = Units::Exponent;
  }
  normalize(quantity.amount);
  return quantity;
}

// Whether it is a whole multiple of 1024.
bool is_binary(const Amount& amount) {
  if (amount.exponent < 0) return false;
  unsigned rest = 0;
  for (const char digit : amount.digits) rest = (rest * 10 + static_cast<unsigned>(digit - '0')) % 1024;
  // 10^10 is such a multiple itself.
  for (std::int64_t i = 0; i < std::min<std::int64_t>(amount.exponent, 10); ++i) rest = rest * 10 % 1024;
  return rest == 0;
}

// Whether the canonical form has its suffix: 0.5Ki is 512, 0.1Gi is 107374182400m, and 12e2 is 1200.
bool keeps_units(const Quantity& quantity) {
  switch (quantity.units) {
    case Units::Decimal:
      return true;
    case Units::Binary:
      return !quantity.amount.digits.empty() && is_binary(quantity.amount);
    case Units::Exponent:  // it is a multiple of three
      return !quantity.amount.digits.empty() &&
             (quantity.amount.exponent < 0 || quantity.amount.exponent > 2);
  }
  return true;
}

}  // namespace

bool same_quantity(std::string_view a, std::string_view b) {
  const auto left = parse(a), right = parse(b);
  return left && right && left->amount == right->amount;
}

bool quantity_stored_as(std::string_view wanted, std::string_view stored) {
  const auto left = parse(wanted), right = parse(stored);
  if (!left || !right || left->amount != right->amount) return false;
  return left->units == right->units || (right->units == Units::Decimal && !keeps_units(*left));
}

bool is_quantity(std::string_view text) {
  constexpr std::size_t kLong = 60;
  const std::string_view bare = trim(text);  // as Quantity.UnmarshalJSON does
  return bare.size() > kLong || parse(bare).has_value();
}

std::string nearest_quantity(std::string_view text) {
  std::string bare;
  for (const char c : text)
    if (c != ' ' && c != '_' && c != ',') bare += c;
  const std::size_t end = bare.find_first_not_of("+-.0123456789");
  if (end == 0 || end == std::string::npos) return is_quantity(bare) ? bare : std::string();
  const std::string number = bare.substr(0, end);
  std::string unit = lower_case(bare.substr(end));
  if (unit.ends_with('b')) unit.pop_back();
  for (const Suffix& suffix : kSuffixes)
    if (!suffix.text.empty() && lower_case(suffix.text) == unit &&
        is_quantity(number + std::string(suffix.text)))
      return number + std::string(unit == "m" && bare.substr(end) != "m" ? "M" : suffix.text);
  return {};
}

}  // namespace mist::apimachinery
