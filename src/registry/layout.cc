#include "registry/layout.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "crypto/digest.h"
#include "registry/version_order.h"

namespace mist::registry {
namespace {

constexpr std::string_view kModuleEnding = ".mist-pack.wasm";
constexpr std::string_view kArchive = "packages/";

using Packages = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Published {
  std::string_view path, version;
};

/// A file of the original's layout.
std::optional<Published> as_module(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos || !path.ends_with(kModuleEnding)) return std::nullopt;
  const std::string_view directory = path.substr(0, slash);
  const std::string_view name = directory.substr(directory.rfind('/') + 1);
  std::string_view file = path.substr(slash + 1);
  file.remove_suffix(kModuleEnding.size());
  if (!file.starts_with(name) || file.size() <= name.size() + 1 || file[name.size()] != '-')
    return std::nullopt;
  return Published{directory, file.substr(name.size() + 1)};
}

/// A file of the archive layout.
std::optional<Published> as_directory(std::string_view path) {
  if (!path.starts_with(kArchive)) return std::nullopt;
  path.remove_prefix(kArchive.size());
  const auto first = path.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = path.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Published{path.substr(0, first), path.substr(first + 1, second - first - 1)};
}

/// An entry that can't be asked for isn't listed. A reference with a digest takes versions alone, no ranges.
bool can_be_named(const Published& published) {
  static const std::string digest = crypto::sha256("").str();
  return PackageRef::parse(fmt::format("r/{}:{}@{}", published.path, published.version, digest)).ok();
}

Packages list_packages(const std::vector<TreeEntry>& entries) {
  Packages packages;
  for (const TreeEntry& entry : entries) {
    if (entry.type != EntryType::File) continue;
    for (const auto& published : {as_module(entry.path), as_directory(entry.path)}) {
      if (!published) continue;
      const auto known = packages.find(published->path);
      // The files of one directory come one after another.
      if (known != packages.end() && known->second.back() == published->version) continue;
      if (can_be_named(*published)) packages[std::string(published->path)].emplace_back(published->version);
    }
  }
  for (auto& [path, versions] : packages) {
    std::ranges::sort(versions,
                      [](const std::string& a, const std::string& b) { return compare_versions(a, b) < 0; });
    versions.erase(std::ranges::unique(versions).begin(), versions.end());
  }
  return packages;
}

std::string listed(const std::vector<std::string>& versions) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> newest(
      versions.rbegin(), versions.rbegin() + static_cast<std::ptrdiff_t>(std::min(kMost, versions.size())));
  std::string text = join(newest, ", ");
  if (versions.size() > kMost) text += fmt::format(" and {} older", versions.size() - kMost);
  return text;
}

EntryType type_of(std::string_view mode) {
  if (mode == "120000") return EntryType::Symlink;
  return mode == "160000" ? EntryType::Submodule : EntryType::File;
}

}  // namespace

Result<std::vector<TreeEntry>> parse_tree_listing(std::string_view listing) {
  // "<mode> SP <type> SP <object> TAB <path> NUL"
  std::vector<TreeEntry> entries;
  while (!listing.empty()) {
    const auto end = listing.find('\0');
    const std::string_view line = listing.substr(0, end);
    const auto tab = line.find('\t');
    if (end == std::string_view::npos || tab == std::string_view::npos)
      return error(ErrorKind::Internal, "git printed a list of files that isn't one")
          .with_hint("mistctl registry update fetches it again");
    const auto words = split(line.substr(0, tab), ' ');
    if (words.size() != 3)
      return error(ErrorKind::Internal, "git printed a list of files that isn't one")
          .with_hint("mistctl registry update fetches it again");
    entries.push_back({type_of(words[0]), std::string(words[2]), std::string(line.substr(tab + 1))});
    listing.remove_prefix(end + 1);
  }
  return entries;
}

std::string module_path(const RegistryRef& reference) {
  return fmt::format("{}/{}-{}{}", reference.path, reference.name(), reference.version, kModuleEnding);
}

std::string directory_path(const RegistryRef& reference) {
  if (reference.path.find('/') != std::string::npos) return {};
  return fmt::format("{}{}/{}", kArchive, reference.path, reference.version);
}

