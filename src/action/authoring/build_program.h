#pragma once
// A package's sources and the toolchain of their language: what `mistctl package build DIRECTORY` does with a
// program. It runs the user's compiler, so nothing that only reads or renders packages comes here. One
// thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"

namespace mist::action {

/// Where a program says what it takes, if mistletoe.yaml has no `spec.inputs`.
enum class InputsFrom : std::uint8_t {
  Metadata,  ///< nowhere else
  Program,   ///< it answers a MistDescribe document (docs/formats/abi.md)
  Module,    ///< its compiler wrote all of the metadata into the module
};

/// The environment of this process.
using Variables = std::function<std::optional<std::string>(std::string_view name)>;

struct Toolchain {
  std::string_view language;                   ///< as in package::program_marks()
  std::span<const std::string_view> programs;  ///< looked up in PATH, the first that is there
  std::string_view needs;   ///< for users that lack the program: what it is, where it comes from
  std::string_view advice;  ///< for callers that have it, and it fails; empty: nothing
  InputsFrom inputs;
  /// The command to make `output` (an absolute path) in the directory. Errors as those of compile_program.
  Result<Command> (*command)(const FileSystem& files, const Path& directory, const std::string& output,
                             const Variables& environment, EventSink& events);
};

/// The one of this directory; null: it holds no program.
const Toolchain* find_toolchain(const FileSystem& files, const Path& directory);

/// The bytes of the module or component that the toolchain makes of `directory`. Errors: NotFound (the
/// toolchain isn't there, or what it needs from a package registry wasn't installed; the hint is the command
/// to run), Invalid (what the compiler says is in `because`), Timeout, Cancelled.
Result<std::string> compile_program(const Toolchain& toolchain, FileSystem& files, ProcessRunner& processes,
                                    const Variables& environment, EventSink& events, const Path& directory,
                                    const Context& context);

}  // namespace mist::action
