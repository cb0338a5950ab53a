#pragma once
// Files that the user names, where "-" is standard input. One thread.

#include <cstdint>
#include <string>

#include "cli/machine.h"

namespace mist::cli {

inline constexpr std::string_view kStandardInput = "-";

/// The content of the file, or all of standard input. Usage: a second "-" in one run, which would find
/// nothing there. Other errors: of FileSystem::read() and Input::read_all().
Result<std::string> read_named_file(Machine& machine, const std::string& name, std::uint64_t limit);

}  // namespace mist::cli
