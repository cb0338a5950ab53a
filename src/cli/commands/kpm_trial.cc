// kpm test: a Kube is installed into a namespace of its own, tested and removed.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "action/recover/labelled.h"
#include "action/run_tests.h"
#include "action/uninstall.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/kube_questions.h"
#include "cli/kubes.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "cli/wanted_release.h"

namespace mist::cli {
namespace {

constexpr Flag kTestFlags[] = {kTimeoutFlag,
                               kAllowLookupFlag,
                               kAllowLookupSecretsFlag,
                               kRevokeLookupFlag,
                               kAllowHostScriptsFlag,
                               kSkipSchemaFlag,
                               {.name = "keep", .help = "Leave the namespace of the test for a look at it"}};
constexpr FlagGroup kTestGroups[] = {{"Flags", kTestFlags}, kValuesFlags, kClockFlags, kSandboxFlags};

// For a look at what a create has made of which no answer came.
constexpr Duration kUnclearLimit = std::chrono::seconds(30);
constexpr Duration kUnclearPause = std::chrono::seconds(1);

struct Trial {
  const Invocation& invocation;
  Machine& machine;
  const Cluster& cluster;
  release::ReleaseId id;
  std::string ns_uid = {};
};

Result<kube::ObjectRef> namespace_of(const Trial& trial, const Context& context) {
  MIST_TRY(kube::ResourceInfo resource, trial.cluster.client->resource_for({"", "Namespace"}, "v1", context));
  return kube::ObjectRef{std::move(resource), {}, trial.id.ns};
}

// A create isn't repeated, and Ctrl-C may come before its answer: the server may have made the namespace.
Error after_unclear_create(const Trial& trial, Error failure) {
  const Context context = Context().with_timeout(kUnclearLimit);
  const auto look = [&]() -> Status {
    MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, context));
    auto live = trial.cluster.client->get(ref, context);
    // It may still be under way.
    if (!live.ok() && live.error().kind == ErrorKind::NotFound &&
        trial.machine.clock.sleep(kUnclearPause, {}))
      live = trial.cluster.client->get(ref, context);
    if (!live.ok()) return live.error().kind == ErrorKind::NotFound ? Status() : Status(live.error());
    MIST_TRY_VOID(trial.cluster.client->remove(
        ref, {.uid = std::string(live->string_at({"metadata", "uid"}))}, context));
    return {};
  };
  if (const Status removed = look(); !removed.ok())
    tell_caution(trial.machine,
                 fmt::format("WARNING: the namespace {} may be there, and could not be removed: {}",
                             trial.id.ns, removed.error().to_line()));
  return failure;
}

Status make_namespace(Trial& trial) {
  using enum ErrorKind;
  MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, trial.machine.context));
  auto made = trial.cluster.client->create(
      ref.resource, {},
      encoding::Value::object(
          {{"apiVersion", encoding::Value("v1")},
           {"kind", encoding::Value("Namespace")},
           {"metadata", encoding::Value::object({{"name", encoding::Value(trial.id.ns)}})}}),
      trial.machine.context);
  if (!made.ok()) {
    const ErrorKind kind = made.error().kind;
    // Anything else is the server's answer that it made none.
    if (kind == Retryable || kind == Timeout || kind == Cancelled || kind == Internal)
      return after_unclear_create(trial, std::move(made).error());
    return std::move(made).error();
  }
  trial.ns_uid = made->string_at({"metadata", "uid"});
  return {};
}

// Installs it, waits until it is ready, and runs its tests.
Status try_out(const Trial& trial, const kpm::Kube& kube, std::vector<package::ValuesInput> values) {
  Machine& machine = trial.machine;
  MIST_TRY(auto hidden, answer_questions(trial.invocation, machine, trial.cluster, trial.id, kube, {},
                                         Values::Alone, values));
  MIST_TRY(render::WantedRelease wanted,
           wanted_package(trial.invocation, machine, trial.cluster, trial.id, kube.package.string(),
                          std::move(values), {.hidden = std::move(hidden)}));
  const action::Intent intent = action::install_intent(render_of(wanted, machine));
  action::DeployOptions options;
  options.timeout = trial.invocation.duration("timeout");
  options.dry_run = action::DryRun::Server;
  tell_step(machine, "Letting the server check each object...");
  MIST_TRY_VOID(action::deploy(trial.cluster.environment, trial.id, intent, options, machine.context));
  options.dry_run = action::DryRun::No;
  options.wait = true;
  tell_step(machine, fmt::format("Installing into the namespace {}, until it is ready...", trial.id.ns));
  MIST_TRY_VOID(action::deploy(trial.cluster.environment, trial.id, intent, options, machine.context));
  MIST_TRY(const action::TestReport tests,
           action::run_tests(
               trial.cluster.environment, trial.id, {.timeout = options.timeout},
               [](const action::TestResult&) {}, machine.context));
  for (const action::TestResult& each : tests.tests)
    tell_step(machine, fmt::format("{}: {}", each.key.display(), action::to_string(each.outcome)));
  const std::size_t failed = tests.count(action::TestOutcome::Failed);
  if (failed > 0)
    return error(ErrorKind::Invalid, "{} of {} failed", failed, plural(tests.tests.size(), "test"));
  if (tests.tests.empty()) tell_step(machine, "It has no tests");
  return {};
}

