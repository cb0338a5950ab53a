#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/file_io.h"
#include "base/handle.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr int kMostOutputLinks = 40;  // as many as Linux follows

// The descriptor that a path of the system stands for. Opening the path instead would be a second description
// of the same file, with its own place in it: one would write over what the other wrote.
std::optional<int> descriptor_of(const Path& path) {
  const std::string text = path.lexically_normal().string();
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : std::array<std::string_view, 2>{"/dev/fd/", "/proc/self/fd/"}) {
    if (!text.starts_with(folder)) continue;
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, failed] = std::from_chars(text.data() + folder.size(), end, number);
    if (failed == std::errc() && at == end && number >= 0) return number;
  }
  return std::nullopt;
}

Status write_to_device(const Path& path, std::string_view bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return errno_error("open", path, errno);
  return write_all(fd.get(), bytes, path);
}

}  // namespace

Result<Path> link_target(const Path& path) {
  Path at = path;
  for (int links = 0; links < kMostOutputLinks; ++links) {
    std::error_code failed;
    const Path next = std::filesystem::read_symlink(at, failed);
    if (failed) return at;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return errno_error("write", path, ELOOP);
}

Status write_output(FileSystem& files, const Path& path, std::string_view bytes,
                    const WriteOptions& options) {
  if (path.empty()) return error(ErrorKind::Invalid, "the output has no file name").with_hint("give -o FILE");
  if (const std::optional<int> descriptor = descriptor_of(path)) return write_all(*descriptor, bytes, path);
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return errno_error("write", path, EISDIR);
    if (!S_ISREG(info.st_mode)) return write_to_device(path, bytes);
  }
  MIST_TRY(const Path target, link_target(path));
  return files.write(target, bytes, options);
}

}  // namespace mist
