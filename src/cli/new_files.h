#pragma once
// Files that a command writes for a person to begin with. One thread.

#include <map>
#include <string>

#include "cli/machine.h"

namespace mist::cli {

/// All of them, by relative path; scripts (*.sh) are executable. Conflict, before anything is written: some
/// are there already, and all of those are named.
Status write_new_files(Machine& machine, const Path& directory,
                       const std::map<std::string, std::string>& files);

}  // namespace mist::cli
