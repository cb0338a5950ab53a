// mistletoe-catalog: the catalog's server, its workers, and the commands of whoever runs it.

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/text.h"
#include "build_info.h"
#include "catalog/trial_jobs.h"
#include "catalog/trial_process.h"
#include "main/catalog_accounts.h"
#include "main/catalog_data.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"
#include "main/catalog_serve.h"
#include "main/catalog_trial.h"
#include "main/catalog_workers.h"
#include "main/exhaustion.h"
#include "main/interrupt.h"
#include "main/line_log.h"
#include "main/printing.h"
#include "wasm/compiler.h"

namespace mist {
namespace {

Status run(const CommandLine& line, Machine& machine) {
  MIST_TRY(const DataPlace place, data_place(line, machine.files));
  const std::string& command = line.command;
  if (command == "serve") return serve(line, machine, place);
  if (command == "worker") return worker(line, machine, place);
  if (command == "backup" || command == "restore") {
    const Path other = std::filesystem::absolute(line.arguments[0]).lexically_normal();
    if (command == "backup") return back_up(machine.files, place, other, machine.context);
    return restore(
        machine.files, place, other, machine.context,
        line.has("--same-catalog") ? catalog::RestoredAs::TheSame : catalog::RestoredAs::AnotherCatalog);
  }
  MIST_TRY(const CatalogData data, open_data(place, machine));
  return run_account_command(line, machine, data);
}

constexpr int kInterrupted = 130;

// Of another command, that it was stopped means that it wasn't done.
bool runs_until_stopped(const CommandLine& line) {
  return line.command == "serve" || line.command == "worker";
}

int fail(const Error& failure) {
  print_to(2, fmt::format("error: {}\n", escape_controls(failure.to_line())));
  if (!failure.hint.empty()) print_to(2, fmt::format("try: {}\n", escape_controls(failure.hint)));
  return failure.kind == ErrorKind::Usage ? 2 : 1;
}

}  // namespace
}  // namespace mist

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == mist::wasm::kCompileVerb)
    return mist::wasm::run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  if (argc > 1 && argv[1] == mist::catalog::kTrialVerb) {
    std::error_code unknown;
    return mist::run_trial_process(std::filesystem::read_symlink("/proc/self/exe", unknown));
  }
  if (argc > 2 && argv[1] == std::string_view(mist::catalog::kIsProgramVerb)) {
    if (argv[2] == mist::program_version()) return 0;
    mist::print_to(2, fmt::format("this is mistletoe-catalog {}, the worker is {}\n", mist::program_version(),
                                  mist::escape_controls(argv[2])));
    return mist::catalog::kAnotherProgram;
  }
  mist::explain_exhaustion();
  mist::Interrupt interrupt;
  const auto words = std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0);
  const auto asks = [&](std::string_view flag) {
    return std::ranges::any_of(words, [&](const char* word) { return word == flag; });
  };
  if (asks("--help") || asks("-h") || asks("--version")) {
    const mist::Status printed =
        mist::print_result(asks("--version") ? fmt::format("mistletoe-catalog {}\n", MIST_VERSION)
                                             : std::string(mist::catalog_usage()));
    return printed.ok() ? 0 : mist::fail(printed.error());
  }
  const auto line = mist::parse_catalog_line(words);
  if (!line.ok()) {
    mist::print_to(2, fmt::format("error: {}\nmistletoe-catalog --help lists commands and flags\n",
                                  line.error().message));
    return 2;
  }
  mist::SystemClock clock;
  mist::LineLog log(clock, line->has("--verbose"));
  std::error_code failed;
  mist::Machine machine{.program = std::filesystem::read_symlink("/proc/self/exe", failed),
                        .context = mist::Context(interrupt.token()),
                        .pulse = interrupt.pulse(),
                        .clock = clock,
                        .log = log};
  const mist::Status done = mist::run(*line, machine);
  if (done.ok()) return 0;
  if (interrupt.token().stop_requested() && done.error().kind == mist::ErrorKind::Cancelled)
    return mist::runs_until_stopped(*line) ? 0 : mist::kInterrupted;
  return mist::fail(done.error());
}
