#include "action/late_deletes.h"

#include <algorithm>
#include <set>

namespace mist::action {

using apimachinery::ObjectKey;
using release::RenderedObject;
using release::Revision;

namespace {

// What the revision wanted and did not delete on the way.
std::set<ObjectKey> left_alone_by(const Revision& revision) {
  std::set<ObjectKey> keys;
  for (const RenderedObject& rendered : revision.objects) keys.insert(rendered.object.key());
  for (const release::InventoryItem& item : revision.inventory) {
    if (item.replacing) keys.erase(item.key);
  }
  return keys;
}

}  // namespace

void write_what_may_be_deleted_late(const ReleaseState& state, apply::Plan& plan) {
  const bool all = state.anchor && is_uninstalling(state);
  std::vector<std::set<ObjectKey>> left_alone;
  for (const Revision& revision : state.unfinished) left_alone.push_back(left_alone_by(revision));
  for (apply::PlannedAction& action : plan.writes) {
    const bool there = action.kind == apply::ActionKind::Unchanged && !action.finished && !action.unreadable;
    if (!there || plan.is_hook(action)) continue;
    const bool deleted = std::ranges::any_of(
        left_alone, [&](const std::set<ObjectKey>& keys) { return !keys.contains(action.key); });
    if (!all && !deleted) continue;
    action.kind = apply::ActionKind::Update;
    action.revision = plan.revision;
    action.reason = "a run that was stopped meant to delete it: what it sent may still arrive";
  }
}

}  // namespace mist::action
