#include "view/deployments.h"

#include <algorithm>
#include <array>
#include <map>

#include "action/deploy/take_over.h"
#include "base/duration.h"
#include "base/text.h"
#include "view/values.h"

namespace mist::view {

using apply::ActionKind;
using encoding::Value;

namespace {

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

std::string_view action_word(const apply::PlannedAction& action) {
  return action.recorded.left ? "leave" : apply::to_string(action.kind);
}

Value actions_value(const apply::Plan& plan) {
  Value::Array actions;
  for (const auto* list : {&plan.writes, &plan.removals}) {
    for (const apply::PlannedAction& action : *list) {
      Value::Array paths;
      for (const apply::FieldDifference& difference : action.differences) paths.emplace_back(difference.path);
      actions.push_back(identity_value(
          action.key,
          {{"action", action_word(action)}, {"reason", action.reason}, {"fields", Value(std::move(paths))}}));
    }
  }
  return Value(std::move(actions));
}

void add_actions(Table& table, const std::vector<apply::PlannedAction>& actions) {
  for (const apply::PlannedAction& action : actions)
    table.add({{std::string(action_word(action))},
               {action.key.display()},
               {action.recorded.left ? fmt::format("left as it is: {}", action.reason) : action.reason}});
}

}  // namespace

std::string plan_counts(const apply::Plan& plan, bool planned) {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view words) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, words);
  };
  const auto returns = static_cast<std::size_t>(std::ranges::count_if(plan.removals, action::is_return));
  const auto left = [](const std::vector<apply::PlannedAction>& actions) {
    return static_cast<std::size_t>(std::ranges::count_if(
        actions, [](const apply::PlannedAction& action) { return action.recorded.left; }));
  };
  for (const Count& each : kCounts)
    add(plan.count(each.kind) - (each.kind == ActionKind::Retain      ? returns + left(plan.removals)
                                 : each.kind == ActionKind::Unchanged ? left(plan.writes)
                                                                      : 0),
        planned ? each.planned : each.done);
  add(left(plan.writes) + left(plan.removals), planned ? "to leave as it is" : "left as it is");
  add(returns, planned ? "to give back" : "given back");
  return text.empty() ? "no objects" : text;
}

std::string packages_text(const std::vector<action::PackageChange>& changes) {
  std::string text;
  for (const action::PackageChange& each : changes) text += action::to_text(each) + "\n";
  return text;
}

Value packages_value(const std::vector<action::PackageChange>& changes) {
  Value::Array list;
  for (const action::PackageChange& each : changes)
    list.push_back(Value::object({{"package", each.package},
                                  {"before", each.called_before ? Value(each.before) : Value()},
                                  {"after", each.called_after ? Value(each.after) : Value()}}));
  return Value(std::move(list));
}

Table plan_table(const apply::Plan& plan) {
  Table table({"ACTION", "OBJECT", "WHY"});
  add_actions(table, plan.writes);
  add_actions(table, plan.removals);
  return table;
}

Value deploy_value(const action::DeployReport& report, Duration elapsed) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
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
                                                   {"digest", report.package.digest},
                                                   {"calls", release::to_value(report.package.calls)}})},
                        {"packages", packages_value(report.packages)},
                        {"seconds", static_cast<double>(ms) / 1000},
                        {"objects", actions_value(report.plan)}});
}

std::string deploy_text(const action::DeployReport& report, std::string_view did, Duration elapsed) {
  if (!report.changed)
    return fmt::format("{} is as wanted{}, at revision {}: nothing was written\n", report.id.name,
                       report.but_for_left(), report.revision);
  const std::string packages = packages_text(report.packages);
  if (report.dry_run != action::DryRun::No)
    return fmt::format("{}{}: {}; nothing was written\n", packages, report.id.name,
                       plan_counts(report.plan, true));
  return packages + fmt::format("{} {} at revision {} in namespace {}: {} in {}\n", report.id.name, did,
                                report.revision, report.id.ns, plan_counts(report.plan, false),
                                format_elapsed(elapsed));
}

Value uninstall_value(const action::UninstallPlan& plan, bool dry) {
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
                        {"found", true},
                        {"dryRun", dry},
                        {"objects", Value(std::move(objects))}});
}

Value absent_value(const release::ReleaseId& id, bool dry) {
  return Value::object({{"release", id.name},
                        {"namespace", id.ns},
                        {"found", false},
                        {"dryRun", dry},
                        {"objects", Value(Value::Array{})}});
}

Value failed_value(const release::ReleaseId& id, const Error& failure) {
  return Value::object({{"release", id.name}, {"namespace", id.ns}, {"error", failure.to_line()}});
}

std::string uninstall_text(const action::UninstallReport& report, bool dry, std::string_view did,
                           bool color) {
  if (dry) {
    Table table({"ACTION", "OBJECT", "WHY"});
    for (const apply::DesiredObject& hook : report.plan.hooks)
      table.add({{"create"}, {hook.key.display()}, {hook.hook->words}});
    add_actions(table, report.plan.removals);
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
    return fmt::format("{}{}: {}; nothing was written\n", table.empty() ? "" : table.render(color),
                       report.plan.id.name, words);
  }
  std::string text = fmt::format("{} {}: {}\n", report.plan.id.name, did, action::count_words(report));
  std::map<std::string, std::vector<const apply::PlannedAction*>> returned;  // by release
  for (const apply::PlannedAction& action : report.plan.removals) {
    if (action::is_return(action))
      returned[action.owner].push_back(&action);
    else if (action.kind == ActionKind::Retain)
      text += fmt::format("  {} stays: {}\n", escape_controls(action.key.display()),
                          escape_controls(action.reason));
  }
  for (const auto& [key, why] : report.held)
    text += fmt::format("  {} is not gone yet: {}\n", escape_controls(key.display()), escape_controls(why));
  if (!report.held.empty())
    text += "  the record no longer names what is not gone yet; it goes when its finalizers are taken off\n";
  for (const auto& [owner, actions] : returned)
    text += fmt::format(
        "  {} went back to release {}\n",
        actions.size() == 1 ? escape_controls(actions[0]->key.display()) : plural(actions.size(), "object"),
        escape_controls(owner));
  return text;
}

Value recover_value(const action::RecoverReport& report, Duration elapsed, bool dry) {
  Value deployment, removal;
  if (report.deployment) deployment = deploy_value(*report.deployment, elapsed);
  if (report.removal) removal = uninstall_value(report.removal->plan, dry);
  Value record;
  if (report.rebuilt) {
    Value::Array discovered;
    for (const apimachinery::ObjectKey& key : report.rebuilt->discovered)
      discovered.push_back(identity_value(key, {}));
    record =
        Value::object({{"objects", report.rebuilt->revision.inventory.size()},
                       {"discovered", Value(std::move(discovered))},
                       {"newSeed", report.rebuilt->new_seed},
                       {"unproven", report.rebuilt->unproven < 0 ? Value() : Value(report.rebuilt->unproven)},
                       {"valuesLost", report.rebuilt->values_lost}});
  }
  return Value::object({{"release", report.id.name},
                        {"namespace", report.id.ns},
                        {"outcome", action::to_string(report.outcome)},
                        {"found", text_or_null(report.found)},
                        {"revision", number_or_null(report.revision)},
                        {"dryRun", dry},
                        {"deployment", std::move(deployment)},
                        {"removal", std::move(removal)},
                        {"record", std::move(record)}});
}

}  // namespace mist::view
