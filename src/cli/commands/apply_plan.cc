#include "action/deploy/saved_plan.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "FILE", .help = "A plan that mistctl plan NAME -o FILE saved", .completion = Completion::File}};
constexpr Flag kFlags[] = {
    kWaitFlag, kNoWaitForJobsFlag, kTimeoutFlag, kRollbackOnFailureFlag, kHistoryMaxFlag,
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl apply-plan web.plan --wait", "Does what was shown, and nothing else"}};

Result<ExitCode> run_apply_plan(const Invocation& invocation, Machine& machine) {
  const std::string file = invocation.argument("FILE");
  auto text = machine.files.read(file);
  if (!text.ok()) {
    Error failure = std::move(text).error().with_frame("while reading the plan");
    if (failure.kind == ErrorKind::NotFound)
      failure.hint = fmt::format("make it with mistctl plan NAME -o {}", file);
    return failure;
  }
  MIST_TRY(action::SavedPlan plan, action::saved_plan_from(*text, file));
  plan.id.cluster_words = cluster_words(invocation);
  if (const std::string ns = invocation.text("namespace"); !ns.empty() && ns != plan.id.ns)
    return error(ErrorKind::Usage, "the plan is for release {}, and -n says {}", plan.id.display(), ns)
        .with_hint("leave -n out, or make a plan for that namespace with " +
                   command_hint(invocation, "plan", {shell_word(ns), plan.id.name}, "-o FILE"));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  action::DeployOptions options = plan.options;
  options.allow_empty = true;  // or there would be no such plan
  read_run_flags(invocation, options);
  const action::Intent intent = action::saved_plan_intent(cluster.environment, plan, machine.context);
  auto report = action::deploy(cluster.environment, plan.id, intent, options, machine.context);
  if (!report.ok() && report.error().detail<action::RevisionRecorded>() != nullptr)
    report.error().hint +=
        fmt::format("{}this plan is used up: make another with {}", report.error().hint.empty() ? "" : "; ",
                    command_hint(invocation, "plan", plan.id, "-o FILE"));
  if (!report.ok()) return std::move(report).error();
  print_deploy_report(invocation, machine, *report,
                      plan.action == "install" ? "is installed" : "is upgraded");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kApplyPlanCommand{.path = "apply-plan",
                                          .summary = "Carry out a saved plan, exactly as it was shown",
                                          .run = run_apply_plan,
                                          .arguments = kArguments,
                                          .flags = kGroups,
                                          .examples = kExamples};

}  // namespace mist::cli
