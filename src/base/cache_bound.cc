#include "base/cache_bound.h"

#include <algorithm>
#include <system_error>

namespace mist {

namespace fs = std::filesystem;

std::vector<CacheEntry> surplus(std::vector<CacheEntry> entries, std::uint64_t limit) {
  std::uint64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  if (total <= limit) return {};
  std::ranges::stable_sort(entries, {}, &CacheEntry::used);
  std::size_t going = 0;
  while (going < entries.size() && total > limit / 10 * 9) total -= entries[going++].bytes;
  entries.resize(going);
  return entries;
}

void mark_used(const Path& mark) {
  std::error_code failed;
  const auto before = fs::last_write_time(mark, failed);
  if (failed) return;
  const auto now = fs::file_time_type::clock::now();
  if (before <= now && now - before < kUseResolution) return;
  fs::last_write_time(mark, now, failed);  // on a read-only disk nothing is evicted either
}

std::uint64_t bytes_below(const Path& directory) {
  std::uint64_t total = 0;
  std::error_code failed;
  fs::recursive_directory_iterator each(directory, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && each != end; each.increment(failed)) {
    std::error_code gone;
    if (each->symlink_status(gone).type() != fs::file_type::regular || gone) continue;
    const std::uintmax_t bytes = each->file_size(gone);
    if (!gone) total += bytes;
  }
  return total;
}

}  // namespace mist
