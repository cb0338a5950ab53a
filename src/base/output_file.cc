#include "base/output_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

Path directory_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

// That `path`, which is `entry`, was put there by somebody to follow.
Status refuse_planted(const Path& path, const struct stat& entry) {
  struct stat directory{};
  if (::stat(directory_of(path).c_str(), &directory) != 0) return errno_error("write", path, errno);
  if (!is_planted(entry, directory, ::geteuid())) return {};
  return error(ErrorKind::Forbidden, "cannot write {}", path.string())
      .with_because(fmt::format("it is a {} of another user, in a directory that others may write to",
                                S_ISLNK(entry.st_mode) ? "link" : "special file"))
      .with_hint("name a file in a directory of your own, or remove it");
}

// Such a link of /proc is opened, not read: its text is no path ("pipe:[4711]").
bool leads_to_special_file(const Path& link) {
  struct statfs system{};
  struct stat info{};
  return ::statfs(directory_of(link).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
         ::stat(link.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// `seen` isn't a link, except one of /proc. Looks again at what was opened: it may be another by now.
Status write_to_special_file(const Path& path, const struct stat& seen, std::string_view bytes) {
  const bool is_link = S_ISLNK(seen.st_mode);
  MIST_TRY_VOID(refuse_planted(path, seen));
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (is_link ? 0 : O_NOFOLLOW)));
  if (!fd) return errno_error("open", path, errno);
  struct stat opened{};
  if (::fstat(fd.get(), &opened) != 0) return errno_error("look at", path, errno);
  if (!is_link) MIST_TRY_VOID(refuse_planted(path, opened));
  if (S_ISREG(opened.st_mode)) return errno_error("write", path, EEXIST);
  return write_all(fd.get(), bytes, path);
}

}  // namespace

bool is_planted(const struct stat& entry, const struct stat& directory, uid_t user) {
  const bool is_shared = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return is_shared && entry.st_uid != user && entry.st_uid != directory.st_uid;
}

Result<Path> link_target(const Path& path) {
  Path at = path;
  for (int links = 0; links < kMostOutputLinks; ++links) {
    struct stat info{};
    if (::lstat(at.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return at;
    if (descriptor_of(at) || leads_to_special_file(at)) return at;
    MIST_TRY_VOID(refuse_planted(at, info));
    std::error_code failed;
    const Path next = std::filesystem::read_symlink(at, failed);
    if (failed) return errno_error("read the link", at, failed.value());
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return errno_error("write", path, ELOOP);
}

bool is_standard_output(const Path& path) {
  const Result<Path> target = link_target(path);
  if (!target) return false;
  const std::optional<int> descriptor = descriptor_of(*target);
  if (descriptor == STDOUT_FILENO) return true;
  struct stat info{}, standard{};
  const int failed = descriptor ? ::fstat(*descriptor, &info) : ::stat(target->c_str(), &info);
  if (failed != 0 || ::fstat(STDOUT_FILENO, &standard) != 0) return false;
  if (info.st_dev != standard.st_dev || info.st_ino != standard.st_ino) return false;
  // A file that is named is replaced, not written to; nobody reads /dev/null.
  if (S_ISREG(info.st_mode)) return descriptor.has_value();
  return !S_ISCHR(info.st_mode) || ::isatty(STDOUT_FILENO) == 1;
}

Status write_output(FileSystem& files, const Path& path, std::string_view bytes,
                    const WriteOptions& options) {
  if (path.empty()) return error(ErrorKind::Invalid, "the output has no file name").with_hint("give -o FILE");
  MIST_TRY(const Path target, link_target(path));
  if (const std::optional<int> descriptor = descriptor_of(target)) return write_all(*descriptor, bytes, path);
  struct stat info{};
  if (::lstat(target.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return errno_error("write", path, EISDIR);
    if (!S_ISREG(info.st_mode)) return write_to_special_file(target, info, bytes);
  }
  return files.write(target, bytes, options);
}

}  // namespace mist
