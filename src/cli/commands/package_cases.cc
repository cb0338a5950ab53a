// mistctl package test.

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/package_source.h"
#include "cli/report.h"

namespace mist::cli {
namespace {

using action::CaseResult;
using action::CaseState;
using encoding::Value;

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

Tone tone_of(std::string_view line) {
  if (line.starts_with('+')) return Tone::Good;
  if (line.starts_with('-')) return Tone::Bad;
  return line.starts_with('@') ? Tone::Name : Tone::Plain;
}

void print_case(World& world, const CaseResult& result) {
  const bool color = world.color_out;
  const auto indented = [&](Tone tone, std::string_view line) {
    world.out.write(fmt::format("  {}\n", paint(color, tone, escape_controls(line))));
  };
  world.out.write(
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
  for (const std::string& line : result.diff) indented(tone_of(line), line);
}

std::size_t count(const std::vector<CaseResult>& results, CaseState state) {
  return static_cast<std::size_t>(std::ranges::count(results, state, &CaseResult::state));
}

/// schemas/cli/package-test.schema.json.
Value to_value(const std::string& reference, const std::vector<CaseResult>& results) {
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
  return Value::object({{"package", reference},
                        {"cases", Value(std::move(cases))},
                        {"ok", count(results, CaseState::Passed)},
                        {"accepted", count(results, CaseState::Accepted)},
                        {"failed", count(results, CaseState::Failed)}});
}

Result<ExitCode> run_package_test(const Invocation& invocation, World& world) {
  MIST_TRY(action::PackageCases cases, package_source(invocation, world));
  cases.names = invocation.arguments("CASE");
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  const auto golden = invocation.enabled("accept") ? action::Golden::Accept : action::Golden::Compare;
  MIST_TRY(const std::vector<CaseResult> results,
           action::run_package_cases(world.files, *renderer, cases, golden, world.context));
  const std::size_t failed = count(results, CaseState::Failed);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, to_value(cases.source.reference, results));
  } else {
    for (const CaseResult& result : results) print_case(world, result);
    std::string summary =
        fmt::format("{}: {} ok", plural(results.size(), "case"), count(results, CaseState::Passed));
    if (const std::size_t accepted = count(results, CaseState::Accepted); accepted > 0)
      summary += fmt::format(", {} accepted", accepted);
    if (failed > 0) summary += fmt::format(", {} failed", failed);
    world.out.write(summary + "\n");
  }
  return failed == 0 ? ExitCode::Ok : ExitCode::Failed;
}

}  // namespace

constinit const Command kPackageTestCommand{.path = "package test",
                                            .summary = "Render a package's test cases and compare",
                                            .run = run_package_test,
                                            .arguments = kArguments,
                                            .flags = kGroups,
                                            .examples = kExamples};

}  // namespace mist::cli
