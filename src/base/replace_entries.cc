// The new directory is built beside the old one, under a hidden name, and takes its place by one rename that
// exchanges both (Linux' RENAME_EXCHANGE). Where a file system doesn't know that, the old one is moved away
// first; the next run puts it back if it finds nothing in its place.

#include "base/replace_entries.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace mist {
namespace {

Status check_name(std::string_view name) {
  const bool plain = !name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos &&
                     name.find('\0') == std::string_view::npos;
  if (plain) return {};
  return error(ErrorKind::Invalid, "{} is not a name of a file in a directory", escape_controls(name));
}

// Ends with the process too, so that nobody waits for one that was killed.
Result<UniqueFd> lock_of(const Path& parent) {
  UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error("open", parent, errno);
  while (::flock(fd.get(), LOCK_EX) != 0)
    if (errno != EINTR) return errno_error("lock", parent, errno);
  return fd;
}

// Hard links: their bytes are on disk already, and nobody writes to either name afterwards.
Status keep(const Path& from, const Path& to) {
  using Options = std::filesystem::copy_options;
  constexpr Options kHow = Options::recursive | Options::copy_symlinks;
  std::error_code failed;
  std::filesystem::copy(from, to, kHow | Options::create_hard_links, failed);
  if (!failed) return {};
  std::error_code ignored;
  std::filesystem::remove_all(to, ignored);
  std::filesystem::copy(from, to, kHow, failed);
  return failed ? Status(errno_error("copy", from, failed.value())) : Status();
}

Status build(FileSystem& files, const Path& directory, const Path& next, std::span<const TreeFile> written,
             std::span<const std::string> removed) {
  MIST_TRY_VOID(files.make_directories(next));
  if (files.exists(directory)) {
    MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(directory));
    for (const DirectoryEntry& entry : entries) {
      const bool goes = std::ranges::find(removed, entry.name) != removed.end() ||
                        std::ranges::find(written, entry.name, &TreeFile::path) != written.end();
      if (!goes) MIST_TRY_VOID(keep(directory / entry.name, next / entry.name));
    }
  }
  for (const TreeFile& file : written)
    MIST_TRY_VOID(files.write(next / Path(file.path), file.bytes, kUsersFile));
  return {};
}

Status exchange(FileSystem& files, const Path& next, const Path& directory, const Path& old) {
  if (!files.exists(directory)) return files.rename(next, directory);
  if (::renameat2(AT_FDCWD, next.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS && errno != EXDEV) return errno_error("replace", directory, errno);
  MIST_TRY_VOID(files.rename(directory, old));
  Status moved = files.rename(next, directory);
  if (!moved.ok()) (void)files.rename(old, directory);
  return moved;
}

}  // namespace

Status replace_entries(FileSystem& files, const Path& directory, std::span<const TreeFile> written,
                       std::span<const std::string> removed) {
  for (const TreeFile& file : written) MIST_TRY_VOID(check_name(file.path));
  for (const std::string& name : removed) MIST_TRY_VOID(check_name(name));
  const Path target = std::filesystem::absolute(directory).lexically_normal();
  const Path clean = target.has_filename() ? target : target.parent_path();
  const Path parent = clean.parent_path();
  const std::string name = clean.filename().string();
  const Path next = parent / fmt::format(".{}.next", name);
  const Path old = parent / fmt::format(".{}.old", name);
  MIST_TRY(const UniqueFd lock, lock_of(parent));
  if (!std::filesystem::exists(std::filesystem::symlink_status(clean)) && files.exists(old))
    MIST_TRY_VOID(files.rename(old, clean));
  std::error_code unknown;
  const auto status = std::filesystem::symlink_status(clean, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
    return error(ErrorKind::Invalid, "{} is {}", escape_controls(clean.string()),
                 std::filesystem::is_symlink(status) ? "a link" : "no directory")
        .with_hint("put a directory there, or remove it");
  MIST_TRY_VOID(files.remove_all(next));
  MIST_TRY_VOID(files.remove_all(old));
  Status done = build(files, clean, next, written, removed);
  if (done.ok()) done = exchange(files, next, clean, old);
  (void)files.remove_all(next);
  (void)files.remove_all(old);
  return done;
}

}  // namespace mist
