#include "wasm/module_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "base/cache_bound.h"
#include "base/file_identity.h"
#include "base/handle.h"
#include "base/text.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kEntryMagic = "mistletoe-module-v2";
constexpr std::string_view kSuffix = ".module";
constexpr std::size_t kLargestEntry = std::size_t{1} << 20;

// Through an open file: that is when a network file system asks its server.
std::optional<struct stat> look_at(const Path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return info;
}

WallTime time_of(const struct timespec& time) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::seconds(time.tv_sec) +
                                                                 std::chrono::nanoseconds(time.tv_nsec)));
}

bool is_settled(const struct stat& info, WallTime now) {
  return now - std::max(time_of(info.st_mtim), time_of(info.st_ctim)) >= ModuleFiles::kSettled;
}

std::string name_of(const struct stat& info) {
  return fmt::format("{:x}-{:x}{}", info.st_dev, info.st_ino, kSuffix);
}

struct KnownModule {
  crypto::Digest digest;
  BinaryKind kind;
  std::optional<std::string> section;
};

constexpr std::string_view kIsModule = "module", kIsComponent = "component";

std::string text_of(std::string_view identity, const crypto::Digest& digest, BinaryKind kind,
                    const std::optional<std::string_view>& section) {
  const std::string body = fmt::format("{} {} {}{}\n{}", identity, digest.str(),
                                       kind == BinaryKind::Component ? kIsComponent : kIsModule,
                                       section ? "+" : "", section.value_or(""));
  return fmt::format("{} {}\n{}", kEntryMagic, crypto::sha256(body).hex(), body);
}

// The line that `text` begins with, taken off it; all of it if there is no end of a line.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<KnownModule> parse(std::string_view text, std::string_view identity) {
  const std::string_view head = take_line(text);
  if (head != fmt::format("{} {}", kEntryMagic, crypto::sha256(text).hex())) return std::nullopt;
  const std::string_view line = take_line(text);
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() < 2 || line != fmt::format("{} {} {}", identity, words[words.size() - 2], words.back()))
    return std::nullopt;
  const auto digest = crypto::Digest::parse(words[words.size() - 2]);
  if (!digest) return std::nullopt;
  std::string_view kind = words.back();
  const bool has_section = kind.ends_with('+');
  if (has_section) kind.remove_suffix(1);
  if (kind != kIsModule && kind != kIsComponent) return std::nullopt;
  return KnownModule{*digest, kind == kIsComponent ? BinaryKind::Component : BinaryKind::Module,
                     has_section ? std::optional<std::string>(text) : std::nullopt};
}

// Nothing if it isn't there, or others may write to it.
UniqueFd open_own(const Path& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (fd && (::fstat(fd.get(), &info) != 0 || !is_own_directory(info))) fd.reset();
  return fd;
}

std::optional<std::string> read_own(const Path& directory, const std::string& name) {
  const UniqueFd place = open_own(directory);
  if (!place) return std::nullopt;
  const UniqueFd fd(::openat(place.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !is_own_file(info)) return std::nullopt;
  if (info.st_size <= 0 || static_cast<std::size_t>(info.st_size) > kLargestEntry) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    used += static_cast<std::size_t>(n);
  }
  return text;
}

// Of files that are gone, or weren't used for long.
void remove_surplus(const Path& directory, FileSystem& files) {
  const auto listed = files.list(directory);
  if (!listed) return;
  std::vector<CacheEntry> entries;
  for (const DirectoryEntry& each : *listed) {
    if (!each.name.ends_with(kSuffix) || each.name.starts_with('.')) continue;
    std::error_code gone;
    CacheEntry entry{directory / each.name};
    entry.bytes = std::filesystem::file_size(entry.path, gone);
    if (!gone) entry.used = std::filesystem::last_write_time(entry.path, gone);
    if (!gone) entries.push_back(std::move(entry));
  }
  for (const CacheEntry& entry : surplus(std::move(entries), ModuleFiles::kAllEntries)) {
    [[maybe_unused]] const Status removed = files.remove(entry.path);
  }
}

void record(const Path& directory, const struct stat& info, const ModuleBytes& module, FileSystem& files) {
  const auto section = module.package_section("");
  const auto kind = module.kind("");
  if (!section || !kind) return;  // no module: it is refused each time
  const std::string text = text_of(identity_of(info), module.digest(), *kind, *section);
  if (text.size() > kLargestEntry) return;
  if (!files.make_directories(directory, 0700) || !open_own(directory)) return;
  if (!files.write(directory / name_of(info), text, {.mode = 0600, .durable = false})) return;
  remove_surplus(directory, files);
}

// The bytes of a module that was known by its entry, and is read after all.
Result<std::string> read_known(const FileSystem& files, const Path& path, std::uint64_t limit,
                               const crypto::Digest& digest) {
  MIST_TRY(std::string bytes, files.read(path, limit));
  if (crypto::sha256(bytes) == digest) return bytes;
  return error(ErrorKind::Retryable, "{} changes just now", escape_controls(path.string()))
      .with_hint("try again when it is written");
}

}  // namespace

Result<ModuleBytes> ModuleFiles::open(const Path& path, std::uint64_t limit) const {
  const std::optional<struct stat> before = directory_.empty() ? std::nullopt : look_at(path);
  const auto size = before ? static_cast<std::uint64_t>(before->st_size) : 0;
  const bool is_large = size >= kSmallest && size <= limit;
  if (is_large) {
    const std::optional<std::string> text = read_own(directory_, name_of(*before));
    std::optional<KnownModule> entry = text ? parse(*text, identity_of(*before)) : std::nullopt;
    if (entry) {
      mark_used(directory_ / name_of(*before));
      return ModuleBytes(entry->digest, size, entry->kind, std::move(entry->section),
                         [&files = files_, path, limit, digest = entry->digest] {
                           return read_known(files, path, limit, digest);
                         });
    }
  }
  const WallTime now = clock_.now();
  MIST_TRY(std::string bytes, files_.read(path, limit));
  ModuleBytes module(std::move(bytes));
  if (is_large && is_settled(*before, now)) {
    const std::optional<struct stat> after = look_at(path);
    if (after && identity_of(*after) == identity_of(*before)) record(directory_, *before, module, files_);
  }
  return module;
}

}  // namespace mist::wasm
