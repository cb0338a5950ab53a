#include "apimachinery/quantity.h"

#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "base/text.h"

namespace mist::apimachinery {
namespace {

// digits × 10^exponent × 2^shift, digits without leading or trailing zeros.
struct Amount {
  bool negative = false;
  std::string digits;
  int exponent = 0;
  int shift = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
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

std::optional<Amount> parse(std::string_view text) {
  Amount amount;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    amount.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool point = false, any = false;
  while (!text.empty()) {
    const char c = text[0];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      amount.digits += c;
      if (point) --amount.exponent;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  if (!any || amount.digits.size() > 64) return std::nullopt;
  const bool scientific = text.size() > 1 && (text[0] == 'e' || text[0] == 'E');
  if (scientific) {
    text.remove_prefix(1);
    bool minus = false;
    if (text[0] == '+' || text[0] == '-') minus = text[0] == '-', text.remove_prefix(1);
    if (text.empty() || text.size() > 3) return std::nullopt;
    int exponent = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      exponent = exponent * 10 + (c - '0');
    }
    amount.exponent += minus ? -exponent : exponent;
  } else {
    bool known = false;
    for (const Suffix& suffix : kSuffixes) {
      if (suffix.text != text) continue;
      known = true;
      amount.exponent += suffix.exponent;
      amount.shift = suffix.shift;
    }
    if (!known) return std::nullopt;
  }
  for (; amount.shift > 0; --amount.shift) double_digits(amount.digits);
  amount.digits.erase(0, amount.digits.find_first_not_of('0'));
  while (amount.digits.ends_with('0')) {
    amount.digits.pop_back();
    ++amount.exponent;
  }
  if (amount.digits.empty()) amount = Amount{};
  return amount;
}

}  // namespace

bool same_quantity(std::string_view a, std::string_view b) {
  const auto left = parse(a);
  return left && left == parse(b);
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
