// The canonical text of a tree of files: what can be read has this text and no other, and no path leads out.
#include "registry/package_files.h"
#include "registry/reference.h"
#include "targets.h"

namespace mist::fuzz {

void package_tree(std::string_view bytes) {
  const auto tree = registry::PackageTree::decode(bytes);
  if (!tree.ok()) return check_error(tree.error());
  for (const registry::PackageFile& file : tree->files)
    if (!registry::path_objection(file.path).empty()) fail("a path that isn't allowed", file.path);
  if (tree->encode() != bytes) fail("another text of the same tree", tree->encode());
}

}  // namespace mist::fuzz
