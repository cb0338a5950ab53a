#include "cli/release_flags.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>

#include "action/take_over.h"
#include "apply/announce.h"
#include "apply/readiness.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/duration.h"
#include "cli/explain.h"
#include "cli/output.h"

namespace mist::cli {

using apply::ActionKind;
using encoding::Value;

namespace {

std::string holder_name(const World& world) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto user = world.environment("USER");
  return fmt::format("{}@{} pid {}", user && !user->empty() ? *user : "somebody", host.data(), ::getpid());
}

struct Count {
  ActionKind kind;
  std::string_view done, planned;
};
constexpr std::array kCounts{Count{ActionKind::Create, "created", "to create"},
                             Count{ActionKind::Update, "changed", "to change"},
                             Count{ActionKind::Replace, "replaced", "to replace"},
                             Count{ActionKind::Adopt, "adopted", "to adopt"},
                             Count{ActionKind::Conflict, "in conflict", "in conflict"},
                             Count{ActionKind::Unchanged, "unchanged", "unchanged"},
                             Count{ActionKind::Delete, "deleted", "to delete"},
                             Count{ActionKind::Retain, "retained", "to retain"}};

// A Bool that only some of the commands have.
bool given(const Invocation& invocation, std::string_view flag) {
  return find_flag(invocation.command(), flag) != nullptr && invocation.enabled(flag);
}

// Kinds whose being written says nothing yet about their working.
bool starts_something(const apply::PlannedAction& action) {
  const std::string& kind = action.key.group_kind.kind;
  return action.kind != ActionKind::Unchanged && apply::has_readiness_rule(action.key.group_kind) &&
         kind != "Namespace" && kind != "CustomResourceDefinition";
}

// What a person does next: look whether what was written runs too.
std::string what_next(const Invocation& invocation, const action::DeployReport& report) {
  if (invocation.enabled("wait")) return {};
  const auto starting = static_cast<std::size_t>(std::ranges::count_if(report.plan.writes, starts_something));
  if (starting == 0) return {};
  const std::string place = invocation.has("namespace") ? " -n " + report.id.ns : "";
  return fmt::format("next: mistctl status {}{} tells when {} ready; --wait waits for that\n", report.id.name,
                     place,
                     starting == 1 ? "it is" : fmt::format("its {} are", plural(starting, "workload")));
}

Value actions_value(const apply::Plan& plan) {
  Value::Array actions;
  for (const auto* list : {&plan.writes, &plan.removals}) {
    for (const apply::PlannedAction& action : *list) {
      Value::Array paths;
      for (const apply::FieldDifference& difference : action.differences) paths.emplace_back(difference.path);
      actions.push_back(identity_value(action.key, {{"action", apply::to_string(action.kind)},
                                                    {"reason", action.reason},
                                                    {"fields", Value(std::move(paths))}}));
    }
  }
  return Value(std::move(actions));
}

double seconds_since_start(const World& world) {
  const Duration elapsed = world.clock.steady_now() - world.began;
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()) / 1000;
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

}  // namespace

Result<Cluster> open_cluster(const Invocation& invocation, World& world) {
  MIST_TRY(std::unique_ptr<kube::Client> client, connect(invocation, world));
  action::Environment environment{*client, world.clock, world.random, *world.events, holder_name(world)};
  // A setting for tests of takeover; people have no reason to change it.
  if (const auto term = world.environment("MIST_LOCK_TERM_MS"); term && !term->empty())
    environment.lock_term = std::chrono::milliseconds(std::clamp(std::atoi(term->c_str()), 100, 600000));
  if (find_flag(invocation.command(), "lock-wait") != nullptr)
    environment.lock_wait = invocation.duration("lock-wait");
  return Cluster{std::move(client), std::move(environment)};
}

Result<release::ReleaseId> release_id(const Invocation& invocation, const kube::Client& client) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(invocation.argument("NAME")));
  if (!is_dns1123_label(client.default_namespace()))
    return error(ErrorKind::Usage, "\"{}\" is no namespace name",
                 escape_controls(client.default_namespace()));
  return release::ReleaseId{client.default_namespace(), name.str()};
}

Value deploy_report_value(const World& world, const action::DeployReport& report) {
  return Value::object({{"release", report.id.name},
                        {"namespace", report.id.ns},
                        {"revision", report.revision},
                        {"changed", report.changed},
                        {"dryRun", report.dry_run != action::DryRun::No},
                        {"restores", number_or_null(report.restores)},
                        {"message", text_or_null(report.message)},
                        {"package", Value::object({{"reference", report.package.reference},
                                                   {"name", report.package.name},
                                                   {"version", report.package.version},
                                                   {"digest", report.package.digest}})},
                        {"seconds", seconds_since_start(world)},
                        {"objects", actions_value(report.plan)}});
}

