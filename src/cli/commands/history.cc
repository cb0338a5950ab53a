#include "action/query/history.h"

#include "action/query/status.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/releases.h"

namespace mist::cli {
namespace {

using release::RevisionStatus;

constexpr FlagGroup kGroups[] = {kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl history web", "The changes to the release, and the revisions that it can be rolled back to"}};
constexpr Example kKpmExamples[] = {
    {"kpm history etcd-standalone",
     "The versions and when they were installed, and the revisions that rollback can return to"}};

// A revision that somebody is working on needs no advice.
void warn_of_unfinished(const Invocation& invocation, Machine& machine, const Cluster& cluster,
                        const release::Anchor& anchor) {
  const release::Head& head = anchor.head;
  if (head.status != RevisionStatus::Uninstalling && head.status != RevisionStatus::Pending) return;
  using State = action::HolderLife::State;
  const auto state_of = [&](const release::Lock& lock) {
    return action::holder_life(lock, machine.clock.now(), cluster.environment.life(lock.process)).state;
  };
  const State holder = anchor.lock ? state_of(*anchor.lock) : State::Dead;
  if (holder != State::Silent && holder != State::Dead) {
    machine.events->info(fmt::format("\"{}\" of {} is under way; see {}", anchor.lock->operation,
                                     anchor.lock->holder, command_hint(invocation, "status", anchor.id)));
  } else if (head.status == RevisionStatus::Uninstalling) {
    machine.events->warn(fmt::format("{} is half uninstalled: finish it with {}", anchor.id.name,
                                     command_hint(invocation, "recover", anchor.id)));
  } else {
    machine.events->warn(fmt::format("v{} did not end: finish it with {}, or undo it with {}", head.latest,
                                     command_hint(invocation, "recover", anchor.id),
                                     command_hint(invocation, "recover", anchor.id, "--undo")));
  }
}

Result<ExitCode> run_history(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const action::History history, action::history(cluster.environment, id, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, view::history_value(history));
    return ExitCode::Ok;
  }
  const Table table = view::history_table(history);
  // Why a revision failed may be long; -o json has all of it.
  if (!table.empty())
    machine.out.write(table.render(machine.color_out, machine.out.is_terminal() ? machine.out.columns() : 0));
  warn_of_unfinished(invocation, machine, cluster, history.anchor);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kHistoryCommand{.path = "history",
                                        .summary = "Show the revisions of a release",
                                        .run = run_history,
                                        .arguments = kReleaseArgument,
                                        .flags = kGroups,
                                        .examples = kExamples};

constinit const Command kKpmHistoryCommand{.path = "kpm history",
                                           .summary = "Show the revisions of an installed Kube",
                                           .run = run_history,
                                           .arguments = kReleaseArgument,
                                           .flags = kGroups,
                                           .examples = kKpmExamples};

}  // namespace mist::cli
