#include "base/safe_directory.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>

#include "base/text.h"

namespace mist {
namespace {

constexpr int kMostLinks = 40;  // as Linux

struct User {
  std::string name;
  unsigned group = 0;
};

std::optional<User> user_of(unsigned id) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return User{entry.pw_name, entry.pw_gid};
}

std::string user_words(unsigned id) {
  const auto user = user_of(id);
  return user ? fmt::format("{} (user {})", escape_controls(user->name), id) : fmt::format("user {}", id);
}

bool has_access_list(const Path& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

// The group of the same name that many systems give each user, as long as nobody else is in it.
bool is_private_group(unsigned group, unsigned user) {
  const auto owner = user_of(user);
  if (!owner || owner->group != group) return false;
  ::group entry{};
  ::group* found = nullptr;
  std::array<char, 16384> buffer;
  if (::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      entry.gr_name != owner->name)
    return false;
  for (char** member = entry.gr_mem; *member != nullptr; ++member)
    if (*member != owner->name) return false;
  return true;
}

enum class Wanted : bool { Directory, File };

class Walk {
 public:
  Walk(const Path& path, const SafeOwners& owners, Wanted what)
      : wanted_(path), owners_(owners), what_(what) {}

  Status run() {
    add_steps(wanted_);
    MIST_TRY_VOID(enter("/"));
    while (!steps_.empty()) {
      const std::string step = std::move(steps_.front());
      steps_.pop_front();
      if (step == "..") {
        MIST_TRY_VOID(enter(at_.parent_path()));
        continue;
      }
      MIST_TRY(const bool there, take(at_ / step));
      if (!there) break;
    }
    if (!shared_) return {};
    return refuse(at_, "everybody may write into it", fmt::format("chmod go-w {}", at_.string()));
  }

 private:
  void add_steps(const Path& path) {
    std::deque<std::string> steps;
    for (const Path& part : path.relative_path())
      if (!part.empty() && part != ".") steps.push_back(part.string());
    steps_.insert(steps_.begin(), steps.begin(), steps.end());
  }

  // False: nothing is there.
  Result<bool> take(const Path& next) {
    struct stat info{};
    if (::lstat(next.c_str(), &info) != 0) {
      if (errno != ENOENT) return errno_error("look at", next, errno);
      if (!shared_ || what_ == Wanted::File) return false;
      if (::mkdir(next.c_str(), 0700) != 0 && errno != EEXIST)
        return errno_error("create the directory", next, errno);
      if (::lstat(next.c_str(), &info) != 0) return errno_error("look at", next, errno);
    }
    if (S_ISLNK(info.st_mode)) {
      // Elsewhere nobody else could have made it.
      if (shared_) MIST_TRY_VOID(check_owner(next, info));
      MIST_TRY_VOID(follow(next));
      return true;
    }
    if (!S_ISDIR(info.st_mode)) {
      shared_ = false;  // nothing is kept in it
      if (what_ == Wanted::File && S_ISREG(info.st_mode)) MIST_TRY_VOID(check_file(next, info));
      return false;
    }
    MIST_TRY_VOID(enter(next));
    return true;
  }

  Status follow(const Path& link) {
    if (++links_ > kMostLinks) return errno_error("follow the link", link, ELOOP);
    std::error_code failed;
    const Path target = std::filesystem::read_symlink(link, failed);
    if (failed) return errno_error("follow the link", link, failed.value());
    add_steps(target);
    return target.is_absolute() ? enter("/") : Status{};
  }

  Status enter(const Path& directory) {
    struct stat info{};
    if (::lstat(directory.c_str(), &info) != 0) return errno_error("look at", directory, errno);
    MIST_TRY_VOID(check_owner(directory, info));
    at_ = directory;
    const bool sticky = (info.st_mode & S_ISVTX) != 0;
    shared_ = false;
    if ((info.st_mode & S_IWOTH) != 0) {
      if (!sticky)
        return refuse(directory, "everybody may write into it",
                      fmt::format("chmod o-w {}", directory.string()));
      shared_ = true;
    } else if ((info.st_mode & S_IWGRP) != 0 && !is_trusted_group(directory, info)) {
      if (!sticky)
        return refuse(directory, fmt::format("the group {} may write into it", info.st_gid),
                      fmt::format("chmod g-w {}", directory.string()));
      shared_ = true;
    }
    return {};
  }

  Status check_file(const Path& file, const struct stat& info) const {
    MIST_TRY_VOID(check_owner(file, info));
    const bool by_group = (info.st_mode & S_IWGRP) != 0 && !is_trusted_group(file, info);
    if ((info.st_mode & S_IWOTH) == 0 && !by_group) return {};
    return refuse(file, fmt::format("others may write it (mode {:04o})", info.st_mode & 07777),
                  fmt::format("chmod go-w {}", file.string()));
  }

  bool is_trusted_group(const Path& directory, const struct stat& info) const {
    if (has_access_list(directory)) return false;
    return info.st_gid == 0 || is_private_group(info.st_gid, info.st_uid);
  }

  Status check_owner(const Path& path, const struct stat& info) const {
    if (info.st_uid == 0 || info.st_uid == owners_.user || info.st_uid == owners_.also) return {};
    return refuse(path, fmt::format("it belongs to {}", user_words(info.st_uid)), "");
  }

  Error refuse(const Path& where, const std::string& why, const std::string& repair) const {
    Error failure =
        error(ErrorKind::Forbidden, "{} is not a safe place: somebody else could change what is in it",
              escape_controls(wanted_.string()));
    failure.because = fmt::format("{}: {}", escape_controls(where.string()), why);
    if (!repair.empty()) failure.hint = escape_controls(repair);
    return failure;
  }

  const Path& wanted_;
  const SafeOwners& owners_;
  const Wanted what_;
  std::deque<std::string> steps_;
  Path at_;
  bool shared_ = false;  // `at_` is sticky, and others make files in it
  int links_ = 0;
};

}  // namespace

SafeOwners SafeOwners::of_process() {
  SafeOwners owners{.user = ::geteuid(), .also = ::geteuid()};
  const char* sudo = std::getenv("SUDO_UID");
  if (owners.user != 0 || sudo == nullptr) return owners;
  const std::string_view text = sudo;
  unsigned id = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failure == std::errc() && stop == text.data() + text.size()) owners.also = id;
  return owners;
}

Status check_safe_directory(const Path& path, const SafeOwners& owners) {
  return Walk(path, owners, Wanted::Directory).run();
}

Status check_safe_file(const Path& path, const SafeOwners& owners) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) != 0) return {};
  return Walk(path, owners, Wanted::File).run();
}

}  // namespace mist
