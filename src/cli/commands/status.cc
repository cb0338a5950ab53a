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

void print_notes(World& world, const ReleaseStatus& status) {
  const std::string_view notes = trim(view::notes_of(status));
  if (notes.empty())
    world.events->info(fmt::format("the package of {} left no notes", status.anchor.id.display()));
  else
    world.out.write(escape_controls(notes, true) + "\n");
}

std::string text_of(const World& world, const ReleaseStatus& status, WallTime now,
                    const view::StatusOptions& options) {
  std::string text = view::status_text(status, now, options);
  if (status.diagnosis) {
    const std::string tree = join(view::diagnosis_lines(*status.diagnosis, options.color), "\n");
    const bool ascii = world.out.is_terminal() && !takes_utf8(world.environment);
    text += fmt::format("\n{}\n", ascii ? view::in_ascii(tree) : tree);
  }
  return text;
}

view::StatusOptions options_of(const Invocation& invocation, const World& world) {
  return {.all_objects = invocation.enabled("all-objects"), .color = world.color_out};
}

// Looks again and again, and shows what is new.
class Watching {
 public:
  Watching(const Invocation& invocation, World& world, const Cluster& cluster, release::ReleaseId id)
      : invocation_(invocation),
        world_(world),
        cluster_(cluster),
        id_(std::move(id)),
        frame_(world.out),
        began_(world.clock.now()) {}

  Result<ExitCode> run() {
    constexpr auto kPause = std::chrono::seconds(2);
    for (bool first = true;; first = false) {
      auto status = look(first);
      if (!world_.context.check().ok()) return ExitCode::Interrupted;
      if (!status.ok() && (first || !passes(status.error()))) return std::move(status).error();
      if (status.ok()) {
        show(*status);
        if (invocation_.enabled("exit-code") && (status->is_healthy() || status->is_stuck()))
          return status->is_healthy() ? ExitCode::Ok : ExitCode::Differences;
      }
      if (world_.out.broken()) return unread();
      if (!world_.clock.sleep(kPause, world_.context.stop())) return ExitCode::Interrupted;
    }
  }

 private:
  // Nobody sees any more of it. An output that can't be written is an error of run(), which flushes it.
  ExitCode unread() const { return invocation_.enabled("exit-code") ? ExitCode::Differences : ExitCode::Ok; }

  // Events that go on while somebody looks at the result are no news after the first time.
  Result<ReleaseStatus> look(bool first) {
    NullEventSink nobody;
    const action::Environment& ours = cluster_.environment;
    return action::status(first ? ours : ours.heard_by(nobody), id_, world_.context);
  }

  // A server that is away for a moment is no reason to end.
  bool passes(const Error& failure) {
    if (failure.kind != ErrorKind::Retryable && failure.kind != ErrorKind::Timeout) return false;
    if (const std::string line = failure.to_line(); line != warned_) world_.events->warn(warned_ = line);
    return true;
  }

  void show(const ReleaseStatus& status) {
    warned_.clear();
    // Ages and signs of life change all the time and are no news.
    ReleaseStatus still = status;
    if (still.anchor.lock) still.anchor.lock->renewed = {};
    if (still.holder) still.holder->silent = {};
    const OutputFormat format = output_format(invocation_);
    const WallTime now = world_.clock.now();
    const view::StatusOptions options = options_of(invocation_, world_);
    std::string news = format == OutputFormat::Table ? text_of(world_, still, began_, options)
                                                     : encoding::to_json(view::status_value(still, began_));
    const bool is_new = news != shown_;
    shown_ = std::move(news);
    if (format == OutputFormat::Json) {
      if (is_new) world_.out.write(json_line(world_.out, view::status_value(status, now)));
    } else if (format == OutputFormat::Yaml) {
      if (is_new) {
        world_.out.write("---\n");
        print_value(world_, format, view::status_value(status, now));
      }
    } else if (world_.out.is_terminal()) {
      frame_.draw(text_of(world_, status, now, options));
    } else if (is_new) {
      world_.out.write((written_ ? "\n" : "") + text_of(world_, status, now, options));
      written_ = true;
    }
    [[maybe_unused]] const Status flushed = world_.out.flush();  // run() tells what is wrong
  }

  const Invocation& invocation_;
  World& world_;
  const Cluster& cluster_;
  const release::ReleaseId id_;
  RedrawnText frame_;
  const WallTime began_;
  std::string shown_;   // as it was compared
  std::string warned_;  // of the server, since the last good look
  bool written_ = false;
};

Result<ExitCode> run_status(const Invocation& invocation, World& world) {
  if (invocation.enabled("watch") && invocation.enabled("notes"))
    return error(ErrorKind::Usage, "--notes and --watch exclude one another");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  if (invocation.enabled("watch")) return Watching(invocation, world, cluster, id).run();
  MIST_TRY(const ReleaseStatus status, action::status(cluster.environment, id, world.context));
  const ExitCode code =
      invocation.enabled("exit-code") && !status.is_healthy() ? ExitCode::Differences : ExitCode::Ok;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(world, format, view::status_value(status, world.clock.now()));
  else if (invocation.enabled("notes"))
    print_notes(world, status);
  else
    world.out.write(text_of(world, status, world.clock.now(), options_of(invocation, world)));
  return code;
}

}  // namespace

constinit const Command kStatusCommand{.path = "status",
                                       .summary = "Show a release, its objects and what is not ready",
                                       .run = run_status,
                                       .arguments = kReleaseArgument,
                                       .flags = kGroups,
                                       .examples = kExamples};

}  // namespace mist::cli
