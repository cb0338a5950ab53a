#include "cli/output/case_results.h"

#include <algorithm>

#include "base/text.h"
#include "cli/output/report.h"

namespace mist::cli {

using action::CaseResult;
using action::CaseState;
using encoding::Value;

namespace {

std::string_view word_of(CaseState state) {
  switch (state) {
    case CaseState::Passed:
      return "ok";
    case CaseState::Failed:
      return "failed";
    case CaseState::Accepted:
      return "accepted";
  }
  return "";
}

Tone tone_of(CaseState state) {
  switch (state) {
    case CaseState::Passed:
      return Tone::Good;
    case CaseState::Failed:
      return Tone::Bad;
    case CaseState::Accepted:
      return Tone::Warning;
  }
  return Tone::Plain;
}

void print_case(Machine& machine, const CaseResult& result) {
  const bool color = machine.color_out;
  const auto indented = [&](Tone tone, std::string_view line) {
    machine.out.write(fmt::format("  {}\n", paint(color, tone, escape_controls(line))));
  };
  machine.out.write(
      fmt::format("{} {}\n", paint(color, tone_of(result.state), fmt::format("{:<8}", word_of(result.state))),
                  escape_controls(result.name)));
  if (result.error) {
    const std::string drawn = render_error(*result.error, false);
    for (const std::string_view line : split(trim(drawn), '\n')) indented(Tone::Plain, line);
  }
  for (const std::string& failure : result.failures) indented(Tone::Plain, failure);
  if (result.diff.empty()) return;
  indented(Tone::Strong, fmt::format("--- {}", result.golden.string()));
  indented(Tone::Strong, "+++ rendered now");
  for (const std::string& line : result.diff) indented(view::diff_tone(line), line);
}

std::size_t count(const std::vector<CaseResult>& results, CaseState state) {
  return static_cast<std::size_t>(std::ranges::count(results, state, &CaseResult::state));
}

}  // namespace

Value cases_value(std::string_view subject, const std::string& name, const std::vector<CaseResult>& results) {
  Value::Array cases;
  for (const CaseResult& result : results) {
    Value failure = nullptr;
    if (result.error) failure = *error_to_value(*result.error, ExitCode::Failed).find("error");
    cases.push_back(
        Value::object({{"name", result.name},
                       {"file", result.file.string()},
                       {"state", word_of(result.state)},
                       {"failures", Value(Value::Array(result.failures.begin(), result.failures.end()))},
                       {"error", std::move(failure)},
                       {"golden", text_or_null(result.golden.string())},
                       {"diff", text_or_null(join(result.diff, "\n"))}}));
  }
  return Value::object({{subject, name},
                        {"cases", Value(std::move(cases))},
                        {"ok", count(results, CaseState::Passed)},
                        {"accepted", count(results, CaseState::Accepted)},
                        {"failed", count(results, CaseState::Failed)}});
}

void print_cases(Machine& machine, const std::vector<CaseResult>& results) {
  for (const CaseResult& result : results) print_case(machine, result);
  std::string summary =
      fmt::format("{}: {} ok", plural(results.size(), "case"), count(results, CaseState::Passed));
  if (const std::size_t accepted = count(results, CaseState::Accepted); accepted > 0)
    summary += fmt::format(", {} accepted", accepted);
  if (const std::size_t failed = count(results, CaseState::Failed); failed > 0)
    summary += fmt::format(", {} failed", failed);
  machine.out.write(summary + "\n");
}

ExitCode exit_code_of(const std::vector<CaseResult>& results) {
  return count(results, CaseState::Failed) == 0 ? ExitCode::Ok : ExitCode::Failed;
}

}  // namespace mist::cli
