#include "base/hex.h"

#include "base/text.h"

namespace mist {

std::optional<std::string> bytes_of_hex(std::string_view digits) {
  if (digits.size() % 2 != 0 || !is_lower_hex(digits)) return std::nullopt;
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1])));
  return bytes;
}

}  // namespace mist
