#include "action/run_tests.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "view/tests.h"

namespace mist::cli {
namespace {

using action::TestOutcome;
using action::TestReport;
using action::TestResult;

constexpr Flag kFlags[] = {
    {.name = "filter",
     .type = FlagType::Text,
     .value = "PATTERN",
     .help = "Only tests whose names fit; * stands for any text, ? for one character"},
    {.name = "timeout",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "How long each test may take",
     .fallback = "5m"},
    {.name = "keep", .help = "Leave what the tests made, for a look at it"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kLockFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl test web", "Run all tests of a release"},
    {"mistctl test web --filter 'smoke-*' --keep", "Some of them, and leave their pods"},
};

Error failure_of(const TestReport& report) {
  const std::size_t failed = report.count(TestOutcome::Failed);
  Error failure = error(ErrorKind::Invalid, "{} of {} of release {} failed", failed,
                        plural(report.tests.size(), "test"), report.id.display());
  Diagnosis diagnosis;
  diagnosis.kind = "Release";
  diagnosis.name = report.id.display();
  std::vector<std::string> lines;
  for (const TestResult& result : report.tests) {
    if (result.outcome != TestOutcome::Failed) continue;
    lines.push_back(fmt::format("{}: {}", result.key.display(), result.message));
    if (result.diagnosis) diagnosis.children.push_back(*result.diagnosis);
  }
  failure.because = join(lines, "\n");
  if (diagnosis.children.empty()) return failure;
  return diagnosed(std::move(failure), std::move(diagnosis));
}

Result<ExitCode> run_test(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  const OutputFormat format = output_format(invocation);
  const action::TestOptions options{.timeout = invocation.duration("timeout"),
                                    .filter = invocation.text("filter"),
                                    .keep = invocation.enabled("keep")};
  const auto on_result = [&](const TestResult& result) {
    if (format != OutputFormat::Table) return;
    machine.out.write(view::test_text(result, machine.color_out));
    // The user reads this one's result while the next test runs. A failure is told again by the last flush.
    (void)machine.out.flush();
  };
  MIST_TRY(const TestReport report,
           action::run_tests(cluster.environment, id, options, on_result, machine.context));
  if (format != OutputFormat::Table)
    print_value(machine, format, view::tests_value(report));
  else
    machine.out.write(view::tests_summary(report));
  if (report.count(TestOutcome::Failed) > 0) return failure_of(report);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kTestCommand{.path = "test",
                                     .summary = "Run the tests that a release brings along",
                                     .run = run_test,
                                     .arguments = kReleaseArgument,
                                     .flags = kGroups,
                                     .examples = kExamples};

}  // namespace mist::cli
