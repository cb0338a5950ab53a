#pragma once
// One whole run of mistctl: parse, set up progress and colors, call the handler, report.

#include <span>
#include <string>

#include "cli/machine.h"
#include "cli/parse/command.h"

namespace mist::cli {

/// `args` is argv without the program's name. Draws errors on `machine.err` (as JSON when `-o json` was
/// given), flushes `machine.out`, and returns the exit code of the process.
ExitCode run(std::span<const std::string> args, Machine& machine, const CommandTable& table);

}  // namespace mist::cli
