// mistctl package lint.

#include <algorithm>

#include "action/authoring/lint_package.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_source.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

using encoding::Value;
using package::Finding;
using package::LintLevel;

constexpr Argument kArguments[] = {kAuthorsSource};
constexpr Flag kFlags[] = {
    {.name = "strict", .help = "Fail for warnings too"},
    kKubeVersionFlag,
    kCasesFlag,
    kEngineFlag,
    kSkipSchemaFlag,
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl package lint ./my-chart", "What is wrong or unwise about it?"},
    {"mistctl package lint ./my-chart --strict", "For CI: warnings fail too"},
    {"mistctl package lint ./my-chart --kube-version 1.35", "Is it fit for an older cluster?"},
};

Tone tone_of(LintLevel level) {
  switch (level) {
    case LintLevel::Error:
      return Tone::Bad;
    case LintLevel::Warning:
      return Tone::Warning;
    case LintLevel::Info:
      return Tone::Faint;
  }
  return Tone::Plain;
}

std::size_t count(const std::vector<Finding>& findings, LintLevel level) {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

// "templates/a.yaml:3: error: … [rule]", "K3.yaml:3:7: error: …", as compilers print it.
void print_finding(Machine& machine, const Finding& each) {
  std::string line;
  if (!each.file.empty()) {
    const std::string place = place_text(escape_controls(each.file), each.line, each.column);
    line = paint(machine.color_out, Tone::Strong, place + ":") + " ";
  }
  // Words of engines may have several lines.
  std::string message;
  for (const std::string_view part : split(trim(each.message), '\n'))
    message += (message.empty() ? "" : "\n    ") + escape_controls(part);
  line += fmt::format(
      "{} {} {}\n", paint(machine.color_out, tone_of(each.level), fmt::format("{}:", to_string(each.level))),
      message, paint(machine.color_out, Tone::Faint, fmt::format("[{}]", each.rule)));
  machine.out.write(line);
}

/// schemas/cli/package-lint.schema.json.
Value to_value(const std::string& reference, const std::vector<Finding>& findings) {
  Value::Array list;
  for (const Finding& each : findings)
    list.push_back(Value::object({{"level", to_string(each.level)},
                                  {"rule", each.rule},
                                  {"file", text_or_null(each.file)},
                                  {"line", each.line > 0 ? Value(each.line) : Value()},
                                  {"column", each.column > 0 ? Value(each.column) : Value()},
                                  {"message", each.message}}));
  return Value::object({{"package", reference},
                        {"findings", Value(std::move(list))},
                        {"errors", count(findings, LintLevel::Error)},
                        {"warnings", count(findings, LintLevel::Warning)},
                        {"infos", count(findings, LintLevel::Info)}});
}

Result<ExitCode> run_package_lint(const Invocation& invocation, Machine& machine) {
  MIST_TRY(action::PackageCases cases, package_source(invocation, machine));
  MIST_TRY(const package::TypeStore types, type_store(machine));
  if (invocation.has("kube-version")) {
    cases.kube_version = invocation.text("kube-version");
    MIST_TRY_VOID(known_minor(types, cases.kube_version));
  }
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(const std::vector<Finding> findings,
           action::lint_package(machine.files, *renderer, cases, types, machine.context));
  const std::size_t errors = count(findings, LintLevel::Error),
                    warnings = count(findings, LintLevel::Warning);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, to_value(cases.source.reference, findings));
  } else {
    for (const Finding& each : findings) print_finding(machine, each);
    machine.out.write(fmt::format("{}, {}, {} of information\n", plural(errors, "error"),
                                  plural(warnings, "warning"),
                                  plural(count(findings, LintLevel::Info), "piece")));
  }
  const bool failed = errors > 0 || (invocation.enabled("strict") && warnings > 0);
  return failed ? ExitCode::Failed : ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageLintCommand{.path = "package lint",
                                            .summary = "Say what is wrong or unwise about a package",
                                            .run = run_package_lint,
                                            .arguments = kArguments,
                                            .flags = kGroups,
                                            .examples = kExamples,
                                            .cluster = ClusterUse::None};

}  // namespace mist::cli
