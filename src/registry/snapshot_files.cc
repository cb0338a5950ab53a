#include "registry/snapshot_files.h"

#include <algorithm>
#include <set>

namespace mist::registry {

Result<std::vector<std::string>> SnapshotFiles::read(const std::vector<NamedFile>& files) const {
  std::vector<std::string> texts;
  if (files.empty()) return texts;
  Located wanted{.is_tree = true, .path = {}, .entries = {}, .object = {}, .chosen = true};
  std::set<std::string_view> seen;
  for (const NamedFile& file : files)
    if (seen.insert(file.path).second) wanted.entries.push_back(*index_.entry_at(file.path));
  MIST_TRY(const PackageContent content, store_.read(snapshot_, wanted, context_));
  const std::vector<PackageFile>& found = std::get<PackageTree>(content).files;
  for (const NamedFile& file : files)
    texts.push_back(std::ranges::lower_bound(found, file.path, {}, &PackageFile::path)->bytes);
  return texts;
}

Result<std::vector<PackageFile>> SnapshotFiles::read_all(const std::string& directory) const {
  MIST_TRY(const Located located, index_.find_path(directory));
  MIST_TRY(PackageContent content, store_.read(snapshot_, located, context_));
  std::vector<PackageFile> files = std::move(std::get<PackageTree>(content).files);
  for (PackageFile& file : files) file.path = joined(directory, file.path);
  return files;
}

std::string SnapshotFiles::top() const { return fmt::format("the repository {}", store_.url().display()); }

}  // namespace mist::registry
