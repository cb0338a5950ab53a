#pragma once
// Seed and clock of renders outside a cluster: drawn once and kept in a file that only its owner may read, so
// that the same command gives the same bytes tomorrow.

#include "action/environment.h"
#include "base/fs.h"

namespace mist::action {

/// Reads `path`, or draws and writes it (mode 0600). Invalid: the file is damaged, or others may read it.
Result<Birth> local_birth(FileSystem& files, Random& random, const Clock& clock, const Path& path);

}  // namespace mist::action
