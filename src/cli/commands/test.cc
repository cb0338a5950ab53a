#include "action/run_tests.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

using action::TestOutcome;
using action::TestReport;
using action::TestResult;
using encoding::Value;

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

Tone tone_of(TestOutcome outcome) {
  return outcome == TestOutcome::Passed   ? Tone::Good
         : outcome == TestOutcome::Failed ? Tone::Bad
                                          : Tone::Warning;
}

void print_result(World& world, const TestResult& result) {
  std::string text;
  for (const apply::ContainerLog& log : result.logs) {
    const std::string prefix = escape_controls(fmt::format("[{}/{}]", log.pod, log.container));
    std::string_view rest = log.text;
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    for (std::string_view line : split(rest, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      text += fmt::format("{} {}\n", paint(world.color_out, Tone::Faint, prefix), escape_controls(line));
    }
    if (log.cut) text += fmt::format("{} … (cut after a MiB)\n", paint(world.color_out, Tone::Faint, prefix));
  }
  text += fmt::format("{}  {}",
                      paint(world.color_out, tone_of(result.outcome), action::to_string(result.outcome)),
                      escape_controls(result.key.display()));
  if (result.outcome != TestOutcome::Skipped) text += fmt::format(" ({})", format_elapsed(result.elapsed));
  if (!result.message.empty()) text += ": " + escape_controls(result.message);
  world.out.write(text + "\n");
  // Who waits for the next test reads this one's. A failure is told again by the last flush.
  (void)world.out.flush();
}

Value report_value(const TestReport& report) {
  Value::Array tests, kept;
  for (const TestResult& result : report.tests) {
    Value::Array logs;
    for (const apply::ContainerLog& log : result.logs)
      logs.push_back(Value::object(
          {{"pod", log.pod}, {"container", log.container}, {"text", log.text}, {"cut", log.cut}}));
    tests.push_back(
        identity_value(result.key, {{"outcome", action::to_string(result.outcome)},
                                    {"message", text_or_null(result.message)},
                                    {"seconds", std::chrono::duration<double>(result.elapsed).count()},
                                    {"logs", Value(std::move(logs))}}));
  }
  for (const std::string& object : report.kept) kept.push_back(Value::object({{"object", object}}));
  return Value::object({{"release", report.id.name},
                        {"namespace", report.id.ns},
                        {"revision", report.revision},
                        {"passed", report.count(TestOutcome::Passed)},
                        {"failed", report.count(TestOutcome::Failed)},
                        {"skipped", report.count(TestOutcome::Skipped)},
                        {"tests", Value(std::move(tests))},
                        {"kept", Value(std::move(kept))}});
}

void print_summary(World& world, const TestReport& report) {
  if (report.tests.empty()) {
    world.out.write(
        fmt::format("{} has no tests: no object of revision v{} carries mistletoe.dev/test: \"true\"\n",
                    report.id.name, report.revision));
    return;
  }
  world.out.write(fmt::format("{}: {} of {} passed\n", report.id.name, report.count(TestOutcome::Passed),
                              plural(report.tests.size(), "test")));
  for (const std::string& object : report.kept)
    world.out.write(
        fmt::format("  {} stays until the next mistctl test or uninstall\n", escape_controls(object)));
}

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

Result<ExitCode> run_test(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  const OutputFormat format = output_format(invocation);
  const action::TestOptions options{.timeout = invocation.duration("timeout"),
                                    .filter = invocation.text("filter"),
                                    .keep = invocation.enabled("keep")};
  const auto on_result = [&](const TestResult& result) {
    if (format == OutputFormat::Table) print_result(world, result);
  };
  MIST_TRY(const TestReport report,
           action::run_tests(cluster.environment, id, options, on_result, world.context));
  if (format != OutputFormat::Table)
    print_value(world, format, report_value(report));
  else
    print_summary(world, report);
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
