#include "action/query/doctor.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "kube/server_clock.h"
#include "render/chart_provenance.h"

namespace mist::cli {
namespace {

using action::Check;
using action::CheckState;
using encoding::Value;

constexpr Flag kFlags[] = {
    {.name = "offline", .help = "Look at this machine only: ask neither registries nor the cluster"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl doctor -n shop", "Would an install into the namespace shop work?"},
    {"mistctl doctor --offline", "Without network"},
};

Tone tone_of(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return Tone::Good;
    case CheckState::Warn:
      return Tone::Warning;
    case CheckState::Fail:
      return Tone::Bad;
    case CheckState::Skipped:
      return Tone::Faint;
  }
  return Tone::Plain;
}

std::vector<Check> cluster_checks(const Invocation& invocation, Machine& machine) {
  const Activity activity(*machine.events, "asking the cluster");
  auto client = connect(invocation, machine);
  if (client.ok()) {
    const auto skew = [&] { return kube::clock_skew(**client); };
    return action::check_cluster(**client, machine.clock, skew, machine.context);
  }
  const std::string& hint = client.error().hint;
  return {{"cluster", "kubeconfig", CheckState::Fail, client.error().to_line(),
           hint.empty() ? "choose a file with --kubeconfig and one of its contexts with --context" : hint}};
}

std::vector<Check> all_checks(const Invocation& invocation, Machine& machine, const config::Paths& paths) {
  const action::DoctorDependencies doctor{
      machine.files,         machine.processes,
      machine.clock,         paths,
      machine.build.engines, render::provenance_checker(renderer_options(machine, paths), *machine.events)};
  const bool offline = invocation.enabled("offline");
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) { std::ranges::move(more, std::back_inserter(checks)); };
  add(action::check_configuration(doctor));
  add(action::check_sandbox(doctor));
  add(action::check_caches(doctor));
  {
    const Activity activity(*machine.events, "asking the registries");
    add(action::check_registries(doctor, offline ? action::Network::Offline : action::Network::Ask,
                                 machine.context));
  }
  if (offline)
    checks.push_back({"cluster", "server", CheckState::Skipped, "not asked"});
  else
    add(cluster_checks(invocation, machine));
  return checks;
}

std::size_t count(const std::vector<Check>& checks, CheckState state) {
  return static_cast<std::size_t>(std::ranges::count(checks, state, &Check::state));
}

Value report_value(const Machine& machine, const std::vector<Check>& checks) {
  Value list{Value::Array{}};
  for (const Check& check : checks)
    list.push_back(Value::object({{"area", check.area},
                                  {"name", check.name},
                                  {"state", action::to_string(check.state)},
                                  {"detail", check.detail},
                                  {"hint", text_or_null(check.hint)}}));
  return Value::object({{"version", machine.build.version},
                        {"failed", count(checks, CheckState::Fail)},
                        {"warned", count(checks, CheckState::Warn)},
                        {"checks", std::move(list)}});
}

void print_report(Machine& machine, const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    const std::string state(action::to_string(check.state));
    machine.out.write(fmt::format("{}{} {}: {}\n", paint(machine.color_out, tone_of(check.state), state),
                                  std::string(7 - state.size(), ' '), check.area,
                                  escape_controls(fmt::format("{}: {}", check.name, check.detail))));
    if (!check.hint.empty()) machine.out.write(fmt::format("        try: {}\n", escape_controls(check.hint)));
  }
  const std::size_t failed = count(checks, CheckState::Fail), warned = count(checks, CheckState::Warn);
  const std::size_t skipped = count(checks, CheckState::Skipped);
  if (failed + warned == 0)
    machine.out.write(fmt::format(
        "mistctl {}: {}\n", machine.build.version,
        skipped == 0 ? "all is well"
                     : fmt::format("everything checked is well, {} skipped", plural(skipped, "check"))));
  else
    machine.out.write(fmt::format("mistctl {}: {} failed, {}\n", machine.build.version,
                                  plural(failed, "check"), plural(warned, "warning")));
}

Result<ExitCode> run_doctor(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, named_paths_of(machine));
  const std::vector<Check> checks = all_checks(invocation, machine, paths);
  MIST_TRY_VOID(machine.context.check());
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format, report_value(machine, checks));
  else
    print_report(machine, checks);
  return count(checks, CheckState::Fail) == 0 ? ExitCode::Ok : ExitCode::Failed;
}

}  // namespace

constinit const Command kDoctorCommand{
    .path = "doctor",
    .summary = "Check configuration, registries, caches, cluster and permissions, and say what to do",
    .run = run_doctor,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
