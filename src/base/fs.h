#pragma once
// The file system as a constructor argument, with just the operations that Mistletoe needs. Every write that
// others may see is whole or absent: written beside, flushed, renamed. HostFileSystem is the real one; any
// thread.
//
// Errors: NotFound, Forbidden (permissions), Invalid (not what was asked: a directory, a link, too large),
// Retryable (no space, quota), Internal (anything else). Messages name the path and the system's reason.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/handle.h"
#include "base/result.h"

namespace mist {

using Path = std::filesystem::path;

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  bool is_symlink = false;
};

/// Which permission bits a written file gets.
enum class Permissions : std::uint8_t {
  Fixed,  ///< `mode`, whatever the umask is and whatever was there: for caches and state
  Users,  ///< `mode` but for the umask, or those of the file that is replaced: as other programs do it
};

struct WriteOptions {
  unsigned mode = 0644;    ///< permission bits of the new file
  bool durable = true;     ///< fsync file and directory; false for caches
  bool exclusive = false;  ///< Conflict if the file exists already
  Permissions permissions = Permissions::Fixed;
};

/// Of a file that the user asked for.
inline constexpr WriteOptions kUsersFile{.mode = 0666, .permissions = Permissions::Users};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// The whole file. Invalid if it is larger than `limit` bytes.
  virtual Result<std::string> read(const Path& path, std::uint64_t limit = std::uint64_t{1} << 30) const = 0;
  /// Of a file, in bytes. Follows links.
  virtual Result<std::uint64_t> size(const Path& path) const = 0;
  /// Atomic: readers see the old bytes or the new ones. Makes missing parent directories.
  virtual Status write(const Path& path, std::string_view bytes, const WriteOptions& options = {}) = 0;
  /// Sorted by name (bytewise).
  virtual Result<std::vector<DirectoryEntry>> list(const Path& path) const = 0;
  virtual Status make_directories(const Path& path, unsigned mode = 0755) = 0;
  /// Removing what isn't there succeeds.
  virtual Status remove(const Path& path) = 0;
  virtual Status remove_all(const Path& path) = 0;
  virtual Status rename(const Path& from, const Path& to) = 0;
  /// Follows links.
  virtual bool exists(const Path& path) const = 0;
  virtual bool is_directory(const Path& path) const = 0;
};

class HostFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const Path& path, std::uint64_t limit = std::uint64_t{1} << 30) const override;
  Result<std::uint64_t> size(const Path& path) const override;
  Status write(const Path& path, std::string_view bytes, const WriteOptions& options = {}) override;
  Result<std::vector<DirectoryEntry>> list(const Path& path) const override;
  Status make_directories(const Path& path, unsigned mode = 0755) override;
  Status remove(const Path& path) override;
  Status remove_all(const Path& path) override;
  Status rename(const Path& from, const Path& to) override;
  bool exists(const Path& path) const override;
  bool is_directory(const Path& path) const override;
};

/// An advisory lock (flock) on `path`, which is created; held until destroyed or the process dies. Its holder
/// may remove the file: those who waited for it then lock the next one.
class FileLock {
 public:
  /// Alone. Waits at most until `context` ends it. Errors as above, Timeout, Cancelled.
  static Result<FileLock> acquire(const Path& path, const class Context& context);
  /// The same beside others that share it.
  static Result<FileLock> share(const Path& path, const class Context& context);
  /// Alone, without waiting: nullopt while others hold it.
  static Result<std::optional<FileLock>> try_acquire(const Path& path);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// The error for the current `errno` of a call on `path`: "cannot read /x: Permission denied".
Error errno_error(std::string_view verb, const Path& path, int code);

}  // namespace mist
