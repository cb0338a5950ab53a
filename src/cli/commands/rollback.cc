#include "action/recover/rollback.h"

#include <optional>
#include <string>

#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "Name of the release", .completion = Completion::Release},
    {.name = "REVISION",
     .help = "Which revision to go back to, as history shows it; without it the last good one before",
     .arity = Arity::Optional,
     .completion = Completion::Revision,
     .refuses_empty = true},
};
constexpr Flag kFlags[] = {
    {.name = "adopt",
     .help = "Take objects of that revision that belong to nobody by now, as after a rollback to before "
             "their adoption",
     .rare = true},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kRecordedFlags, kPruneFlags, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl rollback web", "Back to how it was before the last change"},
    {"mistctl rollback web 3 --wait", "Back to revision v3, and wait until it runs"},
    {"mistctl rollback web --dry-run", "Only show what would happen"},
};
constexpr Example kKpmExamples[] = {
    {"kpm rollback etcd-standalone", "Back to how it was before the last change"},
    {"kpm rollback etcd-standalone 3 --wait", "Back to revision v3, and wait until it runs"},
};

Result<ExitCode> run_rollback(const Invocation& invocation, Machine& machine) {
  std::optional<int> to;
  if (const std::string given = invocation.argument("REVISION"); !given.empty()) {
    MIST_TRY(to, revision_number(invocation, given));
  }
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const action::DeployReport report,
           action::deploy(cluster.environment, id,
                          action::rollback_intent(cluster.environment, to, machine.context),
                          deploy_options(invocation), machine.context));
  print_deploy_report(invocation, machine, report,
                      fmt::format("is rolled back to v{}{},", report.restores, report.but_for_left()));
  return exit_code_of(report);
}

}  // namespace

constinit const Command kRollbackCommand{.path = "rollback",
                                         .summary = "Return a release to an earlier revision",
                                         .run = run_rollback,
                                         .arguments = kArguments,
                                         .flags = kGroups,
                                         .examples = kExamples};

constinit const Command kKpmRollbackCommand{.path = "kpm rollback",
                                            .summary = "Return an installed Kube to an earlier revision",
                                            .run = run_rollback,
                                            .arguments = kArguments,
                                            .flags = kGroups,
                                            .examples = kKpmExamples};

}  // namespace mist::cli
