#include "action/examine.h"
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
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(action::DeployOptions options, plan_options(invocation));
  WantedRelease wanted(invocation, world, *cluster.client);
  MIST_TRY_VOID(wanted.prepare());
  const auto render = [&](const action::ReleaseState& state) { return wanted.render(state); };
  MIST_TRY(const action::Look look,
           action::look(cluster.environment, id, action::preview_intent(render), options, world.context));
  if (const Status drawn = action::accept_drawn(cluster.environment, look); !drawn.ok())
    world.events->warn(drawn.error().to_line());
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
