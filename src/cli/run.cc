#include "cli/run.h"

#include <utility>

#include "cli/output/help.h"
#include "cli/output/jsonl_progress.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"
#include "cli/output/style.h"
#include "cli/parse/parse.h"

namespace mist::cli {
namespace {

ProgressOptions progress_options(const Invocation& invocation) {
  const std::string form = invocation.text("events");
  return {.quiet = invocation.enabled("quiet"),
          .verbosity = invocation.count("verbose"),
          .form = form == "jsonl"   ? ProgressForm::Jsonl
                  : form == "lines" ? ProgressForm::Lines
                                    : ProgressForm::Auto,
          .explain = find_flag(invocation.command(), "explain") != nullptr && invocation.enabled("explain")};
}

Result<ExitCode> call(const Invocation& invocation, Machine& machine) {
  const std::string color = invocation.text("color");
  machine.color_out = wants_color(color, machine.out, machine);
  machine.color_err = wants_color(color, machine.err, machine);
  // The screen is clean again before anything else is written to it.
  machine.json_events = invocation.text("events") == "jsonl";
  const auto progress = make_progress(progress_options(invocation), machine);
  machine.events = progress.get();
  machine.screen = progress->screen();
  if (machine.out.is_terminal()) machine.out.share(machine.screen);
  auto result = invocation.command().run(invocation, machine);
  // The terminal showed ^C where the cursor stood; a live picture is painted over it.
  if (!result.ok() && result.error().kind == ErrorKind::Cancelled && machine.screen == nullptr &&
      machine.err.is_terminal() && !machine.json_events)
    machine.err.write("\n");
  machine.out.share(nullptr);
  machine.screen = nullptr;
  machine.events = nullptr;
  return result;
}

Result<ExitCode> parse_and_call(std::span<const std::string> args, Machine& machine,
                                const CommandTable& table) {
  machine.color_out = wants_color("auto", machine.out, machine);
  machine.color_err = wants_color("auto", machine.err, machine);
  MIST_TRY(const Parsed parsed, parse(args, table));
  if (const auto* topic = std::get_if<HelpTopic>(&parsed)) {
    machine.out.write(help_text(*topic, table, machine.out.columns(), machine.color_out));
    return ExitCode::Ok;
  }
  return call(std::get<Invocation>(parsed), machine);
}

}  // namespace

ExitCode run(std::span<const std::string> args, Machine& machine, const CommandTable& table) {
  const std::vector<std::string> version{"version"};
  if (args.size() == 1 && args[0] == "--version") args = version;
  machine.began = machine.clock.steady_now();
  machine.input_taken = false;
  auto result = parse_and_call(args, machine, table);
  // Also after a failure: what was printed before it still has to arrive, or the user must know.
  Status flushed = machine.out.flush();
  if (result.ok() && !flushed.ok()) result = std::move(flushed).error();
  const ExitCode code = result.ok() ? *result : exit_code_of(result.error());
  if (asks_for_events(args)) {
    write_finished_event(machine.err, machine.clock.now(), machine.clock.steady_now() - machine.began, code,
                         result.ok() ? nullptr : &result.error());
    return code;
  }
  if (result.ok()) return code;
  if (asks_for_json(args, table)) {
    machine.err.write(json_line(machine.err, error_to_value(result.error(), code)));
  } else {
    machine.err.write(render_error(result.error(), machine.color_err));
  }
  return code;
}

}  // namespace mist::cli
