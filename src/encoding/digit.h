#pragma once
// Internal to encoding. Pure; any thread.

namespace mist::encoding {

/// An ASCII digit, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace mist::encoding
