#include "cli/release_flags.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "apply/fields/field_owners.h"
#include "apply/plan/announce.h"
#include "apply/plan/left_as_is.h"
#include "apply/wait/readiness.h"
#include "base/process_identity.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/command_hint.h"
#include "cli/output/output.h"
#include "release/command_text.h"
#include "view/deployments.h"
#include "view/explain.h"

namespace mist::cli {

using apply::ActionKind;

namespace {

std::string holder_name(const Machine& machine) {
  const auto user = machine.environment("USER");
  return fmt::format("{}@{} pid {}", user && !user->empty() ? *user : "somebody", host_name(), ::getpid());
}

// A Bool that only some of the commands have.
bool given(const Invocation& invocation, std::string_view flag) {
  return find_flag(invocation.command(), flag) != nullptr && invocation.enabled(flag);
}

// The objects that --wait would wait for after this report: writing them says nothing yet about whether they
// work.
struct Starting {
  std::size_t workloads = 0;  // what runs Pods
  std::size_t others = 0;     // load balancers, claims, custom resources
};

Starting starting_of(const action::DeployReport& report) {
  Starting starting;
  for (const apply::PlannedAction& action : report.plan.writes) {
    if (action.kind == ActionKind::Unchanged || report.plan.is_hook(action) || action.live.finished) continue;
    const apimachinery::Object& wanted = report.plan.desired[action.desired].rendered.object;
    switch (apply::starts(wanted)) {
      case apply::Starts::Workload:
        ++starting.workloads;
        break;
      case apply::Starts::Other:
        ++starting.others;
        break;
      case apply::Starts::Nothing:
        break;
    }
  }
  return starting;
}

// The user's next step: check whether the written objects run too.
std::string what_next(const Invocation& invocation, const action::DeployReport& report) {
  if (invocation.enabled("wait")) return {};
  const Starting starting = starting_of(report);
  const std::size_t count = starting.workloads > 0 ? starting.workloads : starting.others;
  if (count == 0) return {};
  const std::string_view what = starting.workloads > 0 ? "workload" : "object";
  return fmt::format("next: {} shows when {} ready; --wait waits for that\n",
                     command_hint(invocation, "status", report.id),
                     count == 1 ? "it is" : fmt::format("its {} are", plural(count, what)));
}

action::RotateSecrets rotate_secrets(const Invocation& invocation) {
  action::RotateSecrets rotate;
  if (find_flag(invocation.command(), kRotateFlagList[0].name) == nullptr) return rotate;
  for (std::string& name : invocation.texts(kRotateFlagList[0].name)) {
    if (name == kAllSecrets)
      rotate.all = true;
    else
      rotate.names.push_back(std::move(name));
  }
  return rotate;
}

Result<render::LookupGrants> lookup_grants(const Invocation& invocation) {
  render::LookupGrants grants;
  if (find_flag(invocation.command(), kAllowLookupFlag.name) == nullptr) return grants;
  render::LookupGrants given{invocation.texts(kAllowLookupFlag.name),
                             invocation.texts(kAllowLookupSecretsFlag.name)};
  const auto check = [](const Flag& flag, const std::vector<std::string>& texts, auto parse) -> Status {
    for (const std::string& text : texts) {
      auto pattern = parse(text);
      if (!pattern.ok())
        return error(ErrorKind::Usage, "--{} can't be \"{}\"", flag.name, escape_controls(text))
            .with_hint(pattern.error().hint);
    }
    return {};
  };
  MIST_TRY_VOID(check(kAllowLookupFlag, given.objects, package::LookupPattern::parse));
  MIST_TRY_VOID(check(kAllowLookupSecretsFlag, given.secrets, package::LookupPattern::parse_secrets));
  for (const std::string& text : given.objects) {
    if (package::LookupPattern::parse(text)->kind == "Secret")
      return error(ErrorKind::Usage, "--allow-lookup {} grants no Secrets", text)
          .with_hint("they have a flag of their own: --allow-lookup-secrets NAMESPACE/NAME");
  }
  grants.add(given);
  return grants;
}

}  // namespace

Result<Cluster> open_cluster(const Invocation& invocation, Machine& machine) {
  MIST_TRY(std::unique_ptr<kube::Client> client, connect(invocation, machine));
  action::Environment environment{*client, machine.clock, machine.random, *machine.events,
                                  holder_name(machine)};
  // A setting for tests of takeover; people have no reason to change it.
  if (const auto term = machine.environment("MIST_LOCK_TERM_MS"); term && !term->empty())
    environment.lock_term = std::chrono::milliseconds(std::clamp(std::atoi(term->c_str()), 100, 600000));
  environment.process = own_process();
  environment.life = life_of_process;
  if (find_flag(invocation.command(), "lock-wait") != nullptr)
    environment.lock_wait = invocation.duration("lock-wait");
  return Cluster{std::move(client), std::move(environment)};
}

Result<release::ReleaseId> release_id(const Invocation& invocation, const kube::Client& client) {
  MIST_TRY(const std::vector<release::ReleaseId> ids, release_ids(invocation, client));
  return ids.front();
}

Result<std::vector<release::ReleaseId>> release_ids(const Invocation& invocation,
                                                    const kube::Client& client) {
  if (!is_dns1123_label(client.default_namespace()))
    return error(ErrorKind::Usage, "\"{}\" is not a namespace name",
                 escape_controls(client.default_namespace()));
  std::vector<release::ReleaseId> ids;
  for (const std::string& given : invocation.arguments("NAME")) {
    MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(given));
    release::ReleaseId id{client.default_namespace(), name.str(), cluster_words(invocation),
                          std::string(invocation.called_as())};
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  return ids;
}

std::optional<Error> failure_of_several(std::vector<ReleaseFailure> failures) {
  if (failures.empty()) return std::nullopt;
  Error first = std::move(failures.front().failure)
                    .with_frame(fmt::format("in release {}", failures.front().id.display()));
  constexpr std::size_t kNamed = 20;
  const std::size_t named = std::min(failures.size(), kNamed);
  for (std::size_t i = 1; i < named; ++i)
    first.frames.push_back(
        fmt::format("release {} failed too: {}", failures[i].id.display(), failures[i].failure.to_line()));
  if (failures.size() > named)
    first.frames.push_back(fmt::format("{} failed too", plural(failures.size() - named, "more release")));
  return first;
}

Result<int> revision_number(const Invocation& invocation, const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('v') ? 1 : 0);
  int number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size() || number < 0 || digits.empty())
    return error(ErrorKind::Usage, "\"{}\" is not a revision", escape_controls(text))
        .with_hint(fmt::format("give its number, as {} shows it: v3 or 3",
                               invocation.called_as().empty() ? "mistctl history" : "kpm history"));
  return number;
}

