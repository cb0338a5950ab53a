#include "base/file_facts.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace mist {

std::optional<FileFacts> file_facts(const Path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileFacts{.mode = facts.st_mode & 07777U,
                   .ours = facts.st_uid == ::geteuid(),
                   .is_directory = S_ISDIR(facts.st_mode)};
}

TreeSize tree_size(const Path& path) {
  TreeSize size;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator entries(
      path, std::filesystem::directory_options::skip_permission_denied, failed);
  const std::filesystem::recursive_directory_iterator end;
  while (!failed && entries != end) {
    struct stat facts{};
    if (::lstat(entries->path().c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      size.bytes += static_cast<std::uint64_t>(facts.st_size);
      ++size.files;
    }
    entries.increment(failed);
  }
  return size;
}

std::optional<std::uint64_t> free_space(const Path& path) {
  struct statvfs facts{};
  for (Path place = path;; place = place.parent_path()) {
    if (::statvfs(place.c_str(), &facts) == 0)
      return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
    if (!place.has_relative_path()) return std::nullopt;
  }
}

bool may_write_into(const Path& directory) { return ::access(directory.c_str(), W_OK | X_OK) == 0; }

}  // namespace mist
