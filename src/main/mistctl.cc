// mistctl: builds the real World and runs one command in it.

#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/random.h"
#include "build_info.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/world.h"
#include "main/host_streams.h"
#include "main/interrupt.h"

namespace {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

mist::Path program_path(const char* argv0) {
  std::error_code failed;
  mist::Path path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::absolute(argv0, failed) : path;
}

}  // namespace

int main(int argc, char** argv) {
  mist::Interrupt interrupt;
  mist::HostInput in(0);
  mist::HostOutput out(1, "standard output", mist::Buffering::Blocks);
  mist::HostOutput err(2, "standard error", mist::Buffering::None);
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::SystemClock clock;
  mist::SystemRandom random;
  mist::cli::World world{
      .build = {.version = MIST_VERSION,
                .commit = MIST_COMMIT,
                .platform = MIST_PLATFORM,
                .compiler = MIST_COMPILER},
      .program = program_path(argc > 0 ? argv[0] : "mistctl"),
      .in = in,
      .out = out,
      .err = err,
      .files = files,
      .processes = processes,
      .clock = clock,
      .random = random,
      .environment = environment,
      .context = mist::Context(interrupt.token()),
      .connect = nullptr,
  };
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return static_cast<int>(mist::cli::run(args, world, mist::cli::command_table()));
}
