#include "base/file_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/handle.h"
#include "base/text.h"

namespace mist {
namespace {

Status write_part(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status flush_directory(const Path& path) {
  UniqueFd directory(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno_error("open", path, errno);
  return ::fsync(directory.get()) == 0 ? Status() : Status(errno_error("flush", path, errno));
}

}  // namespace

Status refuse_special_file(const Path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return {};
  return error(ErrorKind::Invalid, "{} is a pipe, a socket or a device, not a file",
               escape_controls(path.string()));
}

Result<std::string> read_file_part(const Path& path, std::uint64_t offset, std::size_t size) {
  MIST_TRY_VOID(refuse_special_file(path));
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return errno_error("read", path, errno);
  std::string bytes(size, '\0');
  std::size_t used = 0;
  while (used < size) {
    const ssize_t n = ::pread(fd.get(), bytes.data() + used, size - used, static_cast<off_t>(offset + used));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read", path, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

Status write_file_in_parts(const Path& path, const std::function<Status(const ByteSink&)>& produce) {
  // Recognisable as ours when kill -9 leaves it behind; whoever writes the same file again replaces it.
  const Path temporary = path.parent_path() / fmt::format(".{}.tmp", path.filename().string());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return errno_error("create", path, errno);
  const auto write = [&]() -> Status {
    MIST_TRY_VOID(produce([&](std::string_view piece) { return write_part(fd.get(), piece, path); }));
    if (::fchmod(fd.get(), 0644) != 0) return errno_error("set the mode of", path, errno);
    if (::fsync(fd.get()) != 0) return errno_error("flush", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error("write", path, errno);
    return flush_directory(path.parent_path());
  };
  Status written = write();
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace mist
