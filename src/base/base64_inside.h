#pragma once
// A text that stands inside another one, of which only the base64 is seen. Pure; any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace mist {

/// The characters of the base64 that depend on `text` alone where `before` other bytes, modulo three, precede
/// it; empty: none do.
std::string base64_inside(std::string_view text, std::size_t before);

}  // namespace mist
