#include "action/uninstall.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/deployments.h"

namespace mist::cli {
namespace {

using apply::ActionKind;

constexpr Argument kArguments[] = {{.name = "NAME",
                                    .help = "Names of the releases",
                                    .arity = Arity::OneOrMore,
                                    .completion = Completion::Release}};
constexpr Flag kFlags[] = {
    {.name = "wait", .help = "Return only when everything is gone"},
    {.name = "ignore-not-found", .help = "A release that does not exist is no error"},
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
    {"mistctl uninstall web api --yes --ignore-not-found", "Several, whether or not they are there"},
};

// Objects of others that would go with a namespace are listed before anybody is asked.
void warn_of_foreign(Machine& machine, const action::UninstallPlan& plan) {
  for (const std::string& words : plan.containers.warnings(plan.removals)) machine.events->warn(words);
}

// One of the releases that the command names. No plan: there is no such release, and that is fine.
struct UninstallTarget {
  release::ReleaseId id;
  std::optional<action::UninstallPlan> plan = {};      // until it is carried out
  std::optional<action::UninstallReport> report = {};  // of what was uninstalled, or would be
  std::optional<Error> failure = {};
};

action::UninstallOptions options_of(const Invocation& invocation) {
  return {.rules = prune_rules(invocation),
          .wait = invocation.enabled("wait"),
          .no_hooks = invocation.enabled("no-hooks"),
          .timeout = invocation.duration("timeout"),
          .dry_run = invocation.text("dry-run") != "none",
          .plan_again = invocation.enabled("yes")};
}

Result<std::vector<UninstallTarget>> named_releases(const Invocation& invocation, const Cluster& cluster) {
  MIST_TRY(const std::vector<release::ReleaseId> ids, release_ids(invocation, *cluster.client));
  std::vector<UninstallTarget> targets;
  for (const release::ReleaseId& id : ids) targets.push_back({.id = id});
  return targets;
}

// All of them before anything is deleted: a name that is mistyped costs nothing.
Status plan_all(const Invocation& invocation, Machine& machine, const Cluster& cluster,
                std::vector<UninstallTarget>& targets) {
  const action::UninstallOptions options = options_of(invocation);
  for (UninstallTarget& each : targets) {
    auto plan = action::plan_uninstall(cluster.environment, each.id, options, machine.context);
    if (plan.ok()) {
      warn_of_foreign(machine, *plan);
      each.plan = *std::move(plan);
    } else if (plan.error().kind == ErrorKind::NotFound && invocation.enabled("ignore-not-found")) {
      machine.events->info(fmt::format("release {} does not exist", each.id.display()));
    } else {
      return std::move(plan).error();
    }
  }
  return {};
}

std::string question_for(const std::vector<UninstallTarget>& targets) {
  std::size_t deletes = 0, retained = 0;
  std::vector<std::string> names;
  for (const UninstallTarget& each : targets) {
    if (!each.plan) continue;
    deletes += each.plan->deletes();
    retained += each.plan->removals.size() - each.plan->deletes();
    names.push_back(each.id.name);
  }
  return fmt::format("Delete {} of release{} {} in namespace {}{}?", plural(deletes, "object"),
                     names.size() == 1 ? "" : "s", join(names, ", "), targets.front().id.ns,
                     retained == 0 ? "" : fmt::format(", and keep {}", retained));
}

// One after another, as they are named; one that fails doesn't keep the others from it.
void uninstall_all(const Invocation& invocation, Machine& machine, const Cluster& cluster,
                   std::vector<UninstallTarget>& targets) {
  const action::UninstallOptions options = options_of(invocation);
  const Context context = machine.context.with_timeout(invocation.duration("timeout"));
  for (UninstallTarget& each : targets) {
    if (!each.plan) continue;
    auto report = action::uninstall(cluster.environment, *std::move(each.plan), options, context);
    each.plan.reset();
    if (report.ok())
      each.report = *std::move(report);
    else
      each.failure = std::move(report).error();
    if (!machine.context.check().ok()) return;
  }
}

void print_reports(const Invocation& invocation, Machine& machine,
                   const std::vector<UninstallTarget>& targets, bool dry) {
  const OutputFormat format = output_format(invocation);
  encoding::Value::Array values;
  for (const UninstallTarget& each : targets) {
    if (each.plan) continue;
    if (each.failure) {
      if (targets.size() > 1) values.push_back(view::failed_value(each.id, *each.failure));
    } else if (format != OutputFormat::Table) {
      values.push_back(each.report ? view::uninstall_value(each.report->plan, dry)
                                   : view::absent_value(each.id, dry));
    } else if (each.report) {
      machine.out.write(view::uninstall_text(*each.report, dry, "is uninstalled", machine.color_out));
    }
  }
  if (format == OutputFormat::Table) return;
  // Of one release it is that release's object, and of one that failed only the error.
  if (targets.size() > 1)
    print_value(machine, format, encoding::Value::object({{"releases", encoding::Value(std::move(values))}}));
  else if (!values.empty())
    print_value(machine, format, values.front());
}

Result<ExitCode> run_uninstall(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(std::vector<UninstallTarget> targets, named_releases(invocation, cluster));
  MIST_TRY_VOID(plan_all(invocation, machine, cluster, targets));
  const bool dry = invocation.text("dry-run") != "none";
  if (dry) {
    for (UninstallTarget& each : targets) {
      if (!each.plan) continue;
      each.report = action::UninstallReport{.plan = *std::move(each.plan)};
      each.plan.reset();
    }
  } else if (std::ranges::any_of(targets,
                                 [](const UninstallTarget& each) { return each.plan.has_value(); })) {
    MIST_TRY(const bool yes, confirm(machine, invocation, question_for(targets)));
    // No interruption: the command ended as it was told to, without what it was run for.
    if (!yes) return error(ErrorKind::Forbidden, "nothing was deleted, because the answer was no");
    uninstall_all(invocation, machine, cluster, targets);
  }
  print_reports(invocation, machine, targets, dry);
  if (targets.size() == 1 && targets.front().failure) return *std::move(targets.front().failure);
  std::vector<ReleaseFailure> failures;
  for (UninstallTarget& each : targets)
    if (each.failure) failures.push_back({each.id, *std::move(each.failure)});
  if (auto failure = failure_of_several(std::move(failures))) return *std::move(failure);
  MIST_TRY_VOID(machine.context.check());
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kUninstallCommand{.path = "uninstall",
                                          .summary = "Delete a release and what it created",
                                          .run = run_uninstall,
                                          .arguments = kArguments,
                                          .flags = kGroups,
                                          .examples = kExamples};

}  // namespace mist::cli
