#pragma once
// Facts about files from the system, for diagnosis: owner, mode, sizes, room. Any thread.

#include <cstdint>
#include <optional>

#include "base/fs.h"

namespace mist {

struct FileFacts {
  unsigned mode = 0;  ///< permission bits
  bool ours = true;   ///< owned by the user that this process runs as
  bool is_directory = false;
};
/// Follows links. nullopt: it isn't there, or can't be looked at.
std::optional<FileFacts> file_facts(const Path& path);

struct TreeSize {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};
/// Of regular files below `path`, links not followed; what can't be read counts as nothing.
TreeSize tree_size(const Path& path);

/// Bytes that an ordinary user may still write where `path` is, or would be; nullopt: unknown.
std::optional<std::uint64_t> free_space(const Path& path);

/// Whether this process may create files in that directory.
bool may_write_into(const Path& directory);

}  // namespace mist
