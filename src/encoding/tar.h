#pragma once
// tar archives (POSIX ustar and pax, GNU's long names) of regular files, in memory. What a package is made of
// needs no more: links, devices and the like are refused, not skipped. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::encoding {

struct TarFile {
  std::string path;  ///< as it stands in the archive, without "./" before it; anything may be in it
  std::string bytes;
  friend bool operator==(const TarFile&, const TarFile&) = default;
};

struct TarLimits {
  std::uint64_t bytes = std::uint64_t{64} << 20;  ///< of all contents together
  std::size_t files = 10'000;
};

/// The regular files in the order of the archive; directories are left out. `name` stands in messages.
/// Errors: Invalid (damaged, cut off, beyond a limit, anything that is neither file nor directory).
Result<std::vector<TarFile>> read_tar(std::string_view archive, std::string_view name,
                                      const TarLimits& limits = {});

/// An archive of these files in this order: mode 0644, of nobody, from 1970, so that the same files give the
/// same bytes.
std::string write_tar(std::span<const TarFile> files);

}  // namespace mist::encoding
