#include "action/status.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"
#include "view/diagnosis_tree.h"
#include "view/status.h"

namespace mist::cli {
namespace {

using action::ReleaseStatus;

constexpr Flag kFlags[] = {
    {.name = "all-objects", .help = "A line for every object, also of large releases"},
    {.name = "notes", .help = "Only what the package told its user when it was deployed"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl status web", "What the release has, and what is not ready and why"},
    {"mistctl status web --notes", "What the package said after the installation"},
};

void print_notes(World& world, const ReleaseStatus& status) {
  const std::string_view notes = trim(view::notes_of(status));
  if (notes.empty())
    world.events->info(fmt::format("the package of {} left no notes", status.anchor.id.display()));
  else
    world.out.write(escape_controls(notes, true) + "\n");
}

Result<ExitCode> run_status(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const ReleaseStatus status, action::status(cluster.environment, id, world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, view::status_value(status, world.clock.now()));
    return ExitCode::Ok;
  }
  if (invocation.enabled("notes")) {
    print_notes(world, status);
    return ExitCode::Ok;
  }
  const view::StatusOptions options{.all_objects = invocation.enabled("all-objects"),
                                    .color = world.color_out};
  world.out.write(view::status_text(status, world.clock.now(), options));
  if (status.diagnosis) {
    const std::string tree = join(view::diagnosis_lines(*status.diagnosis, world.color_out), "\n");
    const bool ascii = world.out.is_terminal() && !takes_utf8(world.environment);
    world.out.write(fmt::format("\n{}\n", ascii ? view::in_ascii(tree) : tree));
  }
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kStatusCommand{.path = "status",
                                       .summary = "Show a release, its objects and what is not ready",
                                       .run = run_status,
                                       .arguments = kReleaseArgument,
                                       .flags = kGroups,
                                       .examples = kExamples};

}  // namespace mist::cli
