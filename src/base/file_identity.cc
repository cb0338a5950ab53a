#include "base/file_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace mist {
namespace {

bool is_unshared(const struct stat& info) { return (info.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

bool is_own(const struct stat& info) { return info.st_uid == ::geteuid() && is_unshared(info); }

// Root, as this process sees it. A user namespace that doesn't map root, as a sandbox has it that an ordinary
// user made, shows its files as those of the overflow user (user_namespaces(7)). The one who made the
// namespace chose the installation that is seen in it, and looked at its owner (base/bubblewrap.h).
uid_t root_as_seen() {
  std::ifstream map("/proc/self/uid_map");
  for (uid_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;)
    if (inside == 0) return 0;
  // In one read: the kernel gives no second part of a setting.
  std::ifstream setting("/proc/sys/kernel/overflowuid");
  uid_t overflow = 0;
  return setting >> overflow ? overflow : 0;
}

}  // namespace

std::string identity_of(const struct stat& info) {
  return fmt::format("{} {} {} {}.{:09} {}.{:09}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

bool is_own_file(const struct stat& info) { return S_ISREG(info.st_mode) && is_own(info); }

bool is_own_directory(const struct stat& info) { return S_ISDIR(info.st_mode) && is_own(info); }

bool is_of_installation(const struct stat& info) {
  return is_unshared(info) && (info.st_uid == ::geteuid() || info.st_uid == root_as_seen());
}

}  // namespace mist
