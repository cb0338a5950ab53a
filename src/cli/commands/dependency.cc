// mistctl dependency build, update and list.

#include "action/authoring/subcharts.h"
#include "base/text.h"
#include "cli/chart_sources.h"
#include "cli/commands.h"
#include "cli/keyring.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "config/redact.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Argument kArguments[] = {{.name = "CHART",
                                    .help = "A chart's directory; without it the current directory",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Package}};
constexpr Flag kFlags[] = {
    {.name = kVerifyChartFlag.name,
     .help = "Fetch only charts that a key of --keyring signed: by their provenance files, "
             "NAME-VERSION.tgz.prov",
     .rare = true},
    kKeyringFlag,
    {.name = "plain-http",
     .help = "Reach registries and chart repositories by http, without TLS: anybody on the way can read and "
             "change everything. Those of this machine need no flag",
     .rare = true},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr FlagGroup kListGroups[] = {kOutputFlags};
constexpr Example kBuildExamples[] = {
    {"mistctl dependency build ./shop", "Fills ./shop/charts with what Chart.lock says"},
};
constexpr Example kUpdateExamples[] = {
    {"mistctl dependency update ./shop", "Takes the newest versions that Chart.yaml allows"},
    {"mistctl dependency update ./shop --verify --keyring team.gpg",
     "Takes them only if a key in team.gpg signed them"},
};
constexpr Example kListExamples[] = {
    {"mistctl dependency list ./shop", "What Chart.yaml asks for, and is it in charts/?"},
};

Path chart_argument(const Invocation& invocation) {
  const std::string given = invocation.argument("CHART");
  return given.empty() ? Path(".") : Path(given);
}

Value text_value(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value to_value(const action::SubchartReport& report) {
  Value::Array charts;
  for (const action::SubchartReport::Chart& each : report.charts)
    charts.push_back(Value::object({{"name", each.name},
                                    {"version", each.version},
                                    {"repository", text_value(each.repository)},
                                    {"file", each.file},
                                    {"written", each.written}}));
  return Value::object({{"charts", Value(std::move(charts))},
                        {"removed", Value(Value::Array(report.removed.begin(), report.removed.end()))},
                        {"lockFile", report.lock_file.string()},
                        {"lockWritten", report.lock_written}});
}

std::string to_text(const action::SubchartReport& report) {
  if (report.charts.empty()) return "the chart has no dependencies\n";
  std::string text;
  for (const action::SubchartReport::Chart& each : report.charts) {
    text += fmt::format("charts/{}", escape_controls(each.file));
    if (!each.repository.empty())
      text += fmt::format(" from {}", escape_controls(config::redact_urls(each.repository)));
    text += each.repository.empty() ? ", as it is\n" : each.written ? ", written\n" : ", was there\n";
  }
  for (const std::string& each : report.removed)
    text += fmt::format("charts/{}, removed\n", escape_controls(each));
  if (report.lock_written) text += fmt::format("{}, written\n", escape_controls(report.lock_file.string()));
  return text;
}

using Work = Result<action::SubchartReport> (*)(const action::SubchartDependencies&, const Path&,
                                                const Context&);

Result<ExitCode> run_work(const Invocation& invocation, Machine& machine, Work work) {
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  MIST_TRY(registry::SubchartSource::Dependencies source, chart_sources(invocation, machine, registries));
  const action::SubchartDependencies subcharts{machine.files, machine.clock, *machine.events,
                                               std::move(source)};
  MIST_TRY(const action::SubchartReport report, work(subcharts, chart_argument(invocation), machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, to_value(report));
  else
    machine.out.write(to_text(report));
  return ExitCode::Ok;
}

Result<ExitCode> run_dependency_build(const Invocation& invocation, Machine& machine) {
  return run_work(invocation, machine, action::build_subcharts);
}

Result<ExitCode> run_dependency_update(const Invocation& invocation, Machine& machine) {
  return run_work(invocation, machine, action::update_subcharts);
}

Result<ExitCode> run_dependency_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::SubchartList list,
           action::list_subcharts(machine.files, chart_argument(invocation)));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array rows;
    for (const action::SubchartList::Row& each : list.rows)
      rows.push_back(Value::object({{"name", each.name},
                                    {"version", text_value(each.version)},
                                    {"repository", text_value(each.repository)},
                                    {"status", each.status}}));
    print_value(
        machine, format,
        Value::object({{"dependencies", Value(std::move(rows))},
                       {"notWanted", Value(Value::Array(list.not_wanted.begin(), list.not_wanted.end()))},
                       {"notCharts", Value(Value::Array(list.not_charts.begin(), list.not_charts.end()))}}));
    return ExitCode::Ok;
  }
  Table table({"NAME", "VERSION", "REPOSITORY", "STATUS"});
  for (const action::SubchartList::Row& each : list.rows)
    table.add({{each.name}, {each.version}, {config::redact_urls(each.repository)}, {each.status}});
  machine.out.write(table.empty() ? "the chart has no dependencies\n" : table.render(machine.color_out));
  for (const std::string& each : list.not_charts)
    machine.events->warn(fmt::format("{} is not a chart", escape_controls(each)));
  for (const std::string& each : list.not_wanted)
    machine.events->warn(fmt::format("{} is not in Chart.yaml", escape_controls(each)));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kDependencyBuildCommand{.path = "dependency build",
                                                .summary = "Fill a chart's charts/ with what its lock says",
                                                .run = run_dependency_build,
                                                .arguments = kArguments,
                                                .flags = kGroups,
                                                .examples = kBuildExamples,
                                                .cluster = ClusterUse::None};

constinit const Command kDependencyUpdateCommand{
    .path = "dependency update",
    .summary = "Fill a chart's charts/ with the newest versions that it allows, and write its lock",
    .run = run_dependency_update,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kUpdateExamples,
    .cluster = ClusterUse::None};

constinit const Command kDependencyListCommand{
    .path = "dependency list",
    .summary = "List the charts that a chart depends on, and whether they are there",
    .run = run_dependency_list,
    .arguments = kArguments,
    .flags = kListGroups,
    .examples = kListExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