enum class TrialHooks : std::uint8_t { Run, Skipped };

// How many objects uninstalling left.
Result<std::size_t> uninstall_trial(const Trial& trial, TrialHooks hooks) {
  const Duration timeout = trial.invocation.duration("timeout");
  const Context context = Context().with_timeout(timeout);
  const action::UninstallOptions options{.rules = {.delete_crds = true, .delete_pvcs = true},
                                         .wait = true,
                                         .no_hooks = hooks == TrialHooks::Skipped,
                                         .timeout = timeout,
                                         .plan_again = true};
  auto plan = action::plan_uninstall(trial.cluster.environment, trial.id, options, context);
  if (!plan.ok() && plan.error().kind == ErrorKind::NotFound) return std::size_t{0};
  if (!plan.ok()) return std::move(plan).error();
  MIST_TRY(const action::UninstallReport report,
           action::uninstall(trial.cluster.environment, *std::move(plan), options, context));
  return report.retained;
}

// Words about what the release has outside of its namespace; empty: nothing. The record goes with that, so
// nothing names them any more.
std::string left_outside(const Trial& trial) {
  const Context context = Context().with_timeout(trial.invocation.duration("timeout"));
  const auto left = action::labelled_outside(trial.cluster.environment, trial.id, {}, context);
  if (!left.ok())
    return fmt::format("what it left outside of its namespace can't be listed: {}", left.error().to_line());
  std::vector<std::string> names;
  for (const apply::InventoryItem& item : *left) names.push_back(item.key.display());
  return names.empty() ? std::string()
                       : fmt::format("these are left outside of its namespace, for you to delete: {}",
                                     join(names, ", "));
}

// Each step has the whole time: an uninstall that waits for something that never goes must not keep the
// namespace here.
Status remove_namespace(const Trial& trial) {
  const Duration timeout = trial.invocation.duration("timeout");
  const Context context = Context().with_timeout(timeout);
  MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, context));
  MIST_TRY_VOID(trial.cluster.client->remove(ref, {.uid = trial.ns_uid}, context));
  return apply::wait_until_gone(*trial.cluster.client, ref, trial.ns_uid, timeout, context)
      .in("while waiting for the namespace of the test to go");
}

// Cluster-scoped objects would outlive the namespace, so the release is uninstalled first; where that fails,
// again without its hooks. The namespace goes even if that fails; why it failed is told first, as that may
// hold the namespace, too.
Status clean_up(const Trial& trial) {
  Machine& machine = trial.machine;
  tell_step(machine, "Uninstalling...");
  Result<std::size_t> retained = uninstall_trial(trial, TrialHooks::Run);
  if (!retained.ok()) (void)uninstall_trial(trial, TrialHooks::Skipped);
  const bool is_clean = retained.ok() && *retained == 0;
  std::string left = is_clean ? std::string() : left_outside(trial);
  Status gone = remove_namespace(trial);
  if (is_clean) {
    MIST_TRY_VOID(std::move(gone));
    tell_step(machine, "Nothing stays");
    return {};
  }
  if (!gone.ok()) tell_caution(machine, fmt::format("WARNING: {}", gone.error().to_line()));
  Error failure = retained.ok()
                      ? error(ErrorKind::Invalid, "uninstalling left {}", plural(*retained, "object"))
                      : std::move(retained).error();
  // It says to uninstall again, and the record went with the namespace.
  if (gone.ok()) failure.hint.clear();
  if (!left.empty()) failure.frames.push_back(std::move(left));
  return failure;
}

Result<ExitCode> run_kpm_test(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const kpm::Kube kube, obtain_kube(machine, home, invocation.argument("KUBE"), true));
  tell_step(machine, fmt::format("{} of {} is well formed", kpm::kMetadataFile, kube.k3.full_name()));
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(kube.k3.name));
  MIST_TRY(std::vector<package::ValuesInput> values, read_values(invocation, machine));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  std::array<std::byte, 4> bytes{};
  machine.random.fill(bytes);
  Trial trial{invocation, machine, cluster, {fmt::format("kpm-test-{}", hex(bytes)), name.str()}};
  MIST_TRY_VOID(make_namespace(trial));
  Status tried = try_out(trial, kube, std::move(values));
  if (invocation.enabled("keep")) {
    tell_step(machine, fmt::format("The namespace {} stays", trial.id.ns));
  } else {
    Status cleaned = clean_up(trial);
    if (!cleaned.ok() && !tried.ok())
      tell_caution(machine, fmt::format("WARNING: {}", cleaned.error().to_line()));
    if (tried.ok()) tried = std::move(cleaned);
  }
  MIST_TRY_VOID(std::move(tried).in(fmt::format("while testing {}", kube.k3.full_name())));
  tell_step(machine, fmt::format("{} passes", kube.k3.full_name()));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kKpmTestCommand{
    .path = "kpm test",
    .summary = "Install a Kube into a namespace of its own, test it, remove it",
    .run = run_kpm_test,
    .arguments = kKube,
    .flags = kTestGroups};

}  // namespace mist::cli
