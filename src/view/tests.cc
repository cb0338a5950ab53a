#include "view/tests.h"

#include "base/duration.h"
#include "base/text.h"
#include "view/style.h"
#include "view/values.h"

namespace mist::view {

using action::TestOutcome;
using action::TestReport;
using action::TestResult;
using encoding::Value;

namespace {

Tone tone_of(TestOutcome outcome) {
  return outcome == TestOutcome::Passed   ? Tone::Good
         : outcome == TestOutcome::Failed ? Tone::Bad
                                          : Tone::Warning;
}

}  // namespace

std::string test_text(const TestResult& result, bool color) {
  std::string text;
  for (const apply::ContainerLog& log : result.logs) {
    const std::string prefix = escape_controls(fmt::format("[{}/{}]", log.pod, log.container));
    std::string_view rest = log.text;
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    for (std::string_view line : split(rest, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      text += fmt::format("{} {}\n", paint(color, Tone::Faint, prefix), escape_controls(line));
    }
    if (log.cut) text += fmt::format("{} … (cut after a MiB)\n", paint(color, Tone::Faint, prefix));
  }
  text += fmt::format("{}  {}", paint(color, tone_of(result.outcome), action::to_string(result.outcome)),
                      escape_controls(result.key.display()));
  if (result.outcome != TestOutcome::Skipped) text += fmt::format(" ({})", format_elapsed(result.elapsed));
  if (!result.message.empty()) text += ": " + escape_controls(result.message);
  return text + "\n";
}

std::string tests_summary(const TestReport& report) {
  if (report.tests.empty())
    return fmt::format(
        "{} has no tests: no object of revision v{} carries mistletoe.dev/test: \"true\", and no hook of "
        "a chart is a helm.sh/hook: test\n",
        report.id.name, report.revision);
  std::string text = fmt::format("{}: {} of {} passed\n", report.id.name, report.count(TestOutcome::Passed),
                                 plural(report.tests.size(), "test"));
  for (const std::string& object : report.kept)
    text +=
        fmt::format("  {} stays until the next test or uninstall of the release\n", escape_controls(object));
  return text;
}

Value tests_value(const TestReport& report) {
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

}  // namespace mist::view
