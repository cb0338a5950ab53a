#include "action/deploy/finished_jobs.h"

#include <algorithm>

#include "apply/fields/server_fields.h"
#include "apply/plan/finished_job.h"

namespace mist::action {

using apimachinery::ObjectKey;
using apply::InventoryItem;
using release::Revision;

namespace {

const apimachinery::GroupKind kJobKind{"batch", "Job"};

// The revision that has the very Job, and how it rendered it.
struct Recorded {
  const Revision* revision = nullptr;
  const apimachinery::Object* object = nullptr;
};

Recorded recorded(const Revision& revision, const InventoryItem& item) {
  const bool has_it = std::ranges::any_of(revision.inventory, [&](const InventoryItem& each) {
    return each.key == item.key && each.uid == item.uid;
  });
  if (!has_it) return {};
  const auto found = std::ranges::find_if(
      revision.objects, [&](const release::RenderedObject& each) { return each.object.key() == item.key; });
  if (found == revision.objects.end()) return {};
  return {&revision, &found->object};
}

Recorded recorded(const ReleaseState& state, const InventoryItem& item) {
  if (state.deployed) {
    if (const Recorded found = recorded(*state.deployed, item); found.object != nullptr) return found;
  }
  for (auto each = state.unfinished.rbegin(); each != state.unfinished.rend(); ++each) {
    if (const Recorded found = recorded(*each, item); found.object != nullptr) return found;
  }
  return {};
}

// A revision makes a Job, or has seen it without an end when it was planned: else its inventory says `ended`.
// So a Job that is gone before its time to live can be over since then was deleted by somebody, before or
// after it ended. One that is wanted suspended has not even begun, as far as anybody told us.
bool may_have_removed_itself(const encoding::Value& job, const Revision& seen_by, const Clock& clock) {
  if (job.is_true_at({"spec", "suspend"})) return false;
  const encoding::Value* const ttl = job.at_path({"spec", "ttlSecondsAfterFinished"});
  const auto seen = parse_time(seen_by.created);
  if (ttl == nullptr || !ttl->is_int() || !seen) return true;
  return *seen + std::chrono::seconds(ttl->as_int()) <= clock.now();
}

bool had_ended(const Environment& environment, const ReleaseState& state, const InventoryItem& item,
               const Recorded& known, const Context& context) {
  if (item.ended) return true;
  const bool deployed = state.deployed && known.revision == &*state.deployed;
  switch (apply::job_end(environment.client, item.key.ns, item.uid, context)) {
    case apply::JobEnd::Completed:
      return true;
    case apply::JobEnd::Failed:
      return deployed;
    case apply::JobEnd::None:
      return false;
    case apply::JobEnd::Unknown:
      break;
  }
  return deployed && may_have_removed_itself(known.object->value(), *known.revision, environment.clock);
}

}  // namespace

std::set<ObjectKey> finished_jobs(const Environment& environment, const ReleaseState& state,
                                  const apply::LiveState& live, const std::vector<InventoryItem>& owned,
                                  const WantedObject& wanted, const Context& context) {
  std::set<ObjectKey> finished;
  for (const InventoryItem& item : owned) {
    if (item.key.group_kind != kJobKind || item.hook || item.replacing || item.uid.empty()) continue;
    if (live.contains(item.key)) continue;
    const encoding::Value* const now = wanted(item.key);
    if (now == nullptr || !apply::removes_itself(*now)) continue;
    const Recorded known = recorded(state, item);
    if (known.object == nullptr) continue;
    apimachinery::Object before = *known.object;
    apply::take_server_fields(before, true);  // a record of an older mistctl has them
    if (before.value() == *now && had_ended(environment, state, item, known, context))
      finished.insert(item.key);
  }
  return finished;
}

std::set<ObjectKey> finished_jobs(const Environment& environment, const ReleaseState& state,
                                  const apply::LiveState& live, const std::vector<InventoryItem>& owned,
                                  const Context& context) {
  std::set<ObjectKey> finished;
  for (const InventoryItem& item : owned) {
    if (item.key.group_kind != kJobKind || item.replacing || item.uid.empty() || live.contains(item.key))
      continue;
    const Recorded known = recorded(state, item);
    // No record renders a merely retained object any more.
    const bool ended = known.object == nullptr ? item.ended
                                               : apply::removes_itself(known.object->value()) &&
                                                     had_ended(environment, state, item, known, context);
    if (ended) finished.insert(item.key);
  }
  return finished;
}

}  // namespace mist::action
