#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/plan_output.h"
#include "cli/wanted_release.h"

namespace mist::cli {
namespace {

constexpr FlagGroup kGroups[] = {kWantedFlags, kValuesFlags, kDiffFlags,    kPlanFlags,  kPruneFlags,
                                 kClockFlags,  kRotateFlags, kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl diff web -s replicas=5 --reuse-values", "What this upgrade would change"},
    {"mistctl diff web -p team/hello-web:0.2.0 --exit-code", "For scripts: 0 is nothing, 3 is something"},
    {"mistctl diff web",
     "What was changed in the cluster since the last revision, and would be changed back"},
};

Result<ExitCode> run_diff(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const action::Look look, preview(invocation, world, cluster));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(world, format, diff_value(look, diff_options(invocation)));
  else
    print_diff(world, look, diff_options(invocation));
  return invocation.enabled("exit-code") && changes_something(look) ? ExitCode::Differences : ExitCode::Ok;
}

}  // namespace

constinit const Command kDiffCommand{
    .path = "diff",
    .summary = "Show what an upgrade or install would change, field by field",
    .run = run_diff,
    .arguments = kReleaseArgument,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
