#pragma once
// The index of a server as it was read last, in the directory of its registry: the chart repositories' and
// the catalogs'. Any thread; of two that write the last one counts.

#include <optional>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "registry/remote_file.h"

namespace mist::registry {

struct KeptIndex {
  KeptIndex(FileValidators of_it, std::string as_it_came);

  FileValidators validators;
  std::string text;
  std::string state;     ///< the text's digest: indexes have tens of MiB, so it is computed once
  bool doubted = false;  ///< has no validators then: a forged index may have come with those of the right one
};

/// nullopt: there is none, or it is damaged, so the index is fetched again.
std::optional<KeptIndex> read_kept_index(const FileSystem& files, const Path& directory);

/// Makes the directory, for this user alone. Errors: of FileSystem.
Status keep_index(FileSystem& files, const Path& directory, const KeptIndex& index);
/// There is none afterwards, if it can be removed.
void forget_kept_index(FileSystem& files, const Path& directory);

}  // namespace mist::registry
