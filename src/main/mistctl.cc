// mistctl: builds the real Machine and runs one command in it.

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/random.h"
#include "build_info.h"
#include "cli/commands.h"
#include "cli/host_streams.h"
#include "cli/machine.h"
#include "cli/output/style.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "cli/run.h"
#include "engine_digests.h"
#include "kube/connect.h"
#include "kube_types_digests.h"
#include "main/exhaustion.h"
#include "main/interrupt.h"
#include "wasm/compiler.h"

namespace {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// A program that was started with a standard descriptor closed would otherwise get some file as that
// descriptor, and results would go there. Opened the wrong way round, using them is still an error.
void occupy_standard_descriptors() {
  for (const int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0) {
      // The lowest free number is `fd` itself.
      [[maybe_unused]] const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

mist::Path program_path(const char* argv0) {
  std::error_code failed;
  mist::Path path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::absolute(argv0, failed) : path;
}

mist::Result<std::unique_ptr<mist::kube::Client>> connect(const mist::cli::ClusterChoice& choice,
                                                          mist::cli::Machine& machine) {
  MIST_TRY(const mist::config::Paths paths, mist::cli::paths_of(machine));
  mist::kube::ConnectOptions options{
      .kubeconfig = choice.kubeconfig,
      .context = choice.context,
      .ns = choice.ns,
      .user_agent = mist::kube::user_agent("mistctl", machine.build.version),
      .cache_directory = paths.discovery(),
  };
  options.retry.tracer = mist::cli::request_tracer(*machine.events);
  MIST_TRY(auto client, mist::kube::connect(options, {.fs = machine.files,
                                                      .processes = machine.processes,
                                                      .clock = machine.clock,
                                                      .random = machine.random,
                                                      .events = *machine.events,
                                                      .getenv = machine.environment,
                                                      .interactive_terminal = machine.in.is_terminal()}));
  return client;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  occupy_standard_descriptors();
  mist::explain_exhaustion();
  mist::Interrupt interrupt;
  mist::cli::HostInput in(0);
  mist::cli::HostOutput out(1, "standard output", mist::cli::Buffering::Blocks);
  mist::cli::HostOutput err(
      2, "standard error", mist::cli::Buffering::None,
      mist::cli::takes_utf8(environment) ? mist::cli::Drawing::Utf8 : mist::cli::Drawing::Ascii);
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::SystemClock clock;
  mist::SystemRandom random;
  mist::cli::Machine machine{
      .build = {.version = MIST_VERSION,
                .commit = MIST_COMMIT,
                .platform = MIST_PLATFORM,
                .compiler = MIST_COMPILER,
                .engines = mist::package::kEngineDigests,
                .kube_types = mist::package::kKubeTypesDigests},
      .program = program_path(argc > 0 ? argv[0] : "mistctl"),
      .in = in,
      .out = out,
      .err = err,
      .files = files,
      .processes = processes,
      .clock = clock,
      .random = random,
      .environment = environment,
      .pulse = &interrupt.pulse(),
      .context = mist::Context(interrupt.token()),
      .connect = connect,
  };
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  // As kpm, it is the group of commands of that name.
  const bool is_whole =
      !args.empty() && (args[0] == "__complete" || (args.size() == 1 && args[0] == "--version"));
  mist::cli::CommandTable table = mist::cli::command_table();
  if (argc > 0 && mist::Path(argv[0]).filename() == "kpm" && !is_whole) {
    args.insert(args.begin(), "kpm");
    table.called_as = "kpm";
  }
  return static_cast<int>(mist::cli::run(args, machine, table));
}
