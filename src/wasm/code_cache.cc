#include "wasm/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include "base/file_identity.h"
#include "base/text.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kCodeSuffix = ".code";
constexpr std::string_view kStampSuffix = ".stamp";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::time_t kTemporaryLifetime = 3600;  // seconds; no publication takes that long
constexpr std::time_t kUseResolution = 3600;      // how exactly the time of last use is kept
constexpr std::size_t kMaxStamp = 512;

std::string code_name(const std::string& key) { return key + std::string(kCodeSuffix); }
std::string stamp_name(const std::string& key) { return key + std::string(kStampSuffix); }

struct Stamp {
  std::string identity;
  std::string digest;
  std::time_t used = 0;
};

bool is_installed(const struct stat& info) { return S_ISREG(info.st_mode) && is_of_installation(info); }

std::optional<Stamp> read_stamp(int directory, const std::string& key,
                                bool (*trusted)(const struct stat&) = &is_own_file) {
  const UniqueFd fd(
      ::openat(directory, stamp_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !trusted(info)) return std::nullopt;
  std::array<char, kMaxStamp> buffer{};
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  const std::string_view line = trim({buffer.data(), static_cast<std::size_t>(size)});
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos || !crypto::Digest::parse(line.substr(space + 1))) return std::nullopt;
  return Stamp{std::string(line.substr(0, space)), std::string(line.substr(space + 1)), info.st_mtime};
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write", "the cache of compiled code", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

// A whole file under a name that only we use, or an error and no file.
Status write_temporary(int directory, const std::string& name, std::span<const std::byte> bytes) {
  const UniqueFd fd(
      ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return errno_error("create a file in", "the cache of compiled code", errno);
  Status written = write_all(fd.get(), bytes);
  if (!written) ::unlinkat(directory, name.c_str(), 0);
  return written;
}

std::string temporary_name(const std::string& name) {
  static std::atomic<unsigned> counter{0};
  return fmt::format(".{}.{}.{}{}", name, ::getpid(), ++counter, kTemporarySuffix);
}

Status publish_file(int directory, const std::string& name, std::span<const std::byte> bytes) {
  const std::string temporary = temporary_name(name);
  MIST_TRY_VOID(write_temporary(directory, temporary, bytes));
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) == 0) return {};
  const int code = errno;
  ::unlinkat(directory, temporary.c_str(), 0);
  return errno_error("rename a file in", "the cache of compiled code", code);
}

Status publish_stamp(int directory, const std::string& key, const struct stat& info,
                     std::string_view digest) {
  const std::string line = fmt::format("{} {}\n", identity_of(info), digest);
  return publish_file(directory, stamp_name(key), crypto::as_bytes(line));
}

// Where that fails, others compile for themselves.
void share(int directory, const std::string& name) {
  [[maybe_unused]] const int failed = ::fchmodat(directory, name.c_str(), 0644, 0);
}

std::optional<crypto::Digest> digest_of(int fd) {
  crypto::Hasher hasher;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  off_t offset = 0;
  while (true) {
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return hasher.finish();
    hasher.update(std::span(buffer).first(static_cast<std::size_t>(n)));
    offset += n;
  }
}

// The very file that was checked, whatever its name means by now; /proc may be missing in a container.
Path path_of(int fd, const Path& fallback) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? Path(path) : fallback;
}

struct CachedCode {
  std::uint64_t bytes = 0;
  std::time_t used = 0;
};

}  // namespace

CodeCache::CodeCache(Path directory, std::uint64_t limit, EventSink& events, CodeReaders readers)
    : directory_(std::move(directory)),
      limit_(limit),
      events_(events),
      readers_(readers),
      disabled_(directory_.empty()) {}

void CodeCache::disable(const Error& reason) {
  if (disabled_.exchange(true)) return;
  events_.warn(fmt::format("compiled code is not cached, so every run compiles again: {}", reason.to_line()));
}

