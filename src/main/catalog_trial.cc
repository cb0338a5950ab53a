#include "main/catalog_trial.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/process_limits.h"
#include "base/readable.h"
#include "build_info.h"
#include "catalog/poller.h"
#include "catalog/trial_messages.h"
#include "catalog/trial_process.h"
#include "main/catalog_machine.h"
#include "main/catalog_workers.h"
#include "main/interrupt.h"
#include "main/printing.h"

namespace mist {
namespace {

// The next piece of standard input; empty: it has ended.
Result<std::string> read_piece(const Context& context) {
  MIST_TRY_VOID(wait_readable(STDIN_FILENO, context));
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (n < 0) return errno_error("read", "standard input", errno);
  return std::string(buffer.data(), static_cast<std::size_t>(n));
}

Result<catalog::TrialRequest> read_request(const Context& context) {
  std::string text;
  while (!text.ends_with('\n')) {
    MIST_TRY(const std::string piece, read_piece(context));
    if (piece.empty()) return error(ErrorKind::Invalid, "standard input ends before the request does");
    text += piece;
  }
  return catalog::TrialRequest::from_line(text);
}

// Stops the trial when the worker closes our standard input: its own context ended.
void watch_worker(const std::stop_source& worker, const std::stop_token& stop) {
  const Context until_stopped{stop};
  for (;;) {
    const auto piece = read_piece(until_stopped);
    if (stop.stop_requested()) return;
    if (piece.ok() && !piece->empty()) continue;
    worker.request_stop();
    return;
  }
}

Status answer(const Path& program) {
  Interrupt interrupt;
  std::stop_source worker;
  const std::stop_callback stopped(interrupt.token(), [&] { worker.request_stop(); });
  SystemClock clock;
  LineLog log(clock, false);
  Machine machine{.program = program,
                  .context = Context(worker.get_token()),
                  .pulse = interrupt.pulse(),
                  .clock = clock,
                  .log = log};
  MIST_TRY(const catalog::TrialRequest request, read_request(machine.context));
  MIST_TRY_VOID(deliver_result(catalog::hello_line(program_version())));
  const std::jthread watching([&](const std::stop_token& stop) { watch_worker(worker, stop); });
  catalog::FileBlobs packages(machine.files, catalog::kTrialPackages);
  return deliver_result(catalog::end_line(run_requested_trial(machine, request, {.root = catalog::kTrialHome},
                                                              packages, catalog::report_by(deliver_result))));
}

}  // namespace

Result<bool> run_requested_trial(Machine& machine, const catalog::TrialRequest& request,
                                 const catalog::DataPlaces& places, catalog::Blobs& packages,
                                 const catalog::TrialReport& report) {
  LimitedProcessRunner limited(catalog::kStrangersGitLimits);
  catalog::IsolatedGit git(
      limited, places.cache() / "git",
      request.git_through_proxy ? catalog::GitProxy::OfEnvironment : catalog::GitProxy::None);
  MIST_TRY_VOID(config::make_private_directory(machine.files, places.work()));
  MIST_TRY_VOID(config::make_private_directory(machine.files, places.cache() / "git"));
  MIST_TRY(catalog::TrialDependencies dependencies,
           trial_dependencies({.machine = machine,
                               .places = places,
                               .blobs = packages,
                               .git = git,
                               .instance = request.instance,
                               .timeout = request.timeout,
                               .cluster = {request.kubeconfig, request.context}}));
  dependencies.longest = request.longest;
  dependencies.spent = request.spent;
  dependencies.isolation = request.isolation;
  return catalog::run_trial(dependencies, request.job, report, machine.context, request.part);
}

int run_trial_process(const Path& program) {
  const Status answered = answer(program);
  if (answered.ok()) return 0;
  print_to(2, fmt::format("error: {}\n", answered.error().to_line()));
  return 1;
}

}  // namespace mist
