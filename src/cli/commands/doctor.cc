#include "action/query/doctor.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "kube/server_clock.h"

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

std::vector<Check> cluster_checks(const Invocation& invocation, World& world) {
  const Activity activity(*world.events, "asking the cluster");
  auto client = connect(invocation, world);
  if (client.ok()) {
    const auto skew = [&] { return kube::clock_skew(**client); };
    return action::check_cluster(**client, world.clock, skew, world.context);
  }
  const std::string& hint = client.error().hint;
  return {{"cluster", "kubeconfig", CheckState::Fail, client.error().to_line(),
           hint.empty() ? "choose a file with --kubeconfig and one of its contexts with --context" : hint}};
}

std::vector<Check> all_checks(const Invocation& invocation, World& world, const config::Paths& paths) {
  const action::DoctorWorld doctor{world.files, world.processes, world.clock, paths, world.build.engines};
  const bool offline = invocation.enabled("offline");
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) { std::ranges::move(more, std::back_inserter(checks)); };
  add(action::check_configuration(doctor));
  add(action::check_sandbox(doctor));
  add(action::check_caches(doctor));
  {
    const Activity activity(*world.events, "asking the registries");
    add(action::check_registries(doctor, offline ? action::Network::Offline : action::Network::Ask,
                                 world.context));
  }
  if (offline)
    checks.push_back({"cluster", "server", CheckState::Skipped, "not asked"});
  else
    add(cluster_checks(invocation, world));
  return checks;
}

std::size_t count(const std::vector<Check>& checks, CheckState state) {
  return static_cast<std::size_t>(std::ranges::count(checks, state, &Check::state));
}

Value report_value(const World& world, const std::vector<Check>& checks) {
  Value list{Value::Array{}};
  for (const Check& check : checks)
    list.push_back(Value::object({{"area", check.area},
                                  {"name", check.name},
                                  {"state", action::to_string(check.state)},
                                  {"detail", check.detail},
                                  {"hint", text_or_null(check.hint)}}));
  return Value::object({{"version", world.build.version},
                        {"failed", count(checks, CheckState::Fail)},
                        {"warned", count(checks, CheckState::Warn)},
                        {"checks", std::move(list)}});
}

void print_report(World& world, const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    const std::string state(action::to_string(check.state));
    world.out.write(fmt::format("{}{} {}: {}\n", paint(world.color_out, tone_of(check.state), state),
                                std::string(7 - state.size(), ' '), check.area,
                                escape_controls(fmt::format("{}: {}", check.name, check.detail))));
    if (!check.hint.empty()) world.out.write(fmt::format("        try: {}\n", escape_controls(check.hint)));
  }
  const std::size_t failed = count(checks, CheckState::Fail), warned = count(checks, CheckState::Warn);
  const std::size_t skipped = count(checks, CheckState::Skipped);
  if (failed + warned == 0)
    world.out.write(fmt::format(
        "mistctl {}: {}\n", world.build.version,
        skipped == 0 ? "all is well"
                     : fmt::format("everything checked is well, {} skipped", plural(skipped, "check"))));
  else
    world.out.write(fmt::format("mistctl {}: {} failed, {}\n", world.build.version, plural(failed, "check"),
                                plural(warned, "warning")));
}

Result<ExitCode> run_doctor(const Invocation& invocation, World& world) {
  MIST_TRY(const config::Paths paths, named_paths_of(world));
  const std::vector<Check> checks = all_checks(invocation, world, paths);
  MIST_TRY_VOID(world.context.check());
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(world, format, report_value(world, checks));
  else
    print_report(world, checks);
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