Result<std::optional<int>> revision_number(const std::string& text) {
  if (text.empty()) return std::optional<int>();
  const std::string_view digits = std::string_view(text).substr(text.front() == 'v' ? 1 : 0);
  int number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size() || number < 0 || digits.empty())
    return error(ErrorKind::Usage, "\"{}\" is no revision", escape_controls(text))
        .with_hint("give its number, as mistctl history shows it: v3 or 3");
  return std::optional<int>(number);
}

action::DeployOptions deploy_options(const Invocation& invocation) {
  const std::string dry_run = invocation.text("dry-run");
  return {
      .dry_run = dry_run == "client"   ? action::DryRun::Client
                 : dry_run == "server" ? action::DryRun::Server
                                       : action::DryRun::No,
      .wait = invocation.enabled("wait"),
      .wait_for_jobs = !invocation.enabled("no-wait-for-jobs"),
      .timeout = invocation.duration("timeout"),
      .create_namespace = given(invocation, "create-namespace"),
      .force_conflicts = invocation.enabled("force-conflicts"),
      .prune = find_flag(invocation.command(), "delete-crds") ? prune_rules(invocation) : apply::PruneRules{},
      .adopt = given(invocation, "adopt"),
      .replace = given(invocation, "replace"),
      .no_hooks = given(invocation, "no-hooks"),
      .skip_crds = given(invocation, "skip-crds"),
      .force_crds = given(invocation, "force-crds"),
      .rotate = rotate_secrets(invocation),
      .rollback_on_failure = given(invocation, "rollback-on-failure"),
      .history_max = static_cast<int>(std::min<std::int64_t>(invocation.number("history-max"), 1000000))};
}

apply::PruneRules prune_rules(const Invocation& invocation) {
  return {.delete_crds = invocation.enabled("delete-crds"),
          .delete_pvcs = invocation.enabled("delete-pvcs"),
          .delete_namespaces = invocation.enabled("delete-namespaces")};
}

std::string plan_counts(const apply::Plan& plan, bool planned) {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view words) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, words);
  };
  const auto returns = static_cast<std::size_t>(std::ranges::count_if(plan.removals, action::is_return));
  for (const Count& each : kCounts)
    add(plan.count(each.kind) - (each.kind == ActionKind::Retain ? returns : 0),
        planned ? each.planned : each.done);
  add(returns, planned ? "to give back" : "given back");
  return text.empty() ? "no objects" : text;
}

Result<std::optional<release::ReleaseId>> take_over_from(const Invocation& invocation,
                                                         const release::ReleaseId& ours) {
  const std::string other = invocation.text("take-over-from");
  if (other.empty()) return std::optional<release::ReleaseId>();
  auto id = release::ReleaseId::parse(other);
  if (id && *id == ours)
    return error(ErrorKind::Usage, "--take-over-from {} is the release itself", other)
        .with_hint("name the release that has the objects now; see mistctl list -A");
  if (id) return id;
  return error(ErrorKind::Usage, "--take-over-from {} is no NAMESPACE/NAME", escape_controls(other))
      .with_hint("see mistctl list -A");
}

Result<action::DeployOptions> plan_options(const Invocation& invocation, const release::ReleaseId& ours) {
  action::DeployOptions options;
  options.rotate = rotate_secrets(invocation);
  options.create_namespace = invocation.enabled("create-namespace");
  options.force_conflicts = invocation.enabled("force-conflicts");
  options.replace = invocation.enabled("replace");
  options.adopt = invocation.enabled("adopt");
  options.no_hooks = invocation.enabled("no-hooks");
  options.skip_crds = invocation.enabled("skip-crds");
  options.force_crds = invocation.enabled("force-crds");
  options.prune = prune_rules(invocation);
  MIST_TRY(options.take_over_from, take_over_from(invocation, ours));
  return options;
}

Result<render::RenderChoices> render_choices(const Invocation& invocation, const World& world) {
  render::RenderChoices choices;
  choices.rotate = rotate_secrets(invocation);
  if (find_flag(invocation.command(), kAllowLookupFlag.name) != nullptr)
    choices.allow_lookup = invocation.texts(kAllowLookupFlag.name);
  choices.skip_schema_validation = given(invocation, kSkipSchemaFlag.name);
  if (find_flag(invocation.command(), kClockFlagList[0].name) == nullptr ||
      !invocation.has(kClockFlagList[0].name))
    return choices;
  const std::string text = invocation.text(kClockFlagList[0].name);
  if (text == "frozen") {
    choices.clock = "";
  } else if (text == "now") {
    choices.clock = format_time(world.clock.now());
  } else if (const auto time = parse_time(text)) {
    choices.clock = format_time(*time);
  } else {
    return error(ErrorKind::Usage, "--clock can't be \"{}\"", escape_controls(text))
        .with_hint("now, frozen, or a time in UTC such as 2026-01-02T15:04:05Z");
  }
  return choices;
}

