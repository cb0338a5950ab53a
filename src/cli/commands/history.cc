#include "action/history.h"

#include "action/status.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

using action::HistoryEntry;
using encoding::Value;
using release::RevisionStatus;
using release::RevisionSummary;

constexpr FlagGroup kGroups[] = {kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl history web", "What was done to the release, and which revisions can be rolled back to"}};

Tone tone_of(RevisionStatus status) {
  switch (status) {
    case RevisionStatus::Deployed:
      return Tone::Good;
    case RevisionStatus::Failed:
      return Tone::Bad;
    case RevisionStatus::Pending:
    case RevisionStatus::Uninstalling:
      return Tone::Warning;
    case RevisionStatus::Superseded:
      return Tone::Plain;
  }
  return Tone::Plain;
}

const std::string& updated(const RevisionSummary& revision) {
  return revision.finished.empty() ? revision.created : revision.finished;
}

std::string description(const RevisionSummary& revision) {
  if (revision.description.empty() || revision.message.empty())
    return revision.description + revision.message;
  return fmt::format("{}: {}", revision.description, revision.message);
}

Value entry_value(const HistoryEntry& entry) {
  const RevisionSummary& revision = entry.revision;
  return Value::object({{"revision", revision.number},
                        {"action", revision.action},
                        {"status", release::to_string(entry.status)},
                        {"created", revision.created},
                        {"updated", updated(revision)},
                        {"package", revision.package},
                        {"packageVersion", text_or_null(revision.package_version)},
                        {"objects", revision.objects},
                        {"description", text_or_null(revision.description)},
                        {"message", text_or_null(revision.message)}});
}

// What somebody is working on needs no advice.
void warn_of_unfinished(World& world, const release::Anchor& anchor) {
  const release::Head& head = anchor.head;
  if (head.status != RevisionStatus::Uninstalling && head.status != RevisionStatus::Pending) return;
  using State = action::HolderLife::State;
  if (anchor.lock && action::holder_life(*anchor.lock, world.clock.now()).state != State::Silent) {
    world.events->info(fmt::format("\"{}\" of {} is under way; see mistctl status {}", anchor.lock->operation,
                                   anchor.lock->holder, anchor.id.name));
  } else if (head.status == RevisionStatus::Uninstalling) {
    world.events->warn(
        fmt::format("{} is half uninstalled: finish or undo it with mistctl recover", anchor.id.name));
  } else {
    world.events->warn(fmt::format("v{} did not end: finish or undo it with mistctl recover", head.latest));
  }
}

Result<ExitCode> run_history(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const action::History history, action::history(cluster.environment, id, world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array revisions;
    for (const HistoryEntry& entry : history.entries) revisions.push_back(entry_value(entry));
    print_value(world, format,
                Value::object({{"name", id.name},
                               {"namespace", id.ns},
                               {"status", release::to_string(history.anchor.head.status)},
                               {"deployedRevision", number_or_null(history.anchor.head.deployed)},
                               {"revisions", Value(std::move(revisions))}}));
    return ExitCode::Ok;
  }
  Table table({"REVISION", "UPDATED", "STATUS", "ACTION", "OBJECTS", "VERSION", "PACKAGE", "DESCRIPTION"});
  for (const HistoryEntry& entry : history.entries)
    table.add({{fmt::format("v{}", entry.revision.number)},
               {updated(entry.revision)},
               {std::string(release::to_string(entry.status)), tone_of(entry.status)},
               {entry.revision.action},
               {fmt::format("{}", entry.revision.objects)},
               {entry.revision.package_version.empty() ? "-" : entry.revision.package_version},
               {entry.revision.package},
               {description(entry.revision)}});
  // Why a revision failed may be long; -o json has all of it.
  if (!table.empty())
    world.out.write(table.render(world.color_out, world.out.is_terminal() ? world.out.columns() : 0));
  warn_of_unfinished(world, history.anchor);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kHistoryCommand{.path = "history",
                                        .summary = "Show the revisions of a release",
                                        .run = run_history,
                                        .arguments = kReleaseArgument,
                                        .flags = kGroups,
                                        .examples = kExamples};

}  // namespace mist::cli
