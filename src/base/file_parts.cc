#include "base/file_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_identity.h"
#include "base/file_io.h"
#include "base/handle.h"
#include "base/text.h"

namespace mist {
namespace {

bool is_special(const struct stat& info) { return !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode); }

Error special_file(const Path& path) {
  return error(ErrorKind::Invalid, "{} is a pipe, a socket or a device, not a file",
               escape_controls(path.string()));
}

}  // namespace

Status refuse_special_file(const Path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && is_special(info) ? Status(special_file(path)) : Status();
}

Result<OpenFile> OpenFile::open(const Path& path) {
  // Without waiting for the other end of a pipe.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return errno_error("read", path, errno);
  if (is_special(info)) return special_file(path);
  return OpenFile(path, std::move(fd), identity_of(info));
}

Result<std::size_t> OpenFile::read(std::uint64_t offset, std::span<char> to) const {
  std::size_t used = 0;
  while (used < to.size()) {
    const ssize_t n =
        ::pread(fd_.get(), to.data() + used, to.size() - used, static_cast<off_t>(offset + used));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read", path_, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  return used;
}

Status OpenFile::check_unchanged() const {
  struct stat info{};
  if (::stat(path_.c_str(), &info) == 0 && identity_of(info) == identity_) return {};
  return error(ErrorKind::Conflict, "{} was changed while it was read", escape_controls(path_.string()))
      .with_hint("try again when nothing writes there");
}

Result<std::string> read_file_part(const Path& path, std::uint64_t offset, std::size_t size) {
  MIST_TRY(const OpenFile file, OpenFile::open(path));
  std::string bytes;
  Result<std::size_t> used = std::size_t{0};
  bytes.resize_and_overwrite(size, [&](char* to, std::size_t room) {
    used = file.read(offset, std::span(to, room));
    return used.ok() ? *used : 0;
  });
  if (!used) return std::move(used).error();
  return bytes;
}

Status write_file_in_parts(const Path& path, const std::function<Status(const ByteSink&)>& produce) {
  MIST_TRY_VOID(refuse_special_file(path));
  // Recognisable as ours when kill -9 leaves it behind; whoever writes the same file again replaces it.
  const Path temporary = path.parent_path() / fmt::format(".{}.tmp", path.filename().string());
  // Never opened: in a shared directory another user may have put a file or a pipe there, which then is his.
  ::unlink(temporary.c_str());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return errno_error("create", path, errno);
  const auto write = [&]() -> Status {
    MIST_TRY_VOID(produce([&](std::string_view piece) { return write_all(fd.get(), piece, path); }));
    if (::fchmod(fd.get(), 0644) != 0) return errno_error("set the mode of", path, errno);
    if (::fsync(fd.get()) != 0) return errno_error("flush", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error("write", path, errno);
    return sync_directory(path.parent_path());
  };
  Status written = write();
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace mist
