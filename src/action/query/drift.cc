#include "action/query/drift.h"

#include <algorithm>

#include "action/deploy/prepare.h"
#include "apply/fields/forgotten_owners.h"

namespace mist::action {

using apply::ActionKind;
using apply::ForeignField;
using apply::PlannedAction;
using encoding::Value;

namespace {

constexpr std::string_view kManager = kube::kFieldManager;

// The owners of the field of a difference, latest first.
FieldDrift field_drift(const apply::FieldDifference& difference, const std::vector<ForeignField>& foreign) {
  FieldDrift drift{.path = difference.path,
                   .recorded = difference.after,
                   .live = difference.before,
                   .managers = {},
                   .time = {}};
  std::vector<const ForeignField*> owners;
  for (const ForeignField& each : foreign) {
    if (apply::paths_touch(each.path, difference.path)) owners.push_back(&each);
  }
  std::ranges::stable_sort(owners, std::greater<>(), &ForeignField::time);
  for (const ForeignField* owner : owners) {
    if (std::ranges::find(drift.managers, owner->manager) == drift.managers.end())
      drift.managers.push_back(owner->manager);
  }
  if (!owners.empty()) drift.time = owners.front()->time;
  return drift;
}

DriftKind kind_of(const PlannedAction& action) {
  switch (action.kind) {
    case ActionKind::Create:
      return DriftKind::Missing;
    case ActionKind::Adopt:
    case ActionKind::Conflict:
      return action.owner.empty() && !action.differences.empty() ? DriftKind::Changed : DriftKind::NotOurs;
    case ActionKind::Unchanged:
      return action.live.finished ? DriftKind::Finished : DriftKind::Foreign;
    case ActionKind::Update:
    case ActionKind::Replace:
    case ActionKind::Delete:
    case ActionKind::Retain:
      return DriftKind::Changed;
  }
  return DriftKind::Changed;
}

bool is_forgotten(const ForeignField& field) { return field.manager == apply::kForgottenOwner; }

// An object that nobody's fields were kept of has its defaults listed as somebody's. The server is asked what
// it makes of the same object under another name: what comes out as it is now, nobody set. Where it doesn't
// say (the kind has rules for names, a right is missing), all of them stay.
void leave_defaults_out(const Environment& environment, const PlannedAction& action, const Value& desired,
                        const Value& live, std::vector<ForeignField>& foreign, const Context& context) {
  if (std::ranges::none_of(foreign, is_forgotten)) return;
  Value other = desired;
  other["metadata"].set("name", "mistctl-drift");
  auto made = environment.client.create(action.resource, action.key.ns, other, context, kube::DryRun::Server);
  const Value* const owners = live.at_path({"metadata", "managedFields"});
  if (!made.ok() || owners == nullptr) return;
  (*made)["metadata"].set("managedFields", *owners);
  const std::vector<ForeignField> defaults = apply::foreign_fields(desired, *made, kManager);
  std::erase_if(foreign, [&](const ForeignField& field) {
    const auto same = std::ranges::find_if(
        defaults, [&](const ForeignField& each) { return is_forgotten(each) && each.path == field.path; });
    return is_forgotten(field) && !field.wanted && same != defaults.end() && !same->live.is_null() &&
           same->live == field.live;
  });
}

ObjectDrift object_drift(const Environment& environment, const PreparedDeploy& prepared,
                         const PlannedAction& action, const Context& context) {
  const apply::DesiredObject& desired = prepared.plan.desired[action.desired];
  ObjectDrift drift{
      .key = action.key,
      .kind = kind_of(action),
      .reason = action.kind == ActionKind::Unchanged && !action.live.finished ? "as recorded" : action.reason,
      .file = desired.rendered.source_file(),
      .line = desired.rendered.line,
      .fields = {},
      .foreign = {}};
  const auto live = prepared.live.find(action.key);
  if (live == prepared.live.end()) return drift;
  const Value& wanted = desired.rendered.object.value();
  std::vector<ForeignField> foreign = apply::foreign_fields(wanted, live->second.value, kManager);
  leave_defaults_out(environment, action, wanted, live->second.value, foreign, context);
  for (const apply::FieldDifference& difference : action.differences) {
    drift.fields.push_back(field_drift(difference, foreign));
    // The plan would write its own revision there.
    if (difference.path == apply::version_label_path())
      drift.fields.back().recorded = Value(fmt::format("v{}", action.recorded.previous_revision));
  }
  for (const ForeignField& each : foreign) {
    const bool told = std::ranges::any_of(
        drift.fields, [&](const FieldDrift& field) { return apply::paths_touch(field.path, each.path); });
    // A value that both set alike, a controller's field, or scaling is nobody's edit.
    if (!told && !each.shared && each.subresource.empty() && !apply::is_cluster_manager(each.manager))
      drift.foreign.push_back(each);
  }
  return drift;
}

ObjectDrift unknown_drift(const apimachinery::ObjectKey& key, std::string why, std::string file,
                          std::uint32_t line) {
  return {.key = key,
          .kind = DriftKind::Unknown,
          .reason = std::move(why),
          .file = std::move(file),
          .line = line,
          .fields = {},
          .foreign = {}};
}

// The plan takes an object that a failing conversion webhook hides for what was recorded last.
bool is_unseen(const PreparedDeploy& prepared, const PlannedAction& action) {
  return action.live.unreadable && !prepared.live.contains(action.key);
}

}  // namespace

std::string_view to_string(DriftKind kind) {
  switch (kind) {
    case DriftKind::Changed:
      return "changed";
    case DriftKind::Missing:
      return "missing";
    case DriftKind::NotOurs:
      return "not ours";
    case DriftKind::LeftOver:
      return "left over";
    case DriftKind::Foreign:
      return "foreign";
    case DriftKind::Finished:
      return "finished";
    case DriftKind::Unknown:
      return "unknown";
  }
  return "changed";
}

bool DriftReport::drifted(bool strict) const {
  return std::ranges::any_of(found, [&](const ObjectDrift& each) {
    if (each.kind == DriftKind::Finished) return false;
    return strict || (each.kind != DriftKind::Foreign && each.kind != DriftKind::Unknown);
  });
}

std::size_t DriftReport::count(DriftKind kind) const {
  return static_cast<std::size_t>(std::ranges::count(found, kind, &ObjectDrift::kind));
}

Result<DriftReport> drift(const Environment& environment, const release::ReleaseId& id,
                          const Context& context) {
  DeployOptions options;
  options.allowed.force_conflicts = true;  // what others took is a difference, and no reason to stop looking
  options.allowed.leave_fields = true;
  Intent intent = reapply_intent();
  intent.read_only = true;
  intent.asks_about_changes = false;  // what differs is told, whether it can be changed back or not
  MIST_TRY(const PreparedDeploy seen, prepare_readable(environment, id, intent, options, context));
  DriftReport report;
  report.id = id;
  report.hidden = seen.hidden;
  report.revision = seen.state.deployed->number;
  report.objects = seen.plan.desired.size();
  report.unfinished = !seen.state.unfinished.empty();
  std::map<apimachinery::ObjectKey, std::string> unreadable = seen.unreadable;
  for (const PlannedAction& action : seen.plan.writes) {
    if (const auto unread = unreadable.extract(action.key)) {
      const release::RenderedObject& recorded = seen.plan.desired[action.desired].rendered;
      report.found.push_back(unknown_drift(action.key, unread.mapped(), recorded.file, recorded.line));
      report.found.back().forbidden = true;
      continue;
    }
    if (is_unseen(seen, action)) {
      const release::RenderedObject& recorded = seen.plan.desired[action.desired].rendered;
      report.found.push_back(unknown_drift(action.key, action.reason, recorded.source_file(), recorded.line));
      continue;
    }
    ObjectDrift drift = object_drift(environment, seen, action, context);
    if (drift.kind != DriftKind::Foreign || !drift.foreign.empty()) report.found.push_back(std::move(drift));
  }
  for (const PlannedAction& action : seen.plan.removals) {
    if (action.kind != ActionKind::Delete) continue;
    if (is_unseen(seen, action)) {
      report.found.push_back(unknown_drift(action.key, action.reason, {}, 0));
      continue;
    }
    report.found.push_back({.key = action.key,
                            .kind = DriftKind::LeftOver,
                            .reason = "a revision that did not end left it",
                            .file = {},
                            .line = 0,
                            .fields = {},
                            .foreign = {}});
  }
  for (const apply::InventoryItem& item : seen.state.owned()) {
    const auto unread = unreadable.find(item.key);
    if (unread == unreadable.end() || item.retained || item.hook) continue;
    report.found.push_back(unknown_drift(item.key, unread->second, {}, 0));
    report.found.back().forbidden = true;
  }
  return report;
}

Result<DeployReport> fix_drift(const Environment& environment, const release::ReleaseId& id,
                               const FixOptions& fix, const Context& context) {
  DeployOptions options;
  options.allowed.force_conflicts = true;
  options.allowed.adopt = fix.adopt;
  options.allowed.leave_fields = !fix.adopt;
  options.history_max = fix.history_max;
  Intent intent = reapply_intent();
  intent.leaves_refused = true;
  return deploy(environment, id, intent, options, context);
}

}  // namespace mist::action
