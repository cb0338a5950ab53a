#include "registry/package_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/tree.h"
#include "registry/reference.h"

namespace mist::registry {
namespace {

constexpr std::string_view kTreeMagic = "mistletoe-tree-v1\n";

Error bad_tree(std::string_view why) {
  return error(ErrorKind::Invalid, "the text of a package tree is damaged: {}", why)
      .with_hint("delete the cache directory; it will be filled again");
}

bool take_number(std::string_view& text, char end, std::size_t& number) {
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<std::size_t>(stop - text.data());
  // One form for each number, or two texts would decode to one tree.
  if (failure != std::errc() || used == text.size() || text[used] != end || (used > 1 && text[0] == '0'))
    return false;
  text.remove_prefix(used + 1);
  return true;
}

}  // namespace

std::string PackageTree::encode() const {
  std::string text(kTreeMagic);
  for (const PackageFile& file : files) {
    text += fmt::format("{} {}\n", file.path.size(), file.bytes.size());
    text += file.path;
    text += file.bytes;
  }
  return text;
}

Result<PackageTree> PackageTree::decode(std::string_view text) {
  if (!text.starts_with(kTreeMagic)) return bad_tree("it doesn't begin as one");
  text.remove_prefix(kTreeMagic.size());
  TreeBuilder builder("a package tree");
  std::string last;
  while (!text.empty()) {
    std::size_t path_size = 0, size = 0;
    if (!take_number(text, ' ', path_size) || !take_number(text, '\n', size)) return bad_tree("no sizes");
    if (path_size > text.size() || size > text.size() - path_size) return bad_tree("it ends too early");
    std::string path(text.substr(0, path_size));
    if (path <= last) return bad_tree("its paths are not in order");
    last = path;
    MIST_TRY_VOID(builder.add(std::move(path), std::string(text.substr(path_size, size))));
    text.remove_prefix(path_size + size);
  }
  return std::move(builder).finish();
}

bool is_bookkeeping(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNames{".git", ".hg", ".svn", ".bzr"};
  return std::ranges::any_of(split(path, '/'), [&](std::string_view segment) {
    return std::ranges::find(kNames, segment) != kNames.end();
  });
}

crypto::Digest digest_of(const PackageContent& content) {
  if (const auto* module = std::get_if<PackageModule>(&content)) return module->digest();
  return crypto::sha256(std::get<PackageTree>(content).encode());
}

Status PackageRoom::take(std::uint64_t bytes) {
  if (files_ == 0)
    return error(ErrorKind::Invalid, "{} has more than {} files", origin_, kMaxPackageFiles)
        .with_hint("is this the right directory? A package holds only what it needs");
  if (bytes > bytes_)
    return error(ErrorKind::Invalid, "{} is larger than {} MiB", origin_, kMaxPackageBytes >> 20)
        .with_hint("is this the right directory? A package holds only what it needs");
  --files_;
  bytes_ -= bytes;
  return {};
}

Status TreeBuilder::add(std::string path, std::string bytes) {
  if (const std::string objection = path_objection(path); !objection.empty())
    return error(ErrorKind::Invalid, "{} has a file whose path can't be used: {}", room_.origin(), objection)
        .with_hint("rename or remove that file");
  MIST_TRY_VOID(room_.take(bytes.size()));
  tree_.files.push_back({std::move(path), std::move(bytes)});
  return {};
}

Result<PackageTree> TreeBuilder::finish() && {
  if (tree_.files.empty())
    return error(ErrorKind::Invalid, "{} has no files", room_.origin())
        .with_hint("name a directory with a chart or Kubernetes YAML; hidden files don't count");
  std::ranges::sort(tree_.files, {}, &PackageFile::path);
  const auto twice = std::ranges::adjacent_find(tree_.files, {}, &PackageFile::path);
  if (twice != tree_.files.end())
    return error(ErrorKind::Invalid, "{} has two files at {}", room_.origin(), twice->path);
  std::vector<std::string_view> paths;
  for (const PackageFile& file : tree_.files) paths.emplace_back(file.path);
  if (const auto both = file_as_directory(paths))
    return error(ErrorKind::Invalid, "{} has both a file {} and a file {}", room_.origin(), both->first,
                 both->second)
        .with_hint("no directory can hold both: its author has to rename one of them");
  return std::move(tree_);
}

}  // namespace mist::registry