Result<std::optional<int>> revision_of(const Invocation& invocation, std::string_view flag) {
  if (!invocation.has(flag)) return std::optional<int>();
  MIST_TRY(const int number,
           revision_number(invocation, invocation.text(flag)).in(fmt::format("in --{}", flag)));
  return std::optional<int>(number);
}

int history_max(const Invocation& invocation) {
  return static_cast<int>(std::min<std::int64_t>(invocation.number(kHistoryMaxFlag.name), 1000000));
}

void read_run_flags(const Invocation& invocation, action::DeployOptions& options) {
  options.wait = invocation.enabled(kWaitFlag.name);
  options.wait_for_jobs = !invocation.enabled(kNoWaitForJobsFlag.name);
  options.timeout = invocation.duration(kTimeoutFlag.name);
  options.rollback_on_failure = given(invocation, kRollbackOnFailureFlag.name);
  options.history_max = history_max(invocation);
}

action::DeployOptions deploy_options(const Invocation& invocation) {
  const std::string dry_run = invocation.text("dry-run");
  action::DeployOptions options{
      .dry_run = dry_run == "client"   ? action::DryRun::Client
                 : dry_run == "server" ? action::DryRun::Server
                                       : action::DryRun::No,
      .create_namespace = given(invocation, "create-namespace"),
      .allowed = {.prune = find_flag(invocation.command(), "delete-crds") ? prune_rules(invocation)
                                                                          : apply::PruneRules{},
                  .adopt = given(invocation, "adopt"),
                  .replace = given(invocation, "replace"),
                  .force_conflicts = invocation.enabled("force-conflicts")},
      .no_hooks = given(invocation, "no-hooks"),
      .allow_empty = given(invocation, kAllowEmptyFlag.name),
      .skip_crds = given(invocation, "skip-crds"),
      .force_crds = given(invocation, "force-crds"),
      .rotate = rotate_secrets(invocation)};
  read_run_flags(invocation, options);
  return options;
}

apply::PruneRules prune_rules(const Invocation& invocation) {
  return {.delete_crds = invocation.enabled("delete-crds"),
          .delete_pvcs = invocation.enabled("delete-pvcs"),
          .delete_namespaces = invocation.enabled("delete-namespaces")};
}

Result<std::set<std::string>> adopt_from(const Invocation& invocation) {
  std::set<std::string> managers;
  for (std::string& name : invocation.texts(kAdoptFromFlag.name)) {
    if (apply::is_cluster_manager(name))
      return error(ErrorKind::Usage,
                   "--adopt-from {} is a controller of the cluster, whose fields stay its own", name);
    managers.insert(std::move(name));
  }
  return managers;
}

