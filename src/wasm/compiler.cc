#include "wasm/compiler.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "wasm/component_code.h"
#include "wasm/engine.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kModuleWord = "module", kComponentWord = "component";
constexpr int kNotAModule = 10;  // the reason is on stderr
constexpr int kNotLimited = 11;  // the limits can't be set
constexpr int kMisused = 12;
constexpr int kBySignal = 128;
constexpr unsigned kMostThreads = 16;
// Addresses, not memory: a thread's arenas of malloc and its stack, and the program itself.
constexpr std::uint64_t kAddressesOfThread = std::uint64_t{136} << 20;
constexpr std::uint64_t kAddressesOfProgram = std::uint64_t{512} << 20;
constexpr int kDeadlineFactor = 10;  // of processor time: a busy machine, not a process that hangs

bool set_limit(decltype(RLIMIT_AS) which, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return false;
  // A limit that somebody set lower stays.
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_max = limit.rlim_cur;
  return ::setrlimit(which, &limit) == 0;
}

// SIGXCPU comes at the soft limit; the hard one, a second later, kills.
bool set_cpu_limit(std::uint64_t seconds) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0) return false;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, seconds);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, seconds + 1);
  return ::setrlimit(RLIMIT_CPU, &limit) == 0;
}

// A sanitizer maps terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

bool limit_this_process(std::uint64_t memory, std::uint64_t seconds, unsigned threads) {
  ::mallopt(M_ARENA_MAX, static_cast<int>(threads));
  ::signal(SIGXCPU, SIG_DFL);
  ::signal(SIGABRT, SIG_DFL);
  return set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, 0) && set_cpu_limit(seconds) &&
         (kIsSanitized ||
          (set_limit(RLIMIT_DATA, memory) &&
           set_limit(RLIMIT_AS, memory + kAddressesOfProgram + threads * kAddressesOfThread)));
}

std::optional<std::uint64_t> number(const char* text) {
  const std::string_view view = text;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (code != std::errc{} || end != view.data() + view.size()) return std::nullopt;
  return value;
}

bool read_all(int fd, std::string& text) {
  std::vector<char> buffer(std::size_t{1} << 16);
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

bool write_all_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

int compile_stdin(const CompileSettings& settings) {
  std::string wasm;
  if (!read_all(STDIN_FILENO, wasm)) return kMisused;
  const EngineHandle engine = make_engine(settings.stack_bytes, settings.optimise, settings.kind);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(wasm.data());
  ModuleHandle module;
  ComponentHandle component;
  const bool is_module = settings.kind == BinaryKind::Module;
  const FailureHandle refused(
      is_module ? wasmtime_module_new(engine.get(), bytes, wasm.size(), out_ptr(module))
                : wasmtime_component_new(engine.get(), bytes, wasm.size(), out_ptr(component)));
  if (refused) {
    write_all_to(STDERR_FILENO, message_of(*refused));
    return kNotAModule;
  }
  wasm_byte_vec_t code;
  const FailureHandle failed(is_module ? wasmtime_module_serialize(module.get(), &code)
                                       : wasmtime_component_serialize(component.get(), &code));
  if (failed) return kMisused;
  const bool is_written = write_all_to(STDOUT_FILENO, {code.data, code.size});
  wasm_byte_vec_delete(&code);
  return is_written ? 0 : kMisused;
}

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

std::uint64_t whole_seconds(Duration time) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(time).count()));
}

Error reached(std::string_view name, std::string_view what, LimitFlags flags, std::string_view flag) {
  return error(ErrorKind::Invalid, "compiling {} {}", name, what)
      .with_hint(has_flag(flags, flag)
                     ? fmt::format("do not use this package unless you trust it; if you do, raise {}", flag)
                     : std::string("make the package smaller: no flag of this program raises this limit"));
}

Error too_much_code(std::string_view name, const CompileLimits& limits) {
  return error(ErrorKind::Invalid, "the compiled code of {} would be larger than {}", name,
               mebibytes(limits.code_bytes))
      .with_hint("build the package so that it needs less code");
}

