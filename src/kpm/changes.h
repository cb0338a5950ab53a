#pragma once
// The differences between the files of a Kube in an archive and those of a working copy. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "registry/package_files.h"

namespace mist::kpm {

enum class ChangeKind : std::uint8_t { Added, Changed, Removed };
std::string_view to_string(ChangeKind kind);  ///< "added", "changed", "removed"

struct FileChange {
  std::string path;
  ChangeKind kind = ChangeKind::Changed;
  bool is_binary = false;               ///< one side isn't text: `lines` is empty
  std::vector<std::string> lines = {};  ///< as unified_file_diff has them
};

/// By path. Hidden files that only `before` has aren't counted: a working copy is made without them.
std::vector<FileChange> changes_between(const registry::PackageTree& before,
                                        const registry::PackageTree& after, std::size_t context);

}  // namespace mist::kpm
