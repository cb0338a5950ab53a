#pragma once
// Bytes of hexadecimal digits; hex() of text.h is the way back. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>

namespace mist {

/// nullopt: they aren't an even number of 0–9 and a–f.
std::optional<std::string> bytes_of_hex(std::string_view digits);

}  // namespace mist
