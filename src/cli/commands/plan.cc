#include <algorithm>

#include "action/deploy/saved_plan.h"
#include "apply/plan/announce.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/wanted_release.h"
#include "view/differences.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {
    {.name = "out",
     .letter = 'o',
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Save the plan there, for mistctl apply-plan; the format of what is printed is --output",
     .completion = Completion::File},
    {.name = "output",
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "How to print the plan",
     .fallback = "table",
     .choices = kOutputChoices},
    {.name = "show-secrets", .help = "Show what Secrets hold instead of ***"},
};
constexpr FlagGroup kGroups[] = {kWantedFlags, {"Plan flags", kFlags}, kValuesFlags, kPlanFlags, kPruneFlags,
                                 kClockFlags,  kRotateFlags,           kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl plan web -p team/hello-web:0.2.0 -o web.plan", "Look at it, let somebody else look at it"},
    {"mistctl apply-plan web.plan", "Then carry out exactly this"},
};

// Everywhere else -o is the format.
Status refuse_format_as_file(const std::string& file) {
  if (std::ranges::find(kOutputChoices, file) == std::end(kOutputChoices)) return {};
  return error(ErrorKind::Usage, "-o of mistctl plan is the file for the plan, and {} is not a name for one",
               file)
      .with_hint(
          fmt::format("--output {} prints the plan like that; -o ./{} is a file of that name", file, file));
}

void print_plan(const Invocation& invocation, Machine& machine, const action::PreparedDeploy& prepared,
                bool to_stderr) {
  // A program reads events there, each of them a line.
  if (to_stderr && machine.json_events)
    return machine.events->planned(apply::announcement(prepared.plan, prepared.state.id,
                                                       prepared.state.deployed ? "upgrade" : "install"));
  const ScreenPause pause(to_stderr ? machine.screen : nullptr);
  Output& output = to_stderr ? machine.err : machine.out;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(output, format,
                view::diff_value(prepared, {.show_secrets = invocation.enabled("show-secrets")}));
  else
    output.write(view::plan_text(prepared, to_stderr ? machine.color_err : machine.color_out));
}

Result<ExitCode> run_plan(const Invocation& invocation, Machine& machine) {
  const std::string file = invocation.text("out");
  MIST_TRY_VOID(refuse_format_as_file(file));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const action::PreparedDeploy prepared, preview(invocation, machine, cluster));
  MIST_TRY_VOID(action::check_prepared(cluster.environment, prepared, machine.context));
  MIST_TRY(const bool to_stdout, takes_stdout(machine, file));
  print_plan(invocation, machine, prepared, to_stdout);
  MIST_TRY_VOID(action::refuse_conflicts(prepared));
  if (!invocation.has("out")) return ExitCode::Ok;
  MIST_TRY(const action::SavedPlan plan, action::save_plan(cluster.environment, prepared, machine.context));
  MIST_TRY_VOID(
      write_output(machine.files, file, action::to_text(plan), {.mode = 0600}).in("while saving the plan"));
  if (!to_stdout)
    machine.events->info(fmt::format("saved; carry it out with mistctl apply-plan {}{}", shell_word(file),
                                     cluster_words(invocation)));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPlanCommand{.path = "plan",
                                     .summary = "Show what an upgrade or install would do, and save it",
                                     .run = run_plan,
                                     .arguments = kReleaseArgument,
                                     .flags = kGroups,
                                     .examples = kExamples};

}  // namespace mist::cli
