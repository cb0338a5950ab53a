// kpm test: a Kube is checked, installed into a namespace of its own, tested, upgraded and removed: the steps
// that a catalog takes (action/authoring/package_checks.h, release_trial.h).

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "action/authoring/package_checks.h"
#include "action/authoring/release_trial.h"
#include "action/recover/labelled.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/kube_questions.h"
#include "cli/kubes.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "cli/wanted_release.h"
#include "package/pre_install.h"
#include "package/test_case.h"
#include "render/packages.h"

namespace mist::cli {
namespace {

constexpr Argument kTestArguments[] = {{.name = "KUBE",
                                        .help = "[ARCHIVE/]NAME[:VERSION], or a directory such as ./web",
                                        .completion = Completion::Directory}};
constexpr Example kTestExamples[] = {
    {"kpm test ./packages/web", "Would a catalog take what I wrote?"},
    {"kpm test web:1.2.0", "Does this version of the archives work on my cluster?"},
};
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

// Inputs of the Kube, and of the version before it.
struct Given {
  std::vector<package::ValuesInput> values;
  std::map<std::string, SecretString> hidden = {};
};

struct Trial {
  const Invocation& invocation;
  Machine& machine;
  const Cluster& cluster;
  release::ReleaseId id;
  action::ReleaseTrial release;
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

// Errors and warnings; the rest is counted. Every check finds much that another one found, too.
action::OnFinding teller_of_findings(Machine& machine) {
  return [&machine, told = std::set<package::Finding>()](const package::Finding& each) mutable {
    if (each.level != package::LintLevel::Info && told.insert(each).second)
      tell_caution(machine, action::finding_line(each));
  };
}

// Without the cluster. All of it is checked, whatever one check finds.
Status check_offline(const Invocation& invocation, Machine& machine, const kpm::Kube& kube,
                     const Given& given) {
  MIST_TRY(const package::TypeStore types, type_store(machine));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  action::PackageCases cases;
  MIST_TRY(cases.source, fetch_package(invocation, machine, kube.package.string(), {}));
  cases.folder = kube.directory / package::kTestsFolder;
  if (invocation.enabled(kSkipSchemaFlag.name)) cases.schema = package::ChartSchema::Ignored;
  MIST_TRY(cases.given.values, render::values_for(cases.source, given.values, *machine.events));
  cases.given.hidden = given.hidden;
  cases.given.run_on_host = run_on_host(invocation, machine);
  const auto* const files = std::get_if<package::Files>(&cases.source.content);
  if (files != nullptr && package::has_pre_install(*files) && !cases.given.run_on_host) {
    const auto* const engine = package::engine_of(cases.source).value_or(nullptr);
    MIST_TRY(const std::string ran,
             action::run_package_script(
                 *renderer, cases.source, action::default_request_for(cases, engine),
                 [&](std::string_view text) { machine.events->info(std::string(text)); }, machine.context));
    tell_step(machine, fmt::format("{}: {}", package::kPreInstallScript, ran));
  }
  const action::OnFinding tell = teller_of_findings(machine);
  Status first;
  for (const action::PackageCheck& each : action::package_checks(types)) {
    auto done =
        action::run_package_check(machine.files, *renderer, cases, types, each, tell, machine.context);
    MIST_TRY_VOID(machine.context.check());
    // Any other kind is of this machine, and no finding.
    if (!done.ok() && done.error().kind != ErrorKind::Invalid) return std::move(done).error();
    tell_step(machine, fmt::format("{}: {}", each.name, done.ok() ? *done : "errors"));
    if (!done.ok() && first.ok()) first = std::move(done).error().with_frame("while checking: " + each.name);
  }
  return first;
}

Result<render::WantedRelease> wanted_of(const Trial& trial, const kpm::Kube& kube, const Given& given) {
  return wanted_package(trial.invocation, trial.machine, trial.cluster, trial.id, kube.package.string(),
                        given.values, {.hidden = given.hidden});
}

void tell_not_upgraded(Machine& machine, std::string_view why) {
  tell_step(machine, fmt::format("The upgrade is not tried: {}", why));
}

// Of the archives; nullopt, where why is told: there is none.
Result<std::optional<kpm::Kube>> version_before(const Trial& trial, kpm::Home& home, const kpm::K3& k3) {
  Machine& machine = trial.machine;
  const std::string& wanted = trial.invocation.argument("KUBE");
  const auto slash = is_directory_text(wanted) ? std::string::npos : wanted.find('/');
  const std::string archive = slash == std::string::npos ? std::string() : wanted.substr(0, slash);
  const auto look = [&]() -> Result<std::optional<kpm::Kube>> {
    MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home, wanted));
    MIST_TRY(const std::optional<kpm::Listed> listed, kpm::Home::version_before(catalog, k3, archive));
    if (!listed)
      return error(ErrorKind::NotFound, "no archive has a version of {} before {}", k3.name,
                   k3.version.to_string());
    MIST_TRY(kpm::Kube kube, unpack_kube(machine, home, *listed, true));
    return std::optional(std::move(kube));
  };
  auto found = look();
  MIST_TRY_VOID(machine.context.check());
  if (found.ok()) return found;
  tell_not_upgraded(machine, found.error().to_line());
  return std::optional<kpm::Kube>();
}

Status try_upgrade(const Trial& trial, const kpm::Kube& before, const kpm::Kube& kube, const Given& given) {
  Machine& machine = trial.machine;
  const std::string old = before.k3.version.to_string();
  const auto not_tried = [&](const Error& why) {
    tell_not_upgraded(machine, fmt::format("{} can't be installed: {}", old, why.to_line()));
  };
  tell_step(machine,
            fmt::format("Uninstalling, and upgrading from {} to {}...", old, kube.k3.version.to_string()));
  auto earlier = wanted_of(trial, before, given);
  MIST_TRY_VOID(machine.context.check());
  if (!earlier.ok()) {
    not_tried(earlier.error());
    return {};
  }
  MIST_TRY(render::WantedRelease now, wanted_of(trial, kube, given));
  const auto done =
      trial.release.upgrade({old, render_of(*earlier, machine)},
                            {kube.k3.version.to_string(), render_of(now, machine)}, machine.context);
  MIST_TRY_VOID(machine.context.check());
  if (!done.ok() && done.error().detail<action::PreviousNotInstalled>() != nullptr) {
    not_tried(done.error());
    return {};
  }
  if (!done.ok()) return Error(done.error()).with_frame(fmt::format("while upgrading from {}", old));
  tell_step(machine, fmt::format("Upgraded {}", *done));
  return {};
}

// Installs it, waits until it is ready, runs its tests, and upgrades to it.
Status try_out(Trial& trial, kpm::Home& home, const kpm::Kube& kube, const Given& given) {
  Machine& machine = trial.machine;
  MIST_TRY(render::WantedRelease wanted, wanted_of(trial, kube, given));
  const action::Render render = render_of(wanted, machine);
  tell_step(machine, "Letting the server check each object...");
  MIST_TRY_VOID(trial.release.dry_run(render, machine.context));
  MIST_TRY_VOID(trial.release.note_what_is_there(machine.context));
  tell_step(machine, fmt::format("Installing into the namespace {}, until it is ready...", trial.id.ns));
  MIST_TRY_VOID(trial.release.install(render, machine.context));
  bool has_tests = false;
  const auto tell_test = [&](const action::TestResult& each) {
    has_tests = true;
    tell_step(machine, fmt::format("{}: {}{}", each.key.display(), action::to_string(each.outcome),
                                   each.message.empty() ? "" : ": " + each.message));
  };
  MIST_TRY_VOID(trial.release.test(tell_test, machine.context));
  if (!has_tests) tell_step(machine, "It has no tests");
  MIST_TRY(const std::optional<kpm::Kube> before, version_before(trial, home, kube.k3));
  return before ? try_upgrade(trial, *before, kube, given) : Status();
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
  const Duration timeout = trial.invocation.duration("timeout");
  Status uninstalled = trial.release.uninstall(Context().with_timeout(2 * timeout));
  const bool leaves = !uninstalled.ok() && uninstalled.error().detail<action::LeftObjects>() != nullptr;
  if (!uninstalled.ok() && !leaves)
    (void)action::uninstall_trial(trial.cluster.environment, trial.id, action::UninstallHooks::Skipped,
                                  {.delete_crds = true, .delete_pvcs = true}, timeout,
                                  Context().with_timeout(timeout));
  std::string left = uninstalled.ok() ? std::string() : left_outside(trial);
  Status gone = remove_namespace(trial);
  if (uninstalled.ok()) {
    MIST_TRY_VOID(std::move(gone));
    tell_step(machine, "Nothing stays");
    return {};
  }
  if (!gone.ok()) tell_caution(machine, fmt::format("WARNING: {}", gone.error().to_line()));
  Error failure = std::move(uninstalled).error();
  // It says to uninstall again, and the record went with the namespace.
  if (gone.ok() && !leaves) failure.hint.clear();
  if (!left.empty()) failure.frames.push_back(std::move(left));
  return failure;
}

Result<kpm::Kube> tested_kube(Machine& machine, kpm::Home& home, const std::string& wanted) {
  if (!is_directory_text(wanted)) return obtain_kube(machine, home, wanted, true);
  const Path directory = std::filesystem::absolute(wanted).lexically_normal();
  return home.in_directory(directory.has_filename() ? directory : directory.parent_path());
}

Status test_kube(const Invocation& invocation, Machine& machine, kpm::Home& home, const kpm::Kube& kube) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(kube.k3.name));
  Given given;
  MIST_TRY(given.values, read_values(invocation, machine));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  std::array<std::byte, 4> bytes{};
  machine.random.fill(bytes);
  const release::ReleaseId id{fmt::format("kpm-test-{}", hex(bytes)), name.str()};
  // The checks need the answers, too, and nothing is made before they pass.
  MIST_TRY(given.hidden, answer_questions(invocation, machine, cluster, id, kube, {.create_namespace = true},
                                          Values::Alone, given.values));
  MIST_TRY_VOID(check_offline(invocation, machine, kube, given));
  const auto say = [&](std::string_view text) { machine.events->debug(std::string(text)); };
  Trial trial{
      invocation, machine, cluster, id,
      action::ReleaseTrial(cluster.environment, id, {.timeout = invocation.duration("timeout"), .say = say})};
  MIST_TRY_VOID(make_namespace(trial));
  Status tried = try_out(trial, home, kube, given);
  if (invocation.enabled("keep")) {
    tell_step(machine, fmt::format("The namespace {} stays", id.ns));
    return tried;
  }
  const bool is_stopped = !tried.ok() && tried.error().kind == ErrorKind::Cancelled;
  if (is_stopped)
    tell_caution(machine, fmt::format("Stopped: removing what the test has made. Another Ctrl-C ends this at "
                                      "once, and leaves it: kubectl delete namespace {}",
                                      id.ns));
  Status cleaned = clean_up(trial);
  // It says how to go on with the release, which isn't there any more.
  if (is_stopped && cleaned.ok()) {
    Error stopped = std::move(tried).error();
    stopped.hint.clear();
    tried = std::move(stopped);
  }
  if (!cleaned.ok() && !tried.ok())
    tell_caution(machine, fmt::format("WARNING: {}", cleaned.error().to_line()));
  return tried.ok() ? cleaned : tried;
}

Result<ExitCode> run_kpm_test(const Invocation& invocation, Machine& machine) {
  MIST_TRY(kpm::Home home, open_kpm_home(machine));
  MIST_TRY(const kpm::Kube kube, tested_kube(machine, home, invocation.argument("KUBE")));
  const std::string name = kube.k3.full_name();
  tell_step(machine, fmt::format("{} of {} is well formed", kpm::kMetadataFile, name));
  MIST_TRY_VOID(test_kube(invocation, machine, home, kube).in(fmt::format("while testing {}", name)));
  tell_step(machine, fmt::format("{} passes", name));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kKpmTestCommand{
    .path = "kpm test",
    .summary = "Check a Kube, install it into a namespace of its own, test, upgrade and remove it",
    .run = run_kpm_test,
    .arguments = kTestArguments,
    .flags = kTestGroups,
    .examples = kTestExamples};

}  // namespace mist::cli
