#include "cli/commands.h"
#include "cli/install_count.h"
#include "cli/keyring.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/wanted_release.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "Name of the new release; packages see it as data.name"}};
constexpr Flag kFlags[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help =
         "Package to install: REGISTRY/PATH:VERSION, oci://HOST/PATH:VERSION, git+https://…, or a path that "
         "begins with ./ ../ or /",
     .completion = Completion::Package,
     .required = true},
    kEngineFlag,
    kPlainHttpFlag,
    kVerifyChartFlag,
    kKeyringFlag,
    kSeedFileFlag,
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kValuesFlags, kDeployFlags,  kClockFlags,
                                 kRotateFlags,      kLockFlags,   kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl install my-namespace -p mistletoe/examples/namespace-example:0.1.2",
     "A package of the registry \"mistletoe\""},
    {"mistctl install web -p ./manifests -n shop --create-namespace --wait",
     "A directory of Kubernetes YAML, and wait until it runs"},
    {"mistctl install web -p team/hello-web:0.1.0 -f prod.yaml -s replicas=3 --dry-run",
     "Only show what would happen"},
};

Result<ExitCode> run_install(const Invocation& invocation, Machine& machine) {
  MIST_TRY(Cluster cluster, open_cluster(invocation, machine));
  use_seed_file(invocation, machine, cluster);
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  action::DeployOptions options = deploy_options(invocation);
  MIST_TRY(options.allowed.adopt_from, adopt_from(invocation));
  MIST_TRY(options.allowed.take_over_from, take_over_from(invocation, id));
  MIST_TRY(render::WantedRelease wanted, wanted_release(invocation, machine, cluster));
  MIST_TRY(const action::DeployReport report,
           action::deploy(cluster.environment, id, action::install_intent(render_of(wanted, machine)),
                          options, machine.context));
  print_deploy_report(invocation, machine, report, "is installed");
  if (report.changed && report.dry_run == action::DryRun::No)
    count_install_of(machine, invocation.text("package"), report.package.version);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kInstallCommand{.path = "install",
                                        .summary = "Install a package as a new release",
                                        .run = run_install,
                                        .arguments = kArguments,
                                        .flags = kGroups,
                                        .examples = kExamples};

}  // namespace mist::cli
