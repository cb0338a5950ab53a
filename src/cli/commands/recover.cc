#include "action/recover/recover.h"

#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/deployments.h"

namespace mist::cli {
namespace {

using action::Recovered;
using action::RecoverReport;

constexpr Flag kFlags[] = {
    {.name = "undo", .help = "Return to what was deployed before, instead of finishing what was begun"},
    {.name = "from-labels", .help = "Rebuild the record from the objects that carry the release's labels"},
    {.name = "trust-record",
     .help = "With --from-labels: believe the newest revision that is kept, though nothing proves that it is "
             "the release's. Look at it first"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kRecordedFlags, kPruneFlags,
                                 kConfirmFlags,     kLockFlags,     kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl recover web", "Finish what a killed or failed command left"},
    {"mistctl recover web --undo", "Return to the revision before it"},
    {"mistctl recover web --dry-run", "Only show what would happen"},
    {"mistctl recover web --from-labels", "Record what is there, after the record was damaged or lost"},
};

// The revision to be recorded; for people who are asked, and for those who aren't.
std::string rebuild_words(const action::RebuildPlan& plan) {
  std::string words = fmt::format("{}: {} to record as v{}\n", plan.state.id.name,
                                  plural(plan.revision.inventory.size(), "object"), plan.revision.number);
  for (const apimachinery::ObjectKey& key : plan.discovered)
    words += fmt::format("  no readable record names {}\n", escape_controls(key.display()));
  if (!plan.own_namespace_only.empty())
    words += fmt::format("  in namespaces other than {} nobody looked for {}: you may not list them there\n",
                         plan.state.id.ns, join(plan.own_namespace_only, ", "));
  if (plan.unproven >= 0)
    words += fmt::format(
        "  nothing proves that v{} is this release's, so it is not used: --trust-record takes values and "
        "package from it, if you know that it is\n",
        plan.unproven);
  if (plan.values_lost)
    words += "  the values of the deployed revision are lost: give them again with the next upgrade\n";
  if (plan.new_seed)
    words +=
        "  the seed is lost: what the package draws at random will be different from the next upgrade on\n";
  return words;
}

void print_report(const Invocation& invocation, Machine& machine, const RecoverReport& report, bool dry) {
  const std::string name = report.id.name;
  if (!report.found.empty() && report.outcome != Recovered::Nothing)
    machine.out.write(fmt::format("{}: {}\n", name, escape_controls(report.found)));
  switch (report.outcome) {
    case Recovered::Nothing:
      machine.out.write(fmt::format(
          "{} has nothing unfinished, at revision {}: there is nothing to recover; {} shows whether its "
          "objects are well\n",
          name, report.revision, command_hint(invocation, "status", report.id)));
      return;
    case Recovered::Settled:
      machine.out.write(fmt::format("{} {} at revision {}\n", name, dry ? "would be settled" : "is settled",
                                    report.revision));
      return;
    case Recovered::Finished:
      print_deploy_report(invocation, machine, *report.deployment, "is finished");
      return;
    case Recovered::Undone:
      print_deploy_report(
          invocation, machine, *report.deployment,
          fmt::format("is back to v{}{},", report.deployment->restores, report.deployment->but_for_left()));
      return;
    case Recovered::Rebuilt:
      machine.out.write(fmt::format("{}{} {} at revision {}, with {}\n", rebuild_words(*report.rebuilt), name,
                                    dry ? "would be recorded" : "is recorded", report.revision,
                                    plural(report.rebuilt->revision.inventory.size(), "object")));
      return;
    case Recovered::Removed:
    case Recovered::Uninstalled:
      machine.out.write(view::uninstall_text(
          *report.removal, dry, report.outcome == Recovered::Removed ? "is removed" : "is uninstalled",
          machine.color_out));
      return;
  }
}

Result<ExitCode> run_recover(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  action::RecoverOptions options{.undo = invocation.enabled("undo"), .deploy = deploy_options(invocation)};
  options.from_labels = invocation.enabled("from-labels");
  if (options.undo && options.from_labels)
    return error(ErrorKind::Usage, "--undo and --from-labels can't be given together")
        .with_hint("record what is there first; then it can be changed");
  options.trust_record = invocation.enabled("trust-record");
  if (options.trust_record && !options.from_labels)
    return error(ErrorKind::Usage, "--trust-record needs --from-labels");
  options.agree = [&](const action::RebuildPlan& plan) {
    if (!invocation.enabled("yes") && can_ask(machine)) machine.err.write(rebuild_words(plan));
    return confirm(
        machine, invocation,
        fmt::format("Record {} as revision v{} of {}?", plural(plan.revision.inventory.size(), "object"),
                    plan.revision.number, id.display()));
  };
  options.approve = [&](const action::UninstallPlan& plan) {
    for (const std::string& words : plan.containers.warnings(plan.removals)) machine.events->warn(words);
    return confirm(machine, invocation,
                   fmt::format("Delete {} that the first install of {} made?",
                               plural(plan.deletes(), "object"), id.display()));
  };
  MIST_TRY(const RecoverReport report, action::recover(cluster.environment, id, options, machine.context));
  const bool dry = options.deploy.dry_run != action::DryRun::No;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format,
                view::recover_value(report, machine.clock.steady_now() - machine.began, dry));
  else
    print_report(invocation, machine, report, dry);
  return report.deployment ? exit_code_of(*report.deployment) : ExitCode::Ok;
}

}  // namespace

constinit const Command kRecoverCommand{.path = "recover",
                                        .summary = "Finish or undo what a killed or failed command left",
                                        .run = run_recover,
                                        .arguments = kReleaseArgument,
                                        .flags = kGroups,
                                        .examples = kExamples};

}  // namespace mist::cli
