#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/wanted_release.h"

namespace mist::cli {
namespace {

constexpr FlagGroup kGroups[] = {kWantedFlags, kValuesFlags, kDeployFlags,  kPruneFlags, kClockFlags,
                                 kRotateFlags, kLockFlags,   kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl upgrade web -p team/hello-web:0.2.0", "Another version, the same values"},
    {"mistctl upgrade web -s replicas=5 --reuse-values --wait", "One value more, the same package"},
};

Result<ExitCode> run_upgrade(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  action::DeployOptions options = deploy_options(invocation);
  MIST_TRY(options.adopt_from, adopt_from(invocation));
  MIST_TRY(options.take_over_from, take_over_from(invocation, id));
  MIST_TRY(render::WantedRelease wanted, wanted_release(invocation, world, cluster));
  MIST_TRY(const action::DeployReport report,
           action::deploy(cluster.environment, id, action::upgrade_intent(render_of(wanted, world)), options,
                          world.context));
  print_deploy_report(invocation, world, report, "is upgraded");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kUpgradeCommand{.path = "upgrade",
                                        .summary = "Change a release: another package, other values, or both",
                                        .run = run_upgrade,
                                        .arguments = kReleaseArgument,
                                        .flags = kGroups,
                                        .examples = kExamples};

}  // namespace mist::cli
