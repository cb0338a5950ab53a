// kpm install and kpm upgrade: a release of a Kube, and of what it needs.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "action/deploy/prepare.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/install_count.h"
#include "cli/kpm_home.h"
#include "cli/kube_questions.h"
#include "cli/kubes.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "cli/wanted_release.h"
#include "encoding/semver.h"
#include "kpm/cluster.h"
#include "kpm/dependencies.h"
#include "release/command_text.h"

namespace mist::cli {
namespace {

constexpr Flag kInstallFlags[] = {
    {.name = "name",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Name of the release; without it the Kube's"},
    {.name = "force", .help = "Go on although dependencies aren't satisfied"},
    {.name = "with-dependencies", .help = "Install what is missing first, from the archives"},
};
constexpr FlagGroup kInstallGroups[] = {{"Flags", kInstallFlags},
                                        kValuesFlags,
                                        kDeployFlags,
                                        kClockFlags,
                                        kRotateFlags,
                                        kLockFlags,
                                        kSandboxFlags,
                                        kOutputFlags};
constexpr Flag kUpgradeFlags[] = {kReuseValuesFlag};
constexpr FlagGroup kUpgradeGroups[] = {{"Flags", kInstallFlags},
                                        {"Flags of upgrades", kUpgradeFlags},
                                        kValuesFlags,
                                        kDeployFlags,
                                        kPruneFlags,
                                        kClockFlags,
                                        kRotateFlags,
                                        kLockFlags,
                                        kSandboxFlags,
                                        kOutputFlags};
constexpr Example kUpgradeExamples[] = {
    {"kpm upgrade etcd-standalone", "The newest version of the archives, the same values"},
    {"kpm upgrade etcd-standalone:3.6.1 -s replicas=3 --reuse-values", "That version, and one value more"},
};
constexpr Example kInstallExamples[] = {
    {"kpm install etcd-standalone", "The newest version of the archives, or your working copy"},
    {"kpm install ponycorn --with-dependencies --wait", "With what it needs, and wait until all runs"},
};

// Of a release that is there: its own values are kept, unless others are given.
Values of_upgrade(const Invocation& invocation) {
  const bool replaced = has_values(invocation) && !invocation.enabled(kReuseValuesFlag.name);
  return replaced ? Values::Alone : Values::Merged;
}
// Those that may be what isn't there, of which some would be installed a second time.
std::vector<kpm::Unreadable> in_question(const kpm::InstallPlan& plan,
                                         std::vector<kpm::Unreadable> unreadable) {
  std::erase_if(unreadable, [&](const kpm::Unreadable& each) {
    return std::ranges::none_of(plan.missing,
                                [&](const std::string& name) { return may_be_of(each, name); }) &&
           std::ranges::none_of(plan.unavailable, [&](const kpm::Dependency& dependency) {
             return may_be_of(each, dependency.name);
           });
  });
  return unreadable;
}

// Names the broken Kube, and the place of each fault.
std::string broken_words(const Error& broken) {
  std::string faults = broken.because;
  std::ranges::replace(faults, '\n', ' ');
  return fmt::format("{}: {}", broken.message, faults);
}

Status ask_to_go_on(const Invocation& invocation, Machine& machine, const kpm::InstallPlan& plan,
                    const std::vector<kpm::Unreadable>& all_unreadable) {
  const std::vector<kpm::Unreadable> unreadable = in_question(plan, all_unreadable);
  const bool may_be_there = !plan.missing.empty() && !unreadable.empty();
  if (plan.unavailable.empty() && !may_be_there) return {};
  for (const kpm::Unreadable& each : unreadable)
    tell_caution(machine, fmt::format("WARNING: Release {} may be a dependency, but can't be read: {}",
                                      each.release.display(), each.why.to_line()));
  for (const kpm::Dependency& each : plan.unavailable)
    tell_caution(machine, fmt::format("WARNING: Dependency {} ({}) does not seem to be satisfied.", each.name,
                                      each.range.text()));
  for (const Error& each : plan.broken) tell_caution(machine, broken_words(each));
  if (!plan.unavailable.empty()) tell_caution(machine, "This package may not function correctly.");
  if (may_be_there)
    tell_caution(machine,
                 fmt::format("One of these may be installed a second time: {}.", join(plan.missing, ", ")));
  if (invocation.enabled("force")) return {};
  if (!can_ask(machine) && plan.unavailable.empty())
    return error(ErrorKind::Forbidden,
                 "nothing was changed, because a dependency may be installed already and nobody can be asked")
        .with_hint("--force installs it all the same");
  if (!can_ask(machine) && !plan.broken.empty())
    return error(ErrorKind::Forbidden,
                 "nothing was changed, because a dependency is broken and nobody can be asked")
        .with_because(broken_words(plan.broken.front()))
        .with_hint(plan.broken.front().hint + "; --force goes on without it");
  if (!can_ask(machine))
    return error(ErrorKind::Forbidden,
                 "nothing was changed, because a dependency is missing and nobody can be asked")
        .with_hint("--with-dependencies installs what is missing; --force goes on without it");
  MIST_TRY_VOID(machine.out.flush());
  const ScreenPause pause(machine.screen);
  machine.err.write("Continue? ");
  MIST_TRY(const std::optional<std::string> answer, machine.in.read_line(machine.context));
  const std::string word = lower_case(trim(answer.value_or("")));
  if (word == "y" || word == "yes") return {};
  return error(ErrorKind::Forbidden, "nothing was changed, because the answer was no");
}

enum class Verb : std::uint8_t { Install, Upgrade };

bool is_dry(const Invocation& invocation) { return deploy_options(invocation).dry_run != action::DryRun::No; }

// A command, with all that it takes to find the same release again.
std::string upgrade_text(std::string_view kube, const release::ReleaseId& id) {
  const std::string named = id.name == kube.substr(0, kube.find(':')) ? "" : " --name " + id.name;
  return fmt::format("kpm upgrade {}{} -n {}{}", kube, named, id.ns, id.cluster_words);
}

// With the hint of this program, where the release is there already.
action::Intent install_intent(action::Render render, const std::string& kube) {
  action::Intent intent = action::install_intent(std::move(render));
  intent.check = [check = std::move(intent.check), kube](const action::ReleaseState& state) {
    Status done = check(state);
    if (done.ok() || !state.deployed) return done;
    return Status(std::move(done).error().with_hint(upgrade_text(kube, state.id) + " changes it"));
  };
  return intent;
}

Result<release::ReleaseId> release_named(const Invocation& invocation, const Cluster& cluster,
                                         const std::string& name) {
  MIST_TRY(const release::ReleaseName checked, release::ReleaseName::parse(name));
  return release::ReleaseId{cluster.client->default_namespace(), checked.str(), cluster_words(invocation),
                            std::string(invocation.called_as())};
}

// A Kube and a version that nobody named have to be those that an upgrade is about.
Status check_is_newer(const kpm::Kube& kube, bool is_named, const action::ReleaseState& state) {
  if (!state.deployed) return {};
  const release::PackageInfo& package = state.deployed->package;
  if (package.name != kube.k3.name)
    return error(ErrorKind::Conflict, "release {} was made of the package {}, and not of the Kube {}",
                 state.id.display(), package.name, kube.k3.name)
        .with_hint(fmt::format("{} replaces it by the Kube, and --name NAME names another release",
                               release::command_text("upgrade", state.id, "-p " + kube.package.string())));
  const auto deployed = encoding::SemVer::parse(package.version);
  if (is_named || !deployed.ok() || *deployed <= kube.k3.version) return {};
  return error(ErrorKind::Conflict, "release {} has {} {}, which is newer than the {} of the archives",
               state.id.display(), package.name, package.version, kube.k3.version.to_string())
      .with_hint(fmt::format("kpm update reads what they hold now; {} goes back",
                             upgrade_text(kube.k3.name + ":" + kube.k3.version.to_string(), state.id)));
}

// Before anything is asked or written, dependencies included.
Status check_release(Machine& machine, const Cluster& cluster, const release::ReleaseId& id,
                     const kpm::Kube& kube, Verb verb, bool is_named, bool say) {
  MIST_TRY(const action::ReleaseState state,
           action::read_release(cluster.environment, id, machine.context, action::LostRevision::Allowed));
  const action::Intent intent =
      verb == Verb::Install ? install_intent({}, kube.k3.name) : action::upgrade_intent({});
  MIST_TRY_VOID(intent.check(state));
  if (verb == Verb::Install) return {};
  MIST_TRY_VOID(check_is_newer(kube, is_named, state));
  if (say && state.deployed)
    tell_step(machine, fmt::format("Upgrading {} from {} to {}", id.name, state.deployed->package.version,
                                   kube.k3.version.to_string()));
  return {};
}

Result<action::DeployReport> deploy_one(const Invocation& invocation, Machine& machine,
                                        const Cluster& cluster, const kpm::Kube& kube,
                                        const release::ReleaseId& id, Verb verb,
                                        std::vector<package::ValuesInput> values) {
  action::DeployOptions options = deploy_options(invocation);
  MIST_TRY(options.allowed.adopt_from, adopt_from(invocation));
  MIST_TRY(options.allowed.take_over_from, take_over_from(invocation, id));
  const Values kind = verb == Verb::Upgrade ? of_upgrade(invocation) : Values::Alone;
  MIST_TRY(auto hidden, answer_questions(invocation, machine, cluster, id, kube, options, kind, values));
  MIST_TRY(render::WantedRelease wanted,
           wanted_package(invocation, machine, cluster, id, kube.package.string(), std::move(values),
                          {.values = kind, .hidden = std::move(hidden)}));
  if (output_format(invocation) == OutputFormat::Table && !is_dry(invocation))
    tell_step(machine, fmt::format("Running kubectl {} -f ...", verb == Verb::Install ? "create" : "apply"));
  const action::Intent intent = verb == Verb::Install
                                    ? install_intent(render_of(wanted, machine), kube.k3.name)
                                    : action::upgrade_intent(render_of(wanted, machine));
  MIST_TRY(action::DeployReport report,
           action::deploy(cluster.environment, id, intent, options, machine.context));
  if (verb == Verb::Install && report.changed && !is_dry(invocation) && !kube.service.empty())
    count_install(machine, kube.service, kube.k3.name, kube.k3.version.to_string());
  return report;
}

void print_deployed(const Invocation& invocation, Machine& machine, const action::DeployReport& report,
                    Verb verb) {
  if (output_format(invocation) != OutputFormat::Table || is_dry(invocation))
    return print_deploy_report(invocation, machine, report,
                               verb == Verb::Install ? "is installed" : "is upgraded");
  if (!report.message.empty()) machine.out.write(escape_controls(report.message, true) + "\n");
  tell_step(machine, "Done");
}

// The values of the command are those of the Kube that was asked for, so a dependency can't be answered here.
Error of_dependency(Error failure, const std::string& name, const std::string& needed_by) {
  if (failure.detail<package::Unanswered>() != nullptr)
    failure.hint =
        fmt::format("install it by itself first, and answer it there: kpm install {} -f FILE", name);
  return std::move(failure).with_frame(fmt::format("while installing {}, which {} needs", name, needed_by));
}

Status install_dependencies(const Invocation& invocation, Machine& machine, kpm::Home& home,
                            const Cluster& cluster, const kpm::K3& k3, bool say) {
  if (k3.dependencies.empty()) return {};
  release::Store store(*cluster.client);
  MIST_TRY(const kpm::InstalledPackages installed,
           kpm::installed_packages(store, cluster.client->default_namespace(), machine.context));
  kpm::InstallPlan plan{.missing = {}, .unavailable = kpm::unsatisfied(k3, installed.packages)};
  KubeDependencies dependencies(machine, home);
  if (invocation.enabled("with-dependencies")) {
    MIST_TRY(plan,
             kpm::plan_dependencies(k3, installed.packages,
                                    [&](const std::string& name, std::span<const kpm::Dependency> needs) {
                                      return dependencies.find(name, needs);
                                    }));
  }
  // Asked before any write, so that a no leaves the cluster as it was; so does one that can't be unpacked.
  MIST_TRY_VOID(ask_to_go_on(invocation, machine, plan, installed.unreadable));
  std::vector<std::pair<std::string, kpm::Kube>> kubes;
  for (const std::string& name : plan.missing) {
    MIST_TRY(kpm::Kube kube, dependencies.obtain(name, say));
    kubes.emplace_back(name, std::move(kube));
  }
  for (const auto& [name, kube] : kubes) {
    if (say) tell_step(machine, fmt::format("Installing the dependency {}", kube.k3.full_name()));
    MIST_TRY(const release::ReleaseId id, release_named(invocation, cluster, name));
    const auto done = deploy_one(invocation, machine, cluster, kube, id, Verb::Install, {});
    if (!done.ok()) return of_dependency(done.error(), name, k3.name);
    // A program reads one value, that of the Kube that was asked for.
    if (say) print_deployed(invocation, machine, *done, Verb::Install);
  }
  return {};
}

Result<ExitCode> deploy_kube(const Invocation& invocation, Machine& machine, Verb verb) {
  if (invocation.enabled("with-dependencies") && !deploy_options(invocation).rotate.nothing())
    return error(ErrorKind::Usage,
                 "--rotate-secrets is about one release, and --with-dependencies about several")
        .with_hint("upgrade first, and rotate then");
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  const bool say = output_format(invocation) == OutputFormat::Table;
  MIST_TRY(const kpm::Kube kube, obtain_kube(machine, home, invocation.argument("KUBE"), say));
  MIST_TRY(std::vector<package::ValuesInput> values, read_values(invocation, machine));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(
      const release::ReleaseId id,
      release_named(invocation, cluster, invocation.has("name") ? invocation.text("name") : kube.k3.name));
  const bool is_named = kube.is_working_copy || invocation.argument("KUBE").contains(':');
  MIST_TRY_VOID(check_release(machine, cluster, id, kube, verb, is_named, say && !is_dry(invocation)));
  MIST_TRY_VOID(install_dependencies(invocation, machine, home, cluster, kube.k3, say));
  MIST_TRY(const action::DeployReport report,
           deploy_one(invocation, machine, cluster, kube, id, verb, std::move(values)));
  print_deployed(invocation, machine, report, verb);
  return ExitCode::Ok;
}

Result<ExitCode> run_install(const Invocation& invocation, Machine& machine) {
  return deploy_kube(invocation, machine, Verb::Install);
}

Result<ExitCode> run_upgrade(const Invocation& invocation, Machine& machine) {
  return deploy_kube(invocation, machine, Verb::Upgrade);
}

}  // namespace

constinit const Command kKpmInstallCommand{.path = "kpm install",
                                           .summary = "Install a Kube",
                                           .run = run_install,
                                           .arguments = kKube,
                                           .flags = kInstallGroups,
                                           .examples = kInstallExamples};
constinit const Command kKpmUpgradeCommand{.path = "kpm upgrade",
                                           .summary = "Upgrade an installed Kube",
                                           .run = run_upgrade,
                                           .arguments = kKube,
                                           .flags = kUpgradeGroups,
                                           .examples = kUpgradeExamples};

}  // namespace mist::cli
