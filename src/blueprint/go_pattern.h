#pragma once
// The API server reads the patterns of a schema by Go's regexp, which takes less than Nickel does.
// Pure; any thread.

#include <cstdint>
#include <string_view>

namespace mist::blueprint {

/// The largest count of repetitions that Go takes, also of those within one another: (a{2}){500}
/// (regexp/syntax, repeatIsValid).
inline constexpr std::uint64_t kMostRepeats = 1000;

/// How often a pattern repeats a part of it, by counts alone. More than some million isn't told apart.
std::uint64_t most_repeats(std::string_view pattern);

}  // namespace mist::blueprint