// An empty result with the cache still enabled means that there is no directory yet.
UniqueFd CodeCache::open_directory(bool create) {
  if (disabled_) return {};
  if (create) {
    HostFileSystem files;
    if (Status made = files.make_directories(directory_, readers_ == CodeReaders::All ? 0755 : 0700); !made) {
      disable(made.error());
      return {};
    }
  }
  UniqueFd fd(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    if (create || errno != ENOENT) disable(errno_error("open", directory_, errno));
    return {};
  }
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    disable(errno_error("read", directory_, errno));
    return {};
  }
  if (!is_own_directory(info)) {
    disable(error(ErrorKind::Forbidden, "{} belongs to another user, or others may write to it",
                  directory_.string()));
    return {};
  }
  return fd;
}

void CodeCache::remove_entry(int directory, const std::string& key) {
  ::unlinkat(directory, code_name(key).c_str(), 0);
  ::unlinkat(directory, stamp_name(key).c_str(), 0);
}

bool CodeCache::is_trusted(int directory, const std::string& key, int file, std::string_view what) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return false;
  const auto refuse = [&](std::string_view why) {
    events_.warn(
        fmt::format("the compiled code of {} in {} {}; compiling it again", what, directory_.string(), why));
    return false;
  };
  if (!is_own_file(info)) return refuse("belongs to another user, or others may write to it");
  const std::optional<Stamp> stamp = read_stamp(directory, key);
  if (!stamp) {
    // Without any stamp it was just evicted by another process, or its removal was cut short.
    struct stat there{};
    const bool missing = ::fstatat(directory, stamp_name(key).c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0;
    return missing ? false : refuse("has no valid stamp");
  }
  const std::time_t now = std::time(nullptr);
  if (stamp->identity == identity_of(info)) {
    if (now - stamp->used > kUseResolution || now < stamp->used)
      ::utimensat(directory, stamp_name(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return true;
  }
  // Copied, restored from a backup, or changed: only the content can tell.
  const std::optional<crypto::Digest> digest = digest_of(file);
  if (!digest || digest->str() != stamp->digest) return refuse("was changed after it was written");
  struct stat after{};
  if (::fstat(file, &after) != 0 || identity_of(after) != identity_of(info))
    return refuse("is changing just now");
  // If this can't be written, the next run checks the digest again.
  [[maybe_unused]] const Status renewed = publish_stamp(directory, key, info, stamp->digest);
  return true;
}

bool CodeCache::load(const crypto::Digest& digest, std::string_view what,
                     const std::function<bool(const Path&)>& map) {
  const UniqueFd directory = open_directory(false);
  if (!directory) return false;
  const std::string key = digest.hex();
  const UniqueFd file(
      ::openat(directory.get(), code_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (errno == ELOOP) {
      events_.warn(fmt::format("the compiled code of {} in {} is a link; compiling it again", what,
                               directory_.string()));
      remove_entry(directory.get(), key);
    }
    return false;
  }
  if (!is_trusted(directory.get(), key, file.get(), what)) {
    remove_entry(directory.get(), key);
    return false;
  }
  if (map(path_of(file.get(), directory_ / code_name(key)))) return true;
  events_.warn(fmt::format("the compiled code of {} in {} can't be used; compiling it again", what,
                           directory_.string()));
  remove_entry(directory.get(), key);
  return false;
}

void CodeCache::store(const crypto::Digest& digest, std::span<const std::byte> code) {
  const UniqueFd directory = open_directory(true);
  if (directory) publish(directory.get(), digest.hex(), code);
}

void CodeCache::publish(int directory, const std::string& key, std::span<const std::byte> code) {
  const std::string temporary = temporary_name(code_name(key));
  if (Status written = write_temporary(directory, temporary, code); !written) return disable(written.error());

  const UniqueFd lock(::openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  // Held for milliseconds, except while a process is stopped; then this entry is simply not cached.
  bool locked = false;
  for (int i = 0; lock && i < 200 && !(locked = ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0); ++i)
    ::usleep(10'000);

  struct stat info{};
  const bool there = ::fstatat(directory, code_name(key).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                     is_own_file(info) && read_stamp(directory, key).has_value();
  if (!locked || there) {
    ::unlinkat(directory, temporary.c_str(), 0);
    return;
  }
  // The stamp comes first, so that a kill between the two leaves a file whose digest can be checked.
  const std::string content = crypto::sha256(code).str();
  const auto fail = [&](const Error& reason) {
    ::unlinkat(directory, temporary.c_str(), 0);
    disable(reason);
  };
  if (::fstatat(directory, temporary.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(errno_error("read", directory_, errno));
  if (Status stamped = publish_stamp(directory, key, info, content); !stamped) return fail(stamped.error());
  if (::renameat(directory, temporary.c_str(), directory, code_name(key).c_str()) != 0)
    return fail(errno_error("rename a file in", directory_, errno));
  // Renaming changed the ctime.
  if (::fstatat(directory, code_name(key).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    [[maybe_unused]] const Status stamped = publish_stamp(directory, key, info, content);
  }
  if (readers_ == CodeReaders::All) {
    // Before the stamp was read by anybody else: a change of mode is a change of ctime.
    for (const std::string& name : {code_name(key), stamp_name(key)}) share(directory, name);
    if (::fstatat(directory, code_name(key).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      [[maybe_unused]] const Status stamped = publish_stamp(directory, key, info, content);
      share(directory, stamp_name(key));
    }
  }
  evict(directory, key);
}

void CodeCache::evict(int directory, const std::string& keep) {
  // fdopendir takes the descriptor and its position, so it gets one of its own.
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Handle<DIR, &::closedir> listing(copy ? ::fdopendir(copy.get()) : nullptr);
  if (!listing) return;
  copy.release();

  const std::time_t now = std::time(nullptr);
  std::map<std::string, CachedCode> entries;
  std::uint64_t total = 0;
  while (const dirent* each = ::readdir(listing.get())) {
    const std::string_view name = each->d_name;
    struct stat info{};
    if (::fstatat(directory, each->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (name.ends_with(kTemporarySuffix) && now - info.st_mtime > kTemporaryLifetime) {
      ::unlinkat(directory, each->d_name, 0);
    } else if (name.ends_with(kCodeSuffix) && !name.starts_with('.')) {
      entries[std::string(name.substr(0, name.size() - kCodeSuffix.size()))].bytes +=
          static_cast<std::uint64_t>(info.st_size);
      total += static_cast<std::uint64_t>(info.st_size);
    } else if (name.ends_with(kStampSuffix) && !name.starts_with('.')) {
      entries[std::string(name.substr(0, name.size() - kStampSuffix.size()))].used = info.st_mtime;
    }
  }
  std::vector<std::pair<std::string, CachedCode>> by_age(entries.begin(), entries.end());
  std::ranges::stable_sort(by_age, {}, [](const auto& entry) { return entry.second.used; });
  for (const auto& [key, entry] : by_age) {
    if (total <= limit_) break;
    if (key == keep) continue;
    remove_entry(directory, key);
    total -= entry.bytes;
  }
}

bool SharedCodeCache::load(const crypto::Digest& digest, std::string_view what,
                           const std::function<bool(const Path&)>& map) {
  if (directory_.empty()) return false;
  const UniqueFd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!directory || ::fstat(directory.get(), &info) != 0) return false;
  const std::string key = digest.hex();
  const UniqueFd file(
      ::openat(directory.get(), code_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat code{};
  if (!file || ::fstat(file.get(), &code) != 0) return false;
  const auto refuse = [&](std::string_view why) {
    events_.warn(
        fmt::format("the compiled code of {} in {} {}; it is not used", what, directory_.string(), why));
    return false;
  };
  if (!is_of_installation(info) || !is_installed(code))
    return refuse("belongs to another user, or others may write to it");
  const std::optional<Stamp> stamp = read_stamp(directory.get(), key, &is_installed);
  if (!stamp) return refuse("has no valid stamp");
  if (stamp->identity != identity_of(code)) {
    // Copied with its directory: slower at every start than `mistctl engines compile` in place, but as sure.
    const std::optional<crypto::Digest> content = digest_of(file.get());
    if (!content || content->str() != stamp->digest) return refuse("was changed after it was written");
  }
  return map(path_of(file.get(), directory_ / code_name(key))) || refuse("can't be used");
}

}  // namespace mist::wasm
