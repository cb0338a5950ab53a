// What `git ls-tree -r -z` prints of a repository that somebody else made, and the packages in it.
#include "registry/layout.h"
#include "targets.h"

namespace mist::fuzz {

void git_listing(std::string_view bytes) {
  using namespace registry;
  auto entries = parse_tree_listing(bytes);
  if (!entries.ok()) return;  // git itself wrote it: Internal
  const PackageIndex index(*entries);
  std::size_t versions = 0;
  for (const auto& [path, there] : index.packages()) {
    for (const std::string& version : there) {
      ++versions;
      const auto reference = PackageRef::parse("team/" + path + ":" + version);
      if (!reference.ok()) fail("a package that nobody can name", path + ":" + version);
      const auto* const named = std::get_if<RegistryRef>(&reference->form());
      if (named == nullptr) fail("a package that is something else", path + ":" + version);
      if (const auto found = index.find(*named); !found.ok()) check_error(found.error());
    }
  }
  if (versions != index.version_count()) fail("another number of versions", "");
  for (const TreeEntry& entry : *entries) {
    if (const auto found = index.find_path(entry.path); !found.ok()) check_error(found.error());
    (void)index.is_directory(entry.path);
  }
  (void)index.submodules();
  (void)index.directories_with("Chart.yaml");
}

}  // namespace mist::fuzz