Result<std::optional<release::ReleaseId>> take_over_from(const Invocation& invocation,
                                                         const release::ReleaseId& ours) {
  if (!invocation.has(kTakeOverFlag.name)) return std::optional<release::ReleaseId>();
  const std::string other = invocation.text(kTakeOverFlag.name);
  auto id = release::ReleaseId::parse(other.contains('/') ? other : fmt::format("{}/{}", ours.ns, other));
  if (id && *id == ours)
    return error(ErrorKind::Usage, "--take-over-from {} is the release itself", other)
        .with_hint("name the release that has the objects now; see " + release::list_text(ours));
  if (id) return id;
  return error(ErrorKind::Usage, "--take-over-from \"{}\" is no [NAMESPACE/]NAME", escape_controls(other))
      .with_hint("see " + release::list_text(ours));
}

Result<action::DeployOptions> plan_options(const Invocation& invocation, const release::ReleaseId& ours) {
  action::DeployOptions options;
  options.rotate = rotate_secrets(invocation);
  options.create_namespace = invocation.enabled("create-namespace");
  options.allowed.force_conflicts = invocation.enabled("force-conflicts");
  options.allowed.replace = invocation.enabled("replace");
  options.allowed.adopt = invocation.enabled("adopt");
  options.allow_empty = given(invocation, kAllowEmptyFlag.name);
  options.no_hooks = invocation.enabled("no-hooks");
  options.skip_crds = invocation.enabled("skip-crds");
  options.force_crds = invocation.enabled("force-crds");
  options.allowed.prune = prune_rules(invocation);
  MIST_TRY(options.allowed.adopt_from, adopt_from(invocation));
  MIST_TRY(options.allowed.take_over_from, take_over_from(invocation, ours));
  return options;
}

Result<render::RenderChoices> render_choices(const Invocation& invocation, const Machine& machine) {
  render::RenderChoices choices;
  choices.rotate = rotate_secrets(invocation);
  MIST_TRY(choices.allow_lookup, lookup_grants(invocation));
  choices.revoke_lookup = given(invocation, kRevokeLookupFlag.name);
  choices.adopt = given(invocation, "adopt");
  choices.skip_schema_validation = given(invocation, kSkipSchemaFlag.name);
  if (find_flag(invocation.command(), kClockFlagList[0].name) == nullptr ||
      !invocation.has(kClockFlagList[0].name))
    return choices;
  const std::string text = invocation.text(kClockFlagList[0].name);
  if (text == "frozen") {
    choices.clock = "";
  } else if (text == "now") {
    choices.clock = format_time(machine.clock.now());
  } else if (const auto time = parse_time(text)) {
    choices.clock = format_time(*time);
  } else {
    return error(ErrorKind::Usage, "--clock can't be \"{}\"", escape_controls(text))
        .with_hint("now, frozen, or a time in UTC such as 2026-01-02T15:04:05Z");
  }
  return choices;
}

ExitCode exit_code_of(const action::DeployReport& report) {
  return apply::count_left(report.plan) == 0 ? ExitCode::Ok : ExitCode::Differences;
}

void print_deploy_report(const Invocation& invocation, Machine& machine, const action::DeployReport& report,
                         std::string_view did) {
  const Duration elapsed = machine.clock.steady_now() - machine.began;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    return print_value(machine, format, view::deploy_value(report, elapsed));
  const bool dry = report.dry_run != action::DryRun::No;
  if (dry && report.changed && invocation.enabled("explain"))
    machine.out.write(view::explanation(
        apply::announcement(report.plan, report.id,
                            report.first ? "install" : std::string(invocation.command().path)),
        machine.color_out));
  else if (dry && report.changed)
    machine.out.write(view::plan_table(report.plan).render(machine.color_out));
  machine.out.write(view::deploy_text(report, did, elapsed));
  // A dry run, and one that writes nothing, warns of nothing.
  if (!dry && !report.changed) {
    for (const auto* actions : {&report.plan.writes, &report.plan.removals})
      for (const apply::PlannedAction& action : *actions)
        if (action.recorded.left)
          machine.out.write(fmt::format("  {}\n", escape_controls(apply::left_words(action))));
  }
  if (dry || !report.changed) return;
  if (!invocation.enabled("quiet")) machine.out.write(what_next(invocation, report));
  if (!report.message.empty()) machine.out.write("\n" + escape_controls(report.message, true) + "\n");
}

}  // namespace mist::cli
