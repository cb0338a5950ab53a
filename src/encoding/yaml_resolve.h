#pragma once
// The meaning of a YAML scalar: go-yaml v2's resolve(), which is YAML 1.1 with its own edges (no base 60,
// Go's integer syntax, timestamps stay text), followed by encoding/json's treatment of the result. Internal
// to encoding. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::encoding {

enum class ScalarFault : std::uint8_t {
  None,
  WrongTag,   ///< `!!int abc`: the text isn't what its tag says
  BadBase64,  ///< `!!binary` with something else
};

struct Resolved {
  Value value;  ///< may be NaN or infinite, which only a key may be
  ScalarFault fault = ScalarFault::None;
  bool is_float = false;     ///< as a key it prints in another way
  bool is_unsigned = false;  ///< beyond int64: not allowed as a key
  double number = 0;         ///< if is_float
};

/// A scalar without tag, plain (implicit). Strings are left to the caller: false means "it is the text
/// itself". The first character decides nearly always, so this is what is called for each plain scalar.
bool resolve_plain(std::string_view text, Resolved& out);

/// A scalar with the full form of its tag ("tag:yaml.org,2002:int", "!mine").
Resolved resolve_tagged(std::string_view tag, std::string_view text);

/// One of the forms of time that go-yaml knows. Such text stays text, but the writer quotes it.
bool looks_like_timestamp(std::string_view text);

/// Text that isn't UTF-8 as Go converts it: each byte that fits nowhere becomes U+FFFD.
std::string to_valid_utf8(std::string_view text);

inline constexpr std::string_view kMergeTag = "tag:yaml.org,2002:merge";

}  // namespace mist::encoding
