#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Flag kFlags[] = {
    {.name = "client", .help = "Only the version of mistctl, which is the default"},
    {.name = "server", .help = "Also ask the cluster for its version"},
};
constexpr FlagGroup kFlagGroups[] = {{"Flags", kFlags}, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl version", "Which mistctl is this?"},
    {"mistctl version --server -o json", "And which Kubernetes does it talk to?"},
};

Value client_version(const BuildInfo& build) {
  return Value::object({{"version", Value(build.version)},
                        {"gitCommit", Value(build.commit)},
                        {"platform", Value(build.platform)},
                        {"compiler", Value(build.compiler)}});
}

Result<Value> server_version(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const auto client, connect(invocation, machine));
  const Activity activity(*machine.events, "asking the cluster for its version");
  return client->server_version(machine.context.with_timeout(std::chrono::seconds(10)))
      .in("while asking the cluster for its version");
}

Result<ExitCode> run_version(const Invocation& invocation, Machine& machine) {
  if (invocation.enabled("client") && invocation.enabled("server"))
    return error(ErrorKind::Usage, "--client and --server exclude each other")
        .with_hint("leave one of them out");
  Value server;
  if (invocation.enabled("server")) {
    MIST_TRY(server, server_version(invocation, machine));
  }
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table) {
    print_value(machine, format,
                Value::object({{"client", client_version(machine.build)}, {"server", server}}));
    return ExitCode::Ok;
  }
  machine.out.write(fmt::format("mistctl {} (commit {}, {}, {})\n", machine.build.version,
                                machine.build.commit, machine.build.platform, machine.build.compiler));
  if (!server.is_null()) machine.out.write(fmt::format("Kubernetes {}\n", server.string_at("gitVersion")));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kVersionCommand{
    .path = "version",
    .summary = "Print the version of mistctl, and of the cluster if asked",
    .run = run_version,
    .flags = kFlagGroups,
    .examples = kExamples};

}  // namespace mist::cli