Error version_not_found(const RegistryRef& reference, const Packages& packages) {
  if (const auto known = packages.find(reference.path); known != packages.end()) {
    const std::vector<std::string_view> versions(known->second.begin(), known->second.end());
    const std::string_view suggestion = nearest(reference.version, versions);
    std::string hint = fmt::format("it has {}", listed(known->second));
    if (!suggestion.empty()) hint += fmt::format("; did you mean {}?", suggestion);
    return error(ErrorKind::NotFound, "the registry {} has no version {} of {}", reference.registry,
                 reference.version, reference.path)
        .with_hint(std::move(hint));
  }
  Error failure =
      error(ErrorKind::NotFound, "the registry {} has no package {}", reference.registry, reference.path);
  std::vector<std::string_view> paths;
  for (const auto& [path, versions] : packages) {
    // The right name in the wrong directory is the likeliest mistake.
    if (Path(path).filename() == reference.name())
      return std::move(failure).with_hint(fmt::format("did you mean {}/{}?", reference.registry, path));
    paths.push_back(path);
  }
  const std::string_view suggestion = nearest(reference.path, paths);
  if (!suggestion.empty())
    return std::move(failure).with_hint(fmt::format("did you mean {}/{}?", reference.registry, suggestion));
  constexpr std::size_t kNamed = 12;
  std::vector<std::string> named(paths.begin(),
                                 paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kNamed)));
  if (paths.size() > kNamed) named.push_back(fmt::format("{} more", paths.size() - kNamed));
  return std::move(failure).with_hint(fmt::format("it has {}; mistctl registry update {} reads what is new",
                                                  named.empty() ? "none" : join(named, ", "),
                                                  reference.registry));
}

PackageIndex::PackageIndex(std::vector<TreeEntry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, &TreeEntry::path);
  packages_ = list_packages(entries_);
}

std::size_t PackageIndex::version_count() const {
  std::size_t count = 0;
  for (const auto& [path, versions] : packages_) count += versions.size();
  return count;
}

const TreeEntry* PackageIndex::entry_at(std::string_view path) const {
  const auto found = std::ranges::lower_bound(entries_, path, {}, &TreeEntry::path);
  return found != entries_.end() && found->path == path ? &*found : nullptr;
}

std::vector<const TreeEntry*> PackageIndex::submodules() const {
  std::vector<const TreeEntry*> found;
  for (const TreeEntry& entry : entries_)
    if (entry.type == EntryType::Submodule) found.push_back(&entry);
  return found;
}

std::vector<std::string> PackageIndex::directories_with(std::string_view file) const {
  std::vector<std::string> found;
  for (const TreeEntry& entry : entries_) {
    const auto slash = entry.path.rfind('/');
    if (slash != std::string::npos && std::string_view(entry.path).substr(slash + 1) == file)
      found.push_back(entry.path.substr(0, slash));
  }
  return found;
}

Status PackageIndex::refuse_links_above(std::string_view path) const {
  for (std::size_t end = path.find('/'); true; end = path.find('/', end + 1)) {
    const TreeEntry* entry = entry_at(path.substr(0, end));
    if (entry != nullptr && entry->type != EntryType::File)
      return error(ErrorKind::Invalid, "{} is a {} in the registry, and those are not followed",
                   escape_controls(entry->path),
                   entry->type == EntryType::Symlink ? "symbolic link" : "submodule")
          .with_hint("ask the registry's owner to publish the files themselves");
    if (end == std::string_view::npos) return {};
  }
}

bool PackageIndex::is_directory(std::string_view path) const {
  if (path.empty()) return !entries_.empty();
  const std::string prefix = std::string(path) + '/';
  const auto first = std::ranges::lower_bound(entries_, prefix, {}, &TreeEntry::path);
  return first != entries_.end() && first->path.starts_with(prefix);
}

Located PackageIndex::located_tree(std::string_view directory) const {
  Located located{.is_tree = true, .path = std::string(directory), .entries = {}, .object = {}};
  const std::string prefix = directory.empty() ? std::string() : std::string(directory) + '/';
  crypto::Hasher hasher;
  for (auto entry = std::ranges::lower_bound(entries_, prefix, {}, &TreeEntry::path);
       entry != entries_.end() && entry->path.starts_with(prefix); ++entry) {
    hasher.field(entry->path).field(entry->object).field(entry->type == EntryType::File ? "file" : "other");
    located.entries.push_back(*entry);
  }
  located.object = hasher.finish().hex();
  return located;
}

Result<Located> PackageIndex::find(const RegistryRef& reference) const {
  for (const std::string& path : {module_path(reference), directory_path(reference)}) {
    if (path.empty()) continue;
    MIST_TRY_VOID(refuse_links_above(path));
    Result<Located> located = find_path(path);
    if (located || located.error().kind != ErrorKind::NotFound) return located;
  }
  return version_not_found(reference, packages_);
}

Result<Located> PackageIndex::find_path(std::string_view path) const {
  if (!path.empty()) MIST_TRY_VOID(refuse_links_above(path));
  if (const TreeEntry* entry = entry_at(path); !path.empty() && entry != nullptr)
    return Located{.is_tree = false, .path = entry->path, .entries = {*entry}, .object = entry->object};
  Located located = located_tree(path);
  if (located.entries.empty())
    return error(ErrorKind::NotFound, "there is no file or directory {}",
                 path.empty() ? "in it" : escape_controls(path))
        .with_hint("check the path and the ref");
  return located;
}

}  // namespace mist::registry
