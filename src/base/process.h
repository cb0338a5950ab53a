#pragma once
// Runs other programs (git, exec credential plugins) without a shell. They get no descriptor of ours beside
// stdin, stdout and stderr. Blocking; any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// The variables that a program starts with, before its own are added.
enum class BaseEnvironment : std::uint8_t {
  Ours,
  Empty,  ///< for a program that runs what strangers wrote: ours may hold credentials
};

/// Of a program and its descendants together (process_usage.h says which those are). It is looked at about
/// twenty times a second, so for a moment a program may use more. Nothing: no limit.
struct TreeLimits {
  /// Of all processes; each has at least one. Where there is a group of tasks for it (task_group.h), never
  /// more than that, and elsewhere, but for root, never many more.
  std::optional<std::size_t> threads = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::chrono::seconds> processor_time = {};
};
enum class TreeLimit : std::uint8_t { Threads, Memory, ProcessorTime };

inline constexpr std::size_t kMostThird = 4096;

struct Command {
  std::string program;                                    ///< looked up in our PATH when it has no slash
  std::vector<std::string> arguments;                     ///< without argv[0]
  std::map<std::string, std::optional<std::string>> env;  ///< added to `environment`; nullopt removes
  Path directory;                                         ///< empty: ours
  std::string input;                                      ///< given on stdin, then closed
  /// Content of file descriptor 3, for it to read: at most kMostThird bytes, which a pipe holds. It comes
  /// once the program is within its limits.
  std::string third = {};
  bool inherit_stderr = false;  ///< for programs that talk to the user
  bool inherit_stdin = false;
  std::uint64_t output_limit = 64u << 20;  ///< bytes of stdout and of stderr kept
  /// Bytes that each file may have that it or a child of it writes (RLIMIT_FSIZE): SIGXFSZ. Nothing: as here.
  std::optional<std::uint64_t> file_limit = {};
  /// Over one of them, its process group is killed. A process that left the group ends only if it depends
  /// on the program, as in the PID namespace of bubblewrap's --die-with-parent.
  TreeLimits tree = {};
  bool in_control_group = false;  ///< its tasks have a bound, which it sets itself: ControlGroup::inside
  /// Called on the calling thread with what has come on stderr while the program goes on: about a third of a
  /// second late, so not with the last words of one that ends. It stands in the result all the same.
  std::function<void(std::string_view)> on_stderr = {};
  /// Called on the calling thread with what comes on stdout, as it comes; it isn't kept for the result then.
  /// All of it counts against output_limit.
  std::function<void(std::string_view)> on_stdout = {};
  /// For a program that ends when its stdin does: that stays open behind `input`. When the context ends,
  /// stdin is closed, and the program is killed if it goes on for longer than this. One that ends in time is
  /// a result. Nothing: stdin ends with `input`, and the program is killed at once.
  std::optional<std::chrono::milliseconds> farewell = {};
  BaseEnvironment environment = BaseEnvironment::Ours;
};

struct ProcessResult {
  int exit_code = 0;  ///< 128 + n after signal n
  std::string out;
  std::string err;
  /// Why it was killed, if it was; then exit_code is 128 + SIGKILL. Also of one that ended by itself, if
  /// something that it wanted to start would have been too much.
  std::optional<TreeLimit> exceeded = {};
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  /// A program that ran and failed is a result, not an error. Errors: NotFound (no such program), Timeout and
  /// Cancelled (its process group was killed), Invalid (output over the limit), Internal.
  virtual Result<ProcessResult> run(const Command& command, const Context& context) = 0;
};

class HostProcessRunner final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Context& context) override;
};

}  // namespace mist
