#pragma once
// The beginning of a digest, for tables and lines that only have to tell a few apart.

#include <string>
#include <string_view>

namespace mist {

/// "sha256:dede96753aaf" of "sha256:dede96753aaf…".
inline std::string short_digest(std::string_view digest) { return std::string(digest.substr(0, 19)); }

}  // namespace mist
