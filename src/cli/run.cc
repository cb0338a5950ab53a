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

Result<ExitCode> call(const Invocation& invocation, World& world) {
  const std::string color = invocation.text("color");
  world.color_out = wants_color(color, world.out, world);
  world.color_err = wants_color(color, world.err, world);
  // The screen is clean again before anything else is written to it.
  world.json_events = invocation.text("events") == "jsonl";
  const auto progress = make_progress(progress_options(invocation), world);
  world.events = progress.get();
  world.screen = progress->screen();
  if (world.out.is_terminal()) world.out.share(world.screen);
  auto result = invocation.command().run(invocation, world);
  // The terminal showed ^C where the cursor stood; a live picture is painted over it.
  if (!result.ok() && result.error().kind == ErrorKind::Cancelled && world.screen == nullptr &&
      world.err.is_terminal() && !world.json_events)
    world.err.write("\n");
  world.out.share(nullptr);
  world.screen = nullptr;
  world.events = nullptr;
  return result;
}

Result<ExitCode> parse_and_call(std::span<const std::string> args, World& world, const CommandTable& table) {
  world.color_out = wants_color("auto", world.out, world);
  world.color_err = wants_color("auto", world.err, world);
  MIST_TRY(const Parsed parsed, parse(args, table));
  if (const auto* topic = std::get_if<HelpTopic>(&parsed)) {
    world.out.write(help_text(*topic, table, world.out.columns(), world.color_out));
    return ExitCode::Ok;
  }
  return call(std::get<Invocation>(parsed), world);
}

}  // namespace

ExitCode run(std::span<const std::string> args, World& world, const CommandTable& table) {
  const std::vector<std::string> version{"version"};
  if (args.size() == 1 && args[0] == "--version") args = version;
  world.began = world.clock.steady_now();
  world.input_taken = false;
  auto result = parse_and_call(args, world, table);
  // Also after a failure: what was printed before it still has to arrive, or the user must know.
  Status flushed = world.out.flush();
  if (result.ok() && !flushed.ok()) result = std::move(flushed).error();
  const ExitCode code = result.ok() ? *result : exit_code_of(result.error());
  if (asks_for_events(args)) {
    write_finished_event(world.err, world.clock.now(), world.clock.steady_now() - world.began, code,
                         result.ok() ? nullptr : &result.error());
    return code;
  }
  if (result.ok()) return code;
  if (asks_for_json(args, table)) {
    world.err.write(json_line(world.err, error_to_value(result.error(), code)));
  } else {
    world.err.write(render_error(result.error(), world.color_err));
  }
  return code;
}

}  // namespace mist::cli