Value uninstall_report_value(const action::UninstallPlan& plan, bool dry) {
  Value::Array objects;
  for (const apply::DesiredObject& hook : plan.hooks)
    objects.push_back(Value::object({{"group", hook.key.group_kind.group},
                                     {"kind", hook.key.group_kind.kind},
                                     {"namespace", text_or_null(hook.key.ns)},
                                     {"name", hook.key.name},
                                     {"action", apply::to_string(ActionKind::Create)},
                                     {"reason", hook.hook->words}}));
  for (const apply::PlannedAction& action : plan.removals)
    objects.push_back(
        identity_value(action.key, {{"action", apply::to_string(action.kind)}, {"reason", action.reason}}));
  return Value::object({{"release", plan.id.name},
                        {"namespace", plan.id.ns},
                        {"dryRun", dry},
                        {"objects", Value(std::move(objects))}});
}

void print_uninstall_report(World& world, const action::UninstallReport& report, bool dry,
                            std::string_view did) {
  if (dry) {
    Table table({"ACTION", "OBJECT", "WHY"});
    for (const apply::DesiredObject& hook : report.plan.hooks)
      table.add({{"create"}, {hook.key.display()}, {hook.hook->words}});
    for (const apply::PlannedAction& action : report.plan.removals)
      table.add({{std::string(apply::to_string(action.kind))}, {action.key.display()}, {action.reason}});
    if (!table.empty()) world.out.write(table.render(world.color_out));
    std::size_t back = 0, stay = 0;
    for (const apply::PlannedAction& action : report.plan.removals) {
      if (action::is_return(action))
        ++back;
      else if (action.kind == ActionKind::Retain)
        ++stay;
    }
    std::string words = fmt::format("{} to delete", plural(report.plan.deletes(), "object"));
    if (back > 0) words += fmt::format(", {} to give back", back);
    if (stay > 0) words += fmt::format(", {} to keep", stay);
    world.out.write(fmt::format("{}: {}; nothing was written\n", report.plan.id.name, words));
    return;
  }
  world.out.write(fmt::format("{} {}: {}\n", report.plan.id.name, did, action::count_words(report)));
  std::map<std::string, std::vector<const apply::PlannedAction*>> returned;  // by release
  for (const apply::PlannedAction& action : report.plan.removals) {
    if (action::is_return(action))
      returned[action.owner].push_back(&action);
    else if (action.kind == ActionKind::Retain)
      world.out.write(fmt::format("  {} stays: {}\n", escape_controls(action.key.display()),
                                  escape_controls(action.reason)));
  }
  for (const auto& [owner, actions] : returned)
    world.out.write(fmt::format(
        "  {} went back to release {}\n",
        actions.size() == 1 ? escape_controls(actions[0]->key.display()) : plural(actions.size(), "object"),
        escape_controls(owner)));
}

void print_deploy_report(const Invocation& invocation, World& world, const action::DeployReport& report,
                         std::string_view did) {
  const bool dry = report.dry_run != action::DryRun::No;
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, deploy_report_value(world, report));
    return;
  }
  if (!report.changed) {
    world.out.write(fmt::format("{} is as wanted, at revision {}: nothing was written\n", report.id.name,
                                report.revision));
    return;
  }
  if (dry) {
    Table table({"ACTION", "OBJECT", "WHY"});
    for (const auto* list : {&report.plan.writes, &report.plan.removals}) {
      for (const apply::PlannedAction& action : *list)
        table.add({{std::string(apply::to_string(action.kind))}, {action.key.display()}, {action.reason}});
    }
    if (invocation.enabled("explain"))
      world.out.write(
          explanation(apply::announcement(report.plan, report.id, std::string(invocation.command().path)),
                      world.color_out));
    else
      world.out.write(table.render(world.color_out));
    world.out.write(
        fmt::format("{}: {}; nothing was written\n", report.id.name, plan_counts(report.plan, true)));
    return;
  }
  world.out.write(fmt::format("{} {} at revision {} in namespace {}: {} in {}\n", report.id.name, did,
                              report.revision, report.id.ns, plan_counts(report.plan, false),
                              format_elapsed(world.clock.steady_now() - world.began)));
  if (!invocation.enabled("quiet")) world.out.write(what_next(invocation, report));
  if (!report.message.empty()) world.out.write("\n" + escape_controls(report.message, true) + "\n");
}

}  // namespace mist::cli
