#pragma once
// Keeps what lies in cache directories below a size: what was used longest ago goes first. When something was
// last used is the time of a file of its own, set at most once an hour, so that using costs no write. Losing
// all of it costs fetching again. Any thread, many processes, and whoever dies in between leaves nothing that
// the next one doesn't remove.

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/fs.h"

namespace mist {

struct CacheEntry {
  Path path;
  std::uint64_t bytes = 0;
  std::filesystem::file_time_type used = {};
};

/// How old a mark may be while its entry is in use.
inline constexpr std::chrono::hours kUseResolution{1};

/// Which entries have to go so that the others fit, oldest use first: none while all do, else down to nine
/// tenths of `limit`, so that not every new one makes another go. Pure.
std::vector<CacheEntry> surplus(std::vector<CacheEntry> entries, std::uint64_t limit);

/// Sets the time of `mark` to now, unless it is about that. A mark that isn't there stays so.
void mark_used(const Path& mark);

/// The bytes of all regular files below `directory`, links not followed; what vanishes meanwhile doesn't
/// count.
std::uint64_t bytes_below(const Path& directory);

}  // namespace mist
