#pragma once
// Values made from a structural schema, so that functions can be tried without an instance. The same schema
// gives the same values, and fields of one record differ in theirs as far as their ranges allow. A schema
// doesn't say all of its contract: hold a sample against that. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

enum class Filling : std::uint8_t {
  Required,    ///< only what has to be set; defaults are left to those who fill them in
  Everything,  ///< each field, lists and maps with two entries where they may have them
};

/// How many samples it takes for each word of each enum, and both booleans, to be in one of them; at most
/// kMostTurns.
std::size_t sample_turns(const Value& schema);
inline constexpr std::size_t kMostTurns = 8;

/// A value of `schema`. Null: it takes none that this could make, as of a pattern that is not understood.
/// Values are other than defaults where the schema allows it. `turn`: below sample_turns().
Value sample_of(const Value& schema, Filling filling, std::size_t turn, std::string_view name);

}  // namespace mist::blueprint
