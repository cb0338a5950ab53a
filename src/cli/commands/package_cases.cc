// mistctl package test.

#include "cli/commands.h"
#include "cli/output/case_results.h"
#include "cli/output/output.h"
#include "cli/package_source.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    kAuthorsSource,
    {.name = "CASE", .help = "The case tests/CASE.yaml; without one all of them", .arity = Arity::Any}};
constexpr Flag kFlags[] = {
    {.name = "accept", .help = "Write golden files that are missing or differ; read the diff afterwards"},
    kCasesFlag,
    kEngineFlag,
    kSkipSchemaFlag,
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl package test ./my-chart", "Renders each case of my-chart/tests and compares"},
    {"mistctl package test ./my-chart with-ingress --accept", "Takes what one case renders as right"},
};

Result<ExitCode> run_package_test(const Invocation& invocation, Machine& machine) {
  MIST_TRY(action::PackageCases cases, package_source(invocation, machine));
  cases.names = invocation.arguments("CASE");
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  const auto golden = invocation.enabled("accept") ? action::Golden::Accept : action::Golden::Compare;
  MIST_TRY(const std::vector<action::CaseResult> results,
           action::run_package_cases(machine.files, *renderer, cases, golden, machine.context));
  /// schemas/cli/package-test.schema.json.
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, cases_value("package", cases.source.reference, results));
  else
    print_cases(machine, results);
  return exit_code_of(results);
}

}  // namespace

constinit const Command kPackageTestCommand{.path = "package test",
                                            .summary = "Render a package's test cases and compare",
                                            .run = run_package_test,
                                            .arguments = kArguments,
                                            .flags = kGroups,
                                            .examples = kExamples,
                                            .cluster = ClusterUse::None};

}  // namespace mist::cli
