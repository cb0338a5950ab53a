#include "action/uninstall.h"

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/prompt.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

using apply::ActionKind;

constexpr Flag kFlags[] = {
    {.name = "wait", .help = "Return only when everything is gone"},
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

std::size_t count(const action::UninstallPlan& plan, ActionKind kind) {
  return static_cast<std::size_t>(std::ranges::count(plan.removals, kind, &apply::PlannedAction::kind));
}

void print_plan(World& world, const action::UninstallPlan& plan) {
  Table table({"ACTION", "OBJECT", "WHY"});
  for (const apply::PlannedAction& action : plan.removals)
    table.add({{std::string(apply::to_string(action.kind))}, {action.key.display()}, {action.reason}});
  if (!table.empty()) world.out.write(table.render(world.color_out));
}

// What would go with a namespace although it isn't the release's is listed before anybody is asked.
void warn_of_foreign(World& world, const action::UninstallPlan& plan) {
  for (const apply::PlannedAction& action : plan.removals) {
    const auto foreign = plan.foreign.find(action.key.name);
    if (action.kind != ActionKind::Delete || action.key.group_kind.kind != "Namespace" ||
        foreign == plan.foreign.end())
      continue;
    constexpr std::size_t kShown = 20;
    std::vector<std::string> names = foreign->second;
    const std::size_t all = names.size();
    if (all > kShown) names.resize(kShown);
    world.events->warn(fmt::format("with the namespace {} go {} that the release does not own: {}{}",
                                   action.key.name, plural(all, "object"), join(names, ", "),
                                   all > kShown ? ", …" : ""));
  }
}

encoding::Value report_value(const action::UninstallPlan& plan, bool dry) {
  encoding::Value::Array objects;
  for (const apply::PlannedAction& action : plan.removals)
    objects.push_back(encoding::Value::object({{"group", action.key.group_kind.group},
                                               {"kind", action.key.group_kind.kind},
                                               {"namespace", text_or_null(action.key.ns)},
                                               {"name", action.key.name},
                                               {"action", apply::to_string(action.kind)},
                                               {"reason", action.reason}}));
  return encoding::Value::object({{"release", plan.id.name},
                                  {"namespace", plan.id.ns},
                                  {"dryRun", dry},
                                  {"objects", encoding::Value(std::move(objects))}});
}

Result<ExitCode> run_uninstall(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  const action::UninstallOptions options{prune_rules(invocation), invocation.enabled("wait")};
  MIST_TRY(const action::UninstallPlan plan,
           action::plan_uninstall(cluster.environment, id, options, world.context));
  warn_of_foreign(world, plan);
  const OutputFormat format = output_format(invocation);
  if (invocation.text("dry-run") != "none") {
    if (format != OutputFormat::Table)
      print_value(world, format, report_value(plan, true));
    else
      print_plan(world, plan);
    return ExitCode::Ok;
  }
  const std::size_t retained = count(plan, ActionKind::Retain);
  const std::string question = fmt::format("Delete {} of release {} in namespace {}{}?",
                                           plural(count(plan, ActionKind::Delete), "object"), id.name, id.ns,
                                           retained == 0 ? "" : fmt::format(", and keep {}", retained));
  MIST_TRY(const bool yes, confirm(world, invocation, question));
  if (!yes) return error(ErrorKind::Cancelled, "nothing was deleted");
  const Context context = world.context.with_timeout(invocation.duration("timeout"));
  MIST_TRY(const action::UninstallReport report,
           action::uninstall(cluster.environment, plan, options, context));
  if (format != OutputFormat::Table) {
    print_value(world, format, report_value(plan, false));
    return ExitCode::Ok;
  }
  world.out.write(fmt::format("{} is uninstalled: {} deleted{}\n", id.name, plural(report.deleted, "object"),
                              report.retained == 0 ? "" : fmt::format(", {} retained", report.retained)));
  for (const apply::PlannedAction& action : plan.removals) {
    if (action.kind == ActionKind::Retain)
      world.out.write(fmt::format("  {} stays: {}\n", escape_controls(action.key.display()),
                                  escape_controls(action.reason)));
  }
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
