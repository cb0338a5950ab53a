// mistctl blueprint simulate, test.

#include "action/authoring/blueprint_cases.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/output/case_results.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "package/test_case.h"
#include "view/blueprint_rounds.h"

namespace mist::cli {
namespace {

constexpr Argument kSimulateArguments[] = {kBlueprintSource};
constexpr Flag kSimulateFlags[] = {
    kInstanceFileFlag,
    kScenarioFlag,
    {.name = "no-controllers",
     .help = "Don't play the controllers of Kubernetes' own kinds: only events make a Deployment ready"},
};
constexpr FlagGroup kSimulateGroups[] = {{"Flags", kSimulateFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kSimulateExamples[] = {
    {"mistctl blueprint simulate ./app --instance ./app/instance.yaml",
     "What would the operator do, and why?"},
    {"mistctl blueprint simulate ./app --scenario ./app/tests/change.yaml",
     "The same for a test case's events"},
};

constexpr Argument kTestArguments[] = {
    {.name = "DIR",
     .help = "The blueprint's directory; its cases are in tests/",
     .completion = Completion::Directory},
    {.name = "CASE", .help = "The case tests/CASE.yaml; without one all of them", .arity = Arity::Any}};
constexpr Flag kTestFlags[] = {
    {.name = "accept", .help = "Write golden files that are missing or differ; read the diff afterwards"},
};
constexpr FlagGroup kTestGroups[] = {{"Flags", kTestFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kTestExamples[] = {
    {"mistctl blueprint test ./app", "Plays each case of app/tests and compares"},
    {"mistctl blueprint test ./app change --accept", "Takes what one case does as right"},
};

Result<ExitCode> run_simulate(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::BlueprintSource source, blueprint_source(invocation, machine));
  MIST_TRY(std::optional<reconcile::Scenario> scenario, scenario_of(invocation, machine));
  if (!scenario)
    return error(ErrorKind::Usage, "there is no instance")
        .with_hint("give the custom resource with --instance FILE, or a test case with --scenario FILE");
  if (invocation.enabled("no-controllers")) scenario->controllers = false;
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(const reconcile::Played played,
           action::simulate_blueprint(*renderer, source, *std::move(scenario), machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, reconcile::to_value(played));
  else
    machine.out.write(view::played_text(played, machine.color_out));
  return played.settled() ? ExitCode::Ok : ExitCode::Failed;
}

Result<ExitCode> run_test(const Invocation& invocation, Machine& machine) {
  const Path directory = invocation.argument("DIR");
  MIST_TRY(const action::BlueprintSource source, action::read_blueprint(machine.files, directory));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  const auto golden = invocation.enabled("accept") ? action::Golden::Accept : action::Golden::Compare;
  const Path beside = machine.files.is_directory(directory) ? directory : directory.parent_path();
  MIST_TRY(const std::vector<action::CaseResult> results,
           action::run_blueprint_cases(machine.files, *renderer, source,
                                       (beside / package::kTestsFolder).lexically_normal(),
                                       invocation.arguments("CASE"), golden, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, cases_value("blueprint", source.name, results));
  else
    print_cases(machine, results);
  return exit_code_of(results);
}

}  // namespace

constinit const Command kBlueprintSimulateCommand{
    .path = "blueprint simulate",
    .summary = "Play what the operator would do, without a cluster",
    .run = run_simulate,
    .arguments = kSimulateArguments,
    .flags = kSimulateGroups,
    .examples = kSimulateExamples,
    .cluster = ClusterUse::None};
constinit const Command kBlueprintTestCommand{.path = "blueprint test",
                                              .summary = "Simulate a blueprint's test cases and compare",
                                              .run = run_test,
                                              .arguments = kTestArguments,
                                              .flags = kTestGroups,
                                              .examples = kTestExamples,
                                              .cluster = ClusterUse::None};

}  // namespace mist::cli