// The end of what it wrote to stderr: a crash explains itself last.
std::string last_words(const ProcessResult& ended) {
  constexpr std::size_t kMost = 4096;
  const std::string_view text = ended.err;
  return escape_controls(text.substr(text.size() - std::min(text.size(), kMost)), true);
}

Error failure_of_process(const ProcessResult& ended, std::string_view name, const CompileLimits& limits) {
  switch (ended.exit_code) {
    case kNotAModule:
      return not_compiled(name, escape_controls(ended.err, true));
    case kBySignal + SIGXCPU:
      return reached(
          name, fmt::format("reached its limit of {} s of processor time", whole_seconds(limits.cpu_time)),
          limits.flags, "--limit-compile-time");
    // An allocation that fails aborts. So would a defect of the compiler, which its last words tell apart.
    case kBySignal + SIGABRT:
      return reached(name, fmt::format("reached its memory limit of {}", mebibytes(limits.memory_bytes)),
                     limits.flags, "--limit-compile-memory")
          .with_because(last_words(ended));
    case kBySignal + SIGKILL:
      return error(ErrorKind::Internal, "the compiler of {} was killed", name)
          .with_because("this machine or its container may have no memory left")
          .with_hint("free some memory, then try again");
    default:
      return error(ErrorKind::Internal, "the compiler of {} ended with exit code {}", name, ended.exit_code)
          .with_because(last_words(ended))
          .with_hint("mistctl doctor");
  }
}

}  // namespace

Result<std::string> ProcessCompiler::compile(std::span<const std::byte> wasm, std::string_view name,
                                             const CompileSettings& settings) {
  const CompileLimits limits = limits_for(limits_, wasm.size());
  Command command;
  command.program = program_.string();
  command.arguments = {std::string(kCompileVerb),
                       std::to_string(settings.stack_bytes),
                       settings.optimise ? "speed" : "none",
                       std::to_string(limits.memory_bytes),
                       std::to_string(whole_seconds(limits.cpu_time)),
                       std::string(settings.kind == BinaryKind::Component ? kComponentWord : kModuleWord)};
  command.env = {{"RUST_BACKTRACE", std::nullopt}, {"RUST_LIB_BACKTRACE", std::nullopt}};
  command.input.assign(reinterpret_cast<const char*>(wasm.data()), wasm.size());
  command.output_limit = limits.code_bytes;
  Result<ProcessResult> ended =
      processes_.run(command, context_.with_timeout(limits.cpu_time * kDeadlineFactor));
  if (!ended.ok()) {
    // The only input that it refuses is what comes back.
    if (ended.error().kind == ErrorKind::Invalid) return too_much_code(name, limits);
    return std::move(ended).error().with_frame(fmt::format("while compiling {}", name));
  }
  if (ended->exit_code != 0) return failure_of_process(*ended, name, limits);
  return std::move(ended->out);
}

Path this_program(const Path& otherwise) {
  // Resolved by the process that is to become it, which then is still this program.
  constexpr const char* kSelf = "/proc/self/exe";
  return ::access(kSelf, X_OK) == 0 ? Path(kSelf) : otherwise;
}

int run_compiler(std::span<char* const> arguments) {
  if (arguments.size() != 5) return kMisused;
  const std::string_view kind = arguments[4];
  if (kind != kModuleWord && kind != kComponentWord) return kMisused;
  const auto stack = number(arguments[0]), memory = number(arguments[2]), seconds = number(arguments[3]);
  if (!stack || !memory || !seconds) return kMisused;
  // Nobody waits for the code of a program that is gone.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  ::setenv("RAYON_NUM_THREADS", std::to_string(threads).c_str(), 1);
  if (!limit_this_process(*memory, *seconds, threads)) return kNotLimited;
  return compile_stdin({.stack_bytes = *stack,
                        .optimise = std::string_view(arguments[1]) == "speed",
                        .kind = kind == kComponentWord ? BinaryKind::Component : BinaryKind::Module});
}

}  // namespace mist::wasm
