#include "apply/plan/used_by_left.h"

#include <algorithm>

#include "apimachinery/object.h"
#include "apply/order/references.h"

namespace mist::apply {

namespace {

// Also if its deletion was refused: that is no trouble if it stays.
bool was_to_go(const PlannedAction& removal) {
  return removal.kind == ActionKind::Delete || removal.kind == ActionKind::Conflict;
}

}  // namespace

UsedRemovals used_removals(const Plan& plan, const LiveState& live) {
  std::set<ObjectKey> going;
  for (const PlannedAction& removal : plan.removals)
    if (was_to_go(removal)) going.insert(removal.key);
  UsedRemovals used;
  if (going.empty()) return used;
  const auto look_at = [&](const ObjectKey& key) {
    const auto there = live.find(key);
    if (there == live.end()) return;
    const auto object = apimachinery::Object::from_value(there->second.value);
    if (!object.ok()) return;
    for_each_reference(*object, [&](const Reference& reference) {
      if (reference.key != key && going.contains(reference.key)) used[key].push_back(reference.key);
    });
  };
  for (const PlannedAction& write : plan.writes)
    if (!write.uid.empty() && !plan.is_hook(write)) look_at(write.key);
  for (const ObjectKey& key : going) look_at(key);
  return used;
}

std::map<ObjectKey, std::string> used_by_left(const UsedRemovals& used, const std::set<ObjectKey>& left) {
  std::map<ObjectKey, std::string> result;
  std::vector<ObjectKey> next(left.begin(), left.end());
  while (!next.empty()) {
    const ObjectKey user = std::move(next.back());
    next.pop_back();
    const auto found = used.find(user);
    if (found == used.end()) continue;
    for (const ObjectKey& key : found->second) {
      const std::string_view why = left.contains(user) ? "is left as it is" : "stays";
      if (result.emplace(key, fmt::format("{}, which {}, uses it", user.display(), why)).second)
        next.push_back(key);
    }
  }
  return result;
}

bool retain_used_by_left(Plan& plan, const UsedRemovals& used) {
  std::set<ObjectKey> left;
  for (const PlannedAction& write : plan.writes)
    if (write.recorded.left) left.insert(write.key);
  const std::map<ObjectKey, std::string> stay = used_by_left(used, left);
  bool any = false;
  for (PlannedAction& removal : plan.removals) {
    const auto found = stay.find(removal.key);
    if (!was_to_go(removal) || found == stay.end()) continue;
    removal.kind = ActionKind::Retain;
    removal.reason = found->second;
    removal.refusal = {};
    removal.recorded.left = any = true;
  }
  return any;
}

}  // namespace mist::apply
