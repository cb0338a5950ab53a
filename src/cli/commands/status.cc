#include "action/query/status.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/output/redrawn_text.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "encoding/json.h"
#include "view/diagnosis_tree.h"
#include "view/status.h"

namespace mist::cli {
namespace {

using action::ReleaseStatus;

constexpr Flag kFlags[] = {
    {.name = "all-objects", .help = "A line for every object, also of large releases"},
    {.name = "notes", .help = "Only the notes that the package left when it was deployed"},
    {.name = "watch",
     .letter = 'w',
     .help = "Show it again whenever something changes, until Ctrl-C; with --exit-code until it is decided"},
    {.name = "exit-code", .help = "Exit with 3 unless the release is deployed and every object is ready"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl status web", "The release's objects, and why some are not ready"},
    {"mistctl status web --notes", "The notes of the package after the installation"},
    {"mistctl status web --watch", "Follow it until Ctrl-C"},
    {"mistctl status web --watch --exit-code", "For scripts: wait until it is ready (0) or stuck (3)"},
};
constexpr Example kKpmExamples[] = {
    {"kpm status etcd-standalone", "Its objects, and why some are not ready"},
    {"kpm status etcd-standalone --watch", "Follow it until Ctrl-C"},
};

void print_notes(Machine& machine, const ReleaseStatus& status) {
  const std::string_view notes = trim(view::notes_of(status));
  if (notes.empty())
    machine.events->info(fmt::format("the package of {} left no notes", status.anchor.id.display()));
  else
    machine.out.write(escape_controls(notes, true) + "\n");
}

std::string text_of(const Machine& machine, const ReleaseStatus& status, WallTime now,
                    const view::StatusOptions& options) {
  std::string text = view::status_text(status, now, options);
  if (status.diagnosis) {
    const std::string tree = join(view::diagnosis_lines(*status.diagnosis, options.color), "\n");
    const bool ascii = machine.out.is_terminal() && !takes_utf8(machine.environment);
    text += fmt::format("\n{}\n", ascii ? view::in_ascii(tree) : tree);
  }
  return text;
}

view::StatusOptions options_of(const Invocation& invocation, const Machine& machine) {
  return {.all_objects = invocation.enabled("all-objects"), .color = machine.color_out};
}

// Looks again and again, and shows what is new.
class Watching {
 public:
  Watching(const Invocation& invocation, Machine& machine, const Cluster& cluster, release::ReleaseId id)
      : invocation_(invocation),
        machine_(machine),
        cluster_(cluster),
        id_(std::move(id)),
        frame_(machine.out),
        began_(machine.clock.now()) {}

  Result<ExitCode> run() {
    constexpr auto kPause = std::chrono::seconds(2);
    for (bool first = true;; first = false) {
      auto status = look(first);
      if (!machine_.context.check().ok()) return ExitCode::Interrupted;
      if (!status.ok() && (first || !passes(status.error()))) return std::move(status).error();
      if (status.ok()) {
        show(*status);
        if (invocation_.enabled("exit-code") && (status->is_healthy() || status->is_stuck()))
          return status->is_healthy() ? ExitCode::Ok : ExitCode::Differences;
      }
      if (machine_.out.broken()) return unread();
      if (!machine_.clock.sleep(kPause, machine_.context.stop())) return ExitCode::Interrupted;
    }
  }

 private:
  // Nobody sees any more of it. An output that can't be written is an error of run(), which flushes it.
  ExitCode unread() const { return invocation_.enabled("exit-code") ? ExitCode::Differences : ExitCode::Ok; }

  // Events that go on while somebody looks at the result are no news after the first time.
  Result<ReleaseStatus> look(bool first) {
    NullEventSink nobody;
    const action::Environment& ours = cluster_.environment;
    return action::status(first ? ours : ours.heard_by(nobody), id_, machine_.context);
  }

  // A server that is away for a moment is no reason to end.
  bool passes(const Error& failure) {
    if (failure.kind != ErrorKind::Retryable && failure.kind != ErrorKind::Timeout) return false;
    if (const std::string line = failure.to_line(); line != warned_) machine_.events->warn(warned_ = line);
    return true;
  }

  void show(const ReleaseStatus& status) {
    warned_.clear();
    // Ages and signs of life change all the time and are no news.
    ReleaseStatus still = status;
    if (still.anchor.lock) still.anchor.lock->renewed = {};
    if (still.holder) still.holder->silent = {};
    const OutputFormat format = output_format(invocation_);
    const WallTime now = machine_.clock.now();
    const view::StatusOptions options = options_of(invocation_, machine_);
    std::string news = format == OutputFormat::Table ? text_of(machine_, still, began_, options)
                                                     : encoding::to_json(view::status_value(still, began_));
    const bool is_new = news != shown_;
    shown_ = std::move(news);
    if (format == OutputFormat::Json) {
      if (is_new) machine_.out.write(json_line(machine_.out, view::status_value(status, now)));
    } else if (format == OutputFormat::Yaml) {
      if (is_new) {
        machine_.out.write("---\n");
        print_value(machine_, format, view::status_value(status, now));
      }
    } else if (machine_.out.is_terminal()) {
      frame_.draw(text_of(machine_, status, now, options));
    } else if (is_new) {
      machine_.out.write((written_ ? "\n" : "") + text_of(machine_, status, now, options));
      written_ = true;
    }
    [[maybe_unused]] const Status flushed = machine_.out.flush();  // run() tells what is wrong
  }

  const Invocation& invocation_;
  Machine& machine_;
  const Cluster& cluster_;
  const release::ReleaseId id_;
  RedrawnText frame_;
  const WallTime began_;
  std::string shown_;   // as it was compared
  std::string warned_;  // of the server, since the last good look
  bool written_ = false;
};

Result<ExitCode> run_status(const Invocation& invocation, Machine& machine) {
  if (invocation.enabled("watch") && invocation.enabled("notes"))
    return error(ErrorKind::Usage, "--notes and --watch exclude one another");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  if (invocation.enabled("watch")) return Watching(invocation, machine, cluster, id).run();
  MIST_TRY(const ReleaseStatus status, action::status(cluster.environment, id, machine.context));
  const ExitCode code =
      invocation.enabled("exit-code") && !status.is_healthy() ? ExitCode::Differences : ExitCode::Ok;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, view::status_value(status, machine.clock.now()));
  else if (invocation.enabled("notes"))
    print_notes(machine, status);
  else
    machine.out.write(text_of(machine, status, machine.clock.now(), options_of(invocation, machine)));
  return code;
}

}  // namespace

constinit const Command kStatusCommand{.path = "status",
                                       .summary = "Show a release, its objects and what is not ready",
                                       .run = run_status,
                                       .arguments = kReleaseArgument,
                                       .flags = kGroups,
                                       .examples = kExamples};

constinit const Command kKpmStatusCommand{.path = "kpm status",
                                          .summary = "Show an installed Kube and what is not ready",
                                          .run = run_status,
                                          .arguments = kReleaseArgument,
                                          .flags = kGroups,
                                          .examples = kKpmExamples};

}  // namespace mist::cli
