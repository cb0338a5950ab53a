#include "base/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/context.h"
#include "base/file_io.h"
#include "base/storage_fault.h"

namespace mist {
namespace {

ErrorKind kind_of(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::Forbidden;
    case EEXIST:
      return ErrorKind::Conflict;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return ErrorKind::Invalid;
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
      return ErrorKind::Retryable;
    default:
      return ErrorKind::Internal;
  }
}

// Unique among threads and processes, and recognisable as ours when one is left behind by kill -9.
Path temporary_beside(const Path& path) {
  static std::atomic<unsigned> counter{0};
  return path.parent_path() / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), ++counter);
}

// Of the file at `path`, which is replaced; nothing: none is there.
std::optional<struct stat> replaced_file(const Path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return info;
}

// The permission bits of `old`. Its group's are only for that group.
Status keep_permissions(int fd, const struct stat& old, const Path& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_error("look at", path, errno);
  mode_t bits = old.st_mode & 0777U;
  if (info.st_gid != old.st_gid && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0)
    bits &= ~mode_t{070};
  if (::fchmod(fd, bits) != 0) return errno_error("set the mode of", path, errno);
  return {};
}

// `old`: of a file of the user that is replaced. Of a new one the system took the umask's bits off.
Status set_permissions(int fd, const std::optional<struct stat>& old, const WriteOptions& options,
                       const Path& path) {
  if (old) return keep_permissions(fd, *old, path);
  if (options.permissions == Permissions::Fixed && ::fchmod(fd, options.mode) != 0)
    return errno_error("set the mode of", path, errno);
  return {};
}

// Waits as long as `context` lets it. Without one it waits for nobody: nothing while others hold it.
Result<UniqueFd> lock_file(const Path& path, int operation, const Context* context) {
  while (true) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return errno_error("lock", path, errno);
    // flock can't take a deadline; locks are held for milliseconds, so a short sleep between tries is cheap.
    while (::flock(fd.get(), operation | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("lock", path, errno);
      if (context == nullptr && errno == EWOULDBLOCK) return UniqueFd();
      if (context == nullptr) continue;
      MIST_TRY_VOID(context->check().in(fmt::format("while waiting for the lock {}", path.string())));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // Its last holder may have removed it meanwhile: nobody else would lock that one.
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_error("lock", path, errno);
    if (info.st_nlink > 0) return fd;
  }
}

}  // namespace

Status write_all(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      // Somebody who shares the descriptor made it non-blocking.
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (n < 0) return errno_error("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status sync_directory(const Path& path) {
  UniqueFd directory(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno_error("open", path, errno);
  if (::fsync(directory.get()) != 0) return errno_error("flush", path, errno);
  return {};
}

Error errno_error(std::string_view verb, const Path& path, int code) {
  Error result = error(kind_of(code), "cannot {} {}", verb, path.string());
  result.because = std::strerror(code);
  if (code == ENOSPC || code == EDQUOT) {
    result.hint = "free some disk space, then try again";
    result.details.set(StorageFull());
  }
  return result;
}

Result<std::string> HostFileSystem::read(const Path& path, std::uint64_t limit) const {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error("read", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) return errno_error("read", path, EISDIR);

  std::string bytes;
  std::size_t used = 0;
  const auto too_large = [&] {
    return error(ErrorKind::Invalid, "{} is larger than the limit of {} bytes", path.string(), limit);
  };
  if (S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) > limit) return too_large();
  bytes.resize(static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)) + 1);
  while (true) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2 + 4096);
    const ssize_t n = ::read(fd.get(), bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read", path, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > limit) return too_large();
  }
  bytes.resize(used);
  return bytes;
}

Result<std::uint64_t> HostFileSystem::size(const Path& path) const {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return errno_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) return errno_error("read", path, EISDIR);
  return static_cast<std::uint64_t>(info.st_size);
}

Status HostFileSystem::write(const Path& path, std::string_view bytes, const WriteOptions& options) {
  if (path.has_parent_path()) MIST_TRY_VOID(make_directories(path.parent_path(), 0755));
  const Path temporary = temporary_beside(path);
  const bool is_users = options.permissions == Permissions::Users;
  const std::optional<struct stat> old = is_users ? replaced_file(path) : std::nullopt;
  const unsigned created = is_users && !old ? options.mode : 0600U;
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, created));
  if (!fd) return errno_error("create", path, errno);
  const auto abandon = [&](Error failure) {
    ::unlink(temporary.c_str());
    return failure;
  };
  if (Status written = write_all(fd.get(), bytes, path); !written) return abandon(std::move(written).error());
  if (Status set = set_permissions(fd.get(), old, options, path); !set)
    return abandon(std::move(set).error());
  if (options.durable && ::fsync(fd.get()) != 0) return abandon(errno_error("flush", path, errno));
  if (options.exclusive) {
    if (::link(temporary.c_str(), path.c_str()) != 0) return abandon(errno_error("create", path, errno));
    ::unlink(temporary.c_str());
  } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return abandon(errno_error("write", path, errno));
  }
  return options.durable ? sync_directory(path.parent_path()) : Status{};
}

Result<std::vector<DirectoryEntry>> HostFileSystem::list(const Path& path) const {
  Handle<DIR, &::closedir> directory(::opendir(path.c_str()));
  if (!directory) return errno_error("list", path, errno);
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info{};
    if (::fstatat(::dirfd(directory.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;  // vanished
    entries.push_back({std::string(name), S_ISDIR(info.st_mode), S_ISLNK(info.st_mode)});
  }
  if (errno != 0) return errno_error("list", path, errno);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Status HostFileSystem::make_directories(const Path& path, unsigned mode) {
  if (path.empty() || is_directory(path)) return {};
  if (path.has_parent_path() && path.parent_path() != path)
    MIST_TRY_VOID(make_directories(path.parent_path(), mode));
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return errno_error("create the directory", path, errno);
  if (!is_directory(path)) return errno_error("create the directory", path, EEXIST);
  return {};
}

Status HostFileSystem::remove(const Path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("remove", path, errno);
  return {};
}

Status HostFileSystem::remove_all(const Path& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) return errno_error("remove", path, code.value());
  return {};
}

Status HostFileSystem::rename(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return errno_error("rename", from, errno);
  return {};
}

bool HostFileSystem::exists(const Path& path) const {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

bool HostFileSystem::is_directory(const Path& path) const {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<FileLock> FileLock::acquire(const Path& path, const Context& context) {
  MIST_TRY(UniqueFd fd, lock_file(path, LOCK_EX, &context));
  return FileLock(std::move(fd));
}

Result<FileLock> FileLock::share(const Path& path, const Context& context) {
  MIST_TRY(UniqueFd fd, lock_file(path, LOCK_SH, &context));
  return FileLock(std::move(fd));
}

Result<std::optional<FileLock>> FileLock::try_acquire(const Path& path) {
  MIST_TRY(UniqueFd fd, lock_file(path, LOCK_EX, nullptr));
  return fd ? std::optional(FileLock(std::move(fd))) : std::optional<FileLock>();
}

}  // namespace mist
