#pragma once
// Compiles modules and components in a process of their own, with limits on memory and processor time: what
// comes from elsewhere may be made to need gigabytes and minutes, and an allocation that fails ends the
// process that it happens in. The process is this program once more, with kCompileVerb as its first argument;
// the module is its standard input, the code its standard output.

#include <span>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "wasm/binary.h"
#include "wasm/compile_limits.h"

namespace mist::wasm {

/// The settings that change what is compiled.
struct CompileSettings {
  std::size_t stack_bytes = std::size_t{1} << 20;
  bool optimise = false;
  BinaryKind kind = BinaryKind::Module;
};

/// Any thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Code for a Runtime with these settings. Invalid for what is not a module and for one that reaches a
  /// limit, naming it; Timeout and Cancelled as the process's context says; Internal.
  virtual Result<std::string> compile(std::span<const std::byte> wasm, std::string_view name,
                                      const CompileSettings& settings) = 0;
};

class ProcessCompiler final : public Compiler {
 public:
  /// `program` calls run_compiler() where its first argument is kCompileVerb. `processes` outlives this.
  ProcessCompiler(ProcessRunner& processes, Path program, CompileLimits limits, Context context)
      : processes_(processes), program_(std::move(program)), limits_(limits), context_(std::move(context)) {}

  Result<std::string> compile(std::span<const std::byte> wasm, std::string_view name,
                              const CompileSettings& settings) override;

 private:
  ProcessRunner& processes_;
  Path program_;
  CompileLimits limits_;
  Context context_;
};

inline constexpr std::string_view kCompileVerb = "__compile-module";

/// The program that runs, by a name that still means it after its file was replaced by an upgrade; where
/// there is no /proc, `otherwise`.
Path this_program(const Path& otherwise);

/// The compiler's process: `arguments` are those behind kCompileVerb. Returns its exit code. Call it first of
/// all: no other thread may run yet, because it limits the whole process.
int run_compiler(std::span<char* const> arguments);

}  // namespace mist::wasm
