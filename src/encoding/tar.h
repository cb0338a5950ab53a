#pragma once
// tar archives (POSIX ustar and pax, GNU's long names) of regular files, in memory. Packages need nothing
// else: links, devices and the like are refused, not skipped. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Archives that don't fit into memory, block by block.

inline constexpr std::size_t kTarBlock = 512;
inline constexpr std::uint64_t kMaxTarContent = (std::uint64_t{1} << 33) - 1;  // what a header can say

/// The header of a file, as write_tar makes it; zeros up to a whole block have to follow the content. `path`
/// has at most 100 bytes, the content at most kMaxTarContent.
std::string tar_header(std::string_view path, std::uint64_t size);
/// How many zeros follow a content of that size.
std::size_t tar_padding(std::uint64_t size);
/// The end of an archive.
std::string tar_end();

struct TarHeader {
  std::string path;  ///< without "./" before it
  std::uint64_t size = 0;
  bool is_file = false;  ///< else a directory, or a record about the next file, which is to be skipped
};
/// Of the block that a header is; nothing: the archive ends with it. Errors: Invalid (damaged, a link, a
/// device). `name` stands in messages.
Result<std::optional<TarHeader>> read_tar_header(std::string_view block, std::string_view name);

}  // namespace mist::encoding
