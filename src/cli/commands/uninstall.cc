#include "action/uninstall.h"

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "cli/release_flags.h"
#include "view/deployments.h"

namespace mist::cli {
namespace {

using apply::ActionKind;

constexpr Flag kFlags[] = {
    {.name = "wait", .help = "Return only when everything is gone"},
    kNoHooksFlag,
    {.name = "timeout",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "How long the whole command may take",
     .fallback = "5m"},
    {.name = "dry-run",
     .type = FlagType::Choice,
     .value = "WHERE",
     .help = "Only show what would be deleted",
     .fallback = "none",
     .choices = kDryRunChoices,
     .implied = "client"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kPruneFlags, kConfirmFlags, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl uninstall web", "Asks first"},
    {"mistctl uninstall web --yes --wait", "For scripts"},
    {"mistctl uninstall web --delete-pvcs --dry-run", "Show what would go"},
};

// What would go with a namespace although it isn't the release's is listed before anybody is asked.
void warn_of_foreign(World& world, const action::UninstallPlan& plan) {
  for (const std::string& words : plan.containers.warnings(plan.removals)) world.events->warn(words);
}

Result<ExitCode> run_uninstall(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  const bool dry = invocation.text("dry-run") != "none";
  const action::UninstallOptions options{.rules = prune_rules(invocation),
                                         .wait = invocation.enabled("wait"),
                                         .no_hooks = invocation.enabled("no-hooks"),
                                         .timeout = invocation.duration("timeout"),
                                         .dry_run = dry,
                                         .plan_again = invocation.enabled("yes")};
  MIST_TRY(action::UninstallPlan plan,
           action::plan_uninstall(cluster.environment, id, options, world.context));
  warn_of_foreign(world, plan);
  const OutputFormat format = output_format(invocation);
  action::UninstallReport report;
  if (dry) {
    report.plan = std::move(plan);
  } else {
    const std::size_t retained = plan.removals.size() - plan.deletes();
    const std::string question =
        fmt::format("Delete {} of release {} in namespace {}{}?", plural(plan.deletes(), "object"), id.name,
                    id.ns, retained == 0 ? "" : fmt::format(", and keep {}", retained));
    MIST_TRY(const bool yes, confirm(world, invocation, question));
    // No interruption: the command ended as it was told to, without what it was run for.
    if (!yes) return error(ErrorKind::Forbidden, "nothing was deleted, because the answer was no");
    const Context context = world.context.with_timeout(invocation.duration("timeout"));
    MIST_TRY(report, action::uninstall(cluster.environment, std::move(plan), options, context));
  }
  if (format != OutputFormat::Table)
    print_value(world, format, view::uninstall_value(report.plan, dry));
  else
    world.out.write(view::uninstall_text(report, dry, "is uninstalled", world.color_out));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kUninstallCommand{.path = "uninstall",
                                          .summary = "Delete a release and what it created",
                                          .run = run_uninstall,
                                          .arguments = kReleaseArgument,
                                          .flags = kGroups,
                                          .examples = kExamples};

}  // namespace mist::cli
