#include "registry/package_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

#include "base/cache_bound.h"
#include "base/file_identity.h"
#include "base/handle.h"
#include "base/text.h"
#include "config/paths.h"

namespace mist::registry {
namespace {

// A tree's text has a line for each file beside the contents.
constexpr std::uint64_t kMaxCached = kMaxPackageBytes + kMaxPackageFiles * 1100;

std::string stamp_of(const struct stat& info) {
  return fmt::format("mistletoe-stamp-v1 {}\n", identity_of(info));
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
  if (!is_own_file(opened.info) || static_cast<std::uint64_t>(opened.info.st_size) > kMaxCached)
    return std::nullopt;
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

std::optional<PackageContent> decode(std::string bytes, const crypto::Digest& digest, bool is_tree) {
  if (!is_tree) return PackageContent(PackageModule(std::move(bytes), digest));
  Result<PackageTree> tree = PackageTree::decode(bytes);
  if (!tree) return std::nullopt;
  return PackageContent(*std::move(tree));
}

constexpr std::string_view kStampSuffix = ".stamp";
constexpr std::size_t kDigestLength = 64;
Path stamp_path(Path path) { return path += kStampSuffix; }

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
  if (const auto recorded = files_.read(stamp_path(path), 4096); recorded && *recorded == stamp) {
    mark_used(stamp_path(path));
    return decode(*std::move(bytes), digest, is_tree);
  }
  if (crypto::sha256(*bytes) != digest) {
    events_.warn(fmt::format("the cached package {} was changed; it is fetched again", path.string()));
    (void)files_.remove(path);
    return std::nullopt;
  }
  // Losing the stamp only costs hashing again.
  (void)files_.write(stamp_path(path), stamp, {.mode = 0600, .durable = false, .exclusive = false});
  return decode(*std::move(bytes), digest, is_tree);
}

void PackageCache::put(const crypto::Digest& digest, const PackageContent& content) const {
  const Path path = path_of(digest);
  Status done = config::make_private_directory(files_, directory_);
  const WriteOptions options{.mode = 0600, .durable = false, .exclusive = false};
  if (done) {
    if (const auto* module = std::get_if<PackageModule>(&content)) {
      const auto bytes = module->bytes();
      done = bytes ? files_.write(path, **bytes, options) : Status(bytes.error());
    } else {
      done = files_.write(path, std::get<PackageTree>(content).encode(), options);
    }
  }
  // The bytes just written have the digest; the first `get` of a file without a stamp checks that it stayed
  // so.
  if (!done)
    events_.warn(fmt::format("the package is not cached: {}", escape_controls(done.error().to_line())));
}

void PackageCache::bound(std::uint64_t limit, const crypto::Digest& keep) const {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  std::map<std::string, CacheEntry> packages;        // by digest
  std::map<std::string, fs::file_time_type> stamps;  // when each was used, by digest
  fs::directory_iterator each(directory_, failed);
  for (const fs::directory_iterator end; !failed && each != end; each.increment(failed)) {
    std::error_code gone;
    const std::string name = each->path().filename();
    const auto time = each->last_write_time(gone);
    if (gone || each->symlink_status(gone).type() != fs::file_type::regular) continue;
    if (name.size() == kDigestLength) {
      packages[name] = {each->path(), each->file_size(gone), time};
    } else if (name.ends_with(kStampSuffix) && !name.starts_with('.')) {
      stamps[name.substr(0, name.size() - kStampSuffix.size())] = time;
    } else if (name.starts_with('.') && now - time > kUseResolution) {
      (void)files_.remove(each->path());
    }
  }
  for (const auto& [digest, used] : stamps) {
    if (const auto package = packages.find(digest); package != packages.end())
      package->second.used = used;
    else if (now - used > kUseResolution)
      (void)files_.remove(stamp_path(directory_ / digest));
  }
  std::vector<CacheEntry> entries;
  for (auto& [digest, entry] : packages) {
    // A package that is in use right now counts as used last.
    if (digest == keep.hex()) entry.used = fs::file_time_type::max();
    entries.push_back(std::move(entry));
  }
  for (const CacheEntry& entry : surplus(std::move(entries), limit)) {
    if (entry.used == fs::file_time_type::max()) continue;
    (void)files_.remove(entry.path);
    (void)files_.remove(stamp_path(entry.path));
  }
}

}  // namespace mist::registry
