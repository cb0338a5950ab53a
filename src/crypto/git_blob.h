#pragma once
// The names that git gives to contents of files, to hold a file against a commit. SHA-1 is for nothing else:
// what we choose ourselves is SHA-256 (digest.h). Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace mist::crypto {

/// Which a repository has: `extensions.objectFormat`.
enum class GitHash : std::uint8_t { Sha1, Sha256 };

/// The object id of a file with these bytes, in lower-case hexadecimal digits.
std::string git_blob(std::string_view bytes, GitHash hash);

}  // namespace mist::crypto
