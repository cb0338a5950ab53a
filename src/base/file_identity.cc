#include "base/file_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mist {
namespace {

bool is_own(const struct stat& info) {
  return info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::string identity_of(const struct stat& info) {
  return fmt::format("{} {} {} {}.{:09} {}.{:09}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

bool is_own_file(const struct stat& info) { return S_ISREG(info.st_mode) && is_own(info); }

bool is_own_directory(const struct stat& info) { return S_ISDIR(info.st_mode) && is_own(info); }

}  // namespace mist
