#include "cli/commands.h"
#include "cli/parse/flags.h"
#include "cli/wanted_release.h"

namespace mist::cli {
namespace {

constexpr Flag kInstallFlag{
    .name = "install", .letter = 'i', .help = "Install the release if it does not exist; needs -p then"};
constexpr Flag kInstallFlagList[] = {kInstallFlag, kSeedFileFlag};
constexpr FlagGroup kGroups[] = {kWantedFlags,  {"Flags of new releases", kInstallFlagList},
                                 kValuesFlags,  kDeployFlags,
                                 kPruneFlags,   kClockFlags,
                                 kRotateFlags,  kLockFlags,
                                 kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl upgrade web -p team/hello-web:0.2.0", "Another version, the same values"},
    {"mistctl upgrade web -s replicas=5 --reuse-values --wait", "One value more, the same package"},
    {"mistctl upgrade web --install -p ./web -f prod.yaml --wait --rollback-on-failure",
     "The same command the first time and every time, as in a pipeline"},
};

Status check_flags(const Invocation& invocation) {
  if (!invocation.has(kSeedFileFlag.name) || invocation.enabled(kInstallFlag.name)) return {};
  return error(ErrorKind::Usage, "--seed-file is for a new release, and an upgrade makes none")
      .with_hint("leave it out, or add --install, which makes the release if it does not exist");
}

Result<ExitCode> run_upgrade(const Invocation& invocation, Machine& machine) {
  MIST_TRY_VOID(check_flags(invocation));
  MIST_TRY(Cluster cluster, open_cluster(invocation, machine));
  use_seed_file(invocation, machine, cluster);
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  action::DeployOptions options = deploy_options(invocation);
  MIST_TRY(options.allowed.adopt_from, adopt_from(invocation));
  MIST_TRY(options.allowed.take_over_from, take_over_from(invocation, id));
  MIST_TRY(render::WantedRelease wanted, wanted_release(invocation, machine, cluster));
  const bool install = invocation.enabled(kInstallFlag.name);
  const action::Intent intent = install ? action::upgrade_or_install_intent(render_of(wanted, machine))
                                        : action::upgrade_intent(render_of(wanted, machine));
  MIST_TRY(const action::DeployReport report,
           action::deploy(cluster.environment, id, intent, options, machine.context));
  print_deploy_report(invocation, machine, report, report.first ? "is installed" : "is upgraded");
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
