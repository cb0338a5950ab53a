#include "cli/new_files.h"

#include <vector>

#include "base/text.h"

namespace mist::cli {

Status write_new_files(Machine& machine, const Path& directory,
                       const std::map<std::string, std::string>& files) {
  std::vector<std::string> there;
  for (const auto& [path, text] : files) {
    if (machine.files.exists(directory / path)) there.push_back((directory / path).string());
  }
  if (!there.empty())
    return error(ErrorKind::Conflict, "{} of the template exist already in {}", plural(there.size(), "file"),
                 escape_controls(directory.string()))
        .with_because(join(there, "\n"))
        .with_hint("nothing was written; choose another directory, or move them away");
  for (const auto& [path, text] : files) {
    WriteOptions options = kUsersFile;
    options.exclusive = true;
    if (path.ends_with(".sh")) options.mode = 0777;
    MIST_TRY_VOID(machine.files.write(directory / path, text, options).in("while writing the template"));
  }
  return {};
}

}  // namespace mist::cli
