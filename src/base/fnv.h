#pragma once
// FNV-1a of 64 bits: the same on every machine, for dividing names among few places. No digest: whoever
// chooses the names can choose the place. Any thread.

#include <cstdint>
#include <string_view>

namespace mist {

constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace mist
