#include "registry/package_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/handle.h"
#include "base/text.h"
#include "config/paths.h"

namespace mist::registry {
namespace {

// A tree's text has a line for each file beside the contents.
constexpr std::uint64_t kMaxCached = kMaxPackageBytes + kMaxPackageFiles * 1100;

/// What changes whenever the file does; the change time can't be set by its owner.
std::string stamp_of(const struct stat& info) {
  return fmt::format("mistletoe-stamp-v1 {} {} {} {}.{:09} {}.{:09}\n", info.st_dev, info.st_ino,
                     info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

struct Opened {
  UniqueFd fd;
  struct stat info{};
};

/// Only a regular file of ours that nobody else may write.
std::optional<Opened> open_ours(const Path& path) {
  Opened opened;
  opened.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened.fd || ::fstat(opened.fd.get(), &opened.info) != 0) return std::nullopt;
  const bool ours = S_ISREG(opened.info.st_mode) && opened.info.st_uid == ::geteuid() &&
                    (opened.info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours || static_cast<std::uint64_t>(opened.info.st_size) > kMaxCached) return std::nullopt;
  return opened;
}

std::optional<std::string> read_all(const Opened& opened) {
  std::string bytes(static_cast<std::size_t>(opened.info.st_size), '\0');
  std::size_t used = 0;
  while (used < bytes.size()) {
    const ssize_t n = ::read(opened.fd.get(), bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    used += static_cast<std::size_t>(n);
  }
  return bytes;
}

std::optional<PackageContent> decode(std::string bytes, bool is_tree) {
  if (!is_tree) return PackageContent(PackageModule{std::move(bytes)});
  Result<PackageTree> tree = PackageTree::decode(bytes);
  if (!tree) return std::nullopt;
  return PackageContent(*std::move(tree));
}

Path stamp_path(Path path) { return path += ".stamp"; }

}  // namespace

PackageCache::PackageCache(FileSystem& files, EventSink& events, Path directory)
    : files_(files), events_(events), directory_(std::move(directory)) {}

Path PackageCache::path_of(const crypto::Digest& digest) const { return directory_ / digest.hex(); }

std::optional<PackageContent> PackageCache::get(const crypto::Digest& digest, bool is_tree) const {
  const Path path = path_of(digest);
  const std::optional<Opened> opened = open_ours(path);
  if (!opened) return std::nullopt;
  std::optional<std::string> bytes = read_all(*opened);
  if (!bytes) return std::nullopt;
  const std::string stamp = stamp_of(opened->info);
  if (const auto recorded = files_.read(stamp_path(path), 4096); recorded && *recorded == stamp)
    return decode(*std::move(bytes), is_tree);
  if (crypto::sha256(*bytes) != digest) {
    events_.warn(fmt::format("the cached package {} was changed; it is fetched anew", path.string()));
    (void)files_.remove(path);
    return std::nullopt;
  }
  // Losing the stamp only costs hashing again.
  (void)files_.write(stamp_path(path), stamp, {.mode = 0600, .durable = false, .exclusive = false});
  return decode(*std::move(bytes), is_tree);
}

void PackageCache::put(const crypto::Digest& digest, const PackageContent& content) const {
  const Path path = path_of(digest);
  Status done = config::make_private_directory(files_, directory_);
  const WriteOptions options{.mode = 0600, .durable = false, .exclusive = false};
  if (done) {
    if (const auto* module = std::get_if<PackageModule>(&content))
      done = files_.write(path, module->bytes, options);
    else
      done = files_.write(path, std::get<PackageTree>(content).encode(), options);
  }
  // What we just wrote has the digest; the first `get` of a file without a stamp checks that it stayed so.
  if (!done)
    events_.warn(fmt::format("the package is not cached: {}", escape_controls(done.error().to_line())));
}

}  // namespace mist::registry
