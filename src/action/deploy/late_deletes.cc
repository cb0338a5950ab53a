#include "action/deploy/late_deletes.h"

#include <algorithm>
#include <mutex>

#include "action/deploy/recorded_options.h"
#include "apply/plan/observe.h"
#include "apply/plan/settle.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_failure.h"

namespace mist::action {

using apimachinery::ObjectKey;
using apply::InventoryItem;
using encoding::Value;
using release::Revision;
using release::RevisionStatus;

namespace {

constexpr std::string_view kTouchedAnnotation = "mistletoe.dev/touched";

// By the rules that a run recorded; the annotations of the object as it was then are not known any more.
bool may_remove(const InventoryItem& item, const apply::PruneRules& rules) {
  return item.hook || item.replacing || apply::kept_because(item.key, nullptr, rules).empty();
}

// The DELETEs of one run that did not end.
class PendingRun {
 public:
  explicit PendingRun(const Revision& revision) {
    allow_also(rules_, allowed_by(revision.options).prune);
    for (const release::RenderedObject& rendered : revision.objects) wanted_.insert(rendered.object.key());
    for (const InventoryItem& item : revision.inventory) {
      if (item.replacing) wanted_.erase(item.key);
      if (item.replacing || item.hook) always_.insert(item.key);
    }
  }

  bool may_delete(const InventoryItem& item) const {
    return always_.contains(item.key) || (!wanted_.contains(item.key) && may_remove(item, rules_));
  }

 private:
  apply::PruneRules rules_;
  std::set<ObjectKey> wanted_;
  std::set<ObjectKey> always_;
};

// A run that moves objects to another release holds our lock, too, and leaves our head as it is.
bool locked_by_another_release(const release::Anchor& anchor, std::string_view taker) {
  return anchor.lock && anchor.head.status != RevisionStatus::Pending &&
         anchor.head.status != RevisionStatus::Uninstalling && anchor.lock->operation != taker;
}

// A run did not end, and what it meant to do can't be read.
bool tells_nothing(const ReleaseState& state) {
  const release::Head& head = state.anchor->head;
  return head.status == RevisionStatus::Pending &&
         std::ranges::any_of(state.damaged,
                             [&](const DamagedRevision& each) { return each.number > head.deployed; });
}

struct Touched {
  kube::ObjectRef ref;
  ObjectKey key;
  std::string uid;
};

Result<std::vector<Touched>> what_is_there(const Environment& environment, const release::ReleaseId& id,
                                           const std::vector<InventoryItem>& items, const Context& context) {
  // An object that can't be read can't be written either.
  std::map<ObjectKey, std::string> unread;
  std::map<ObjectKey, apply::Unconverted> unconverted;
  MIST_TRY(const apply::LiveState live,
           apply::observe(environment.client, id, {}, items, context,
                          {.unreachable = &unread, .forbidden = &unread, .unconverted = &unconverted}));
  const std::string part_of = apply::apply_set_id(id);
  std::vector<Touched> found;
  for (const InventoryItem& item : items) {
    const auto there = live.find(item.key);
    if (there == live.end() || apimachinery::is_terminating(there->second.value)) continue;
    if (!item.replacing && !apply::is_owned(item, there->second.value, part_of)) continue;
    MIST_TRY(const std::optional<kube::ResourceInfo> resource,
             apply::resource_of(environment.client, item, context));
    if (resource)
      found.push_back({{*resource, item.key.ns, item.key.name},
                       item.key,
                       std::string(there->second.value.string_at({"metadata", "uid"}))});
  }
  return found;
}

// Sent again, the same patch changes nothing, so an unknown outcome is no reason to give up: where many
// objects are touched, one would fail each time, and no run would ever get past them.
Result<Value> patch_until_answered(const Environment& environment, const kube::ObjectRef& ref,
                                   const Value& patch, const Context& context) {
  constexpr int kMostTries = 6;
  auto pause = std::chrono::milliseconds(50);
  for (int tries = 1;; ++tries, pause *= 2) {
    auto patched = environment.client.merge_patch(ref, patch, context);
    if (patched.ok() || patched.error().kind != ErrorKind::Retryable || tries == kMostTries ||
        !environment.clock.sleep(pause, context.stop()))
      return patched;
  }
}

Status touch(const Environment& environment, const Touched& object, const Context& context) {
  for (Value mark : {Value(environment.random.token(8)), Value()}) {
    const Value patch = Value::object(
        {{"metadata",
          Value::object({{"uid", object.uid},
                         {"annotations", Value::object({{kTouchedAnnotation, std::move(mark)}})}})}});
    auto touched = patch_until_answered(environment, object.ref, patch, context);
    if (touched.ok()) continue;
    Error& failure = touched.error();
    if (kube::is_absent(failure) || kube::is_other_object(failure)) return {};
    const bool passes = failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Timeout ||
                        failure.kind == ErrorKind::Cancelled;
    if (passes || !context.check().ok())
      return std::move(failure).with_frame(
          fmt::format("while keeping {} from what a stopped run may still delete", object.key.display()));
    environment.events.warn(
        fmt::format("{} can't be written now, so a DELETE that a stopped run sent may still take it: {}",
                    object.key.display(), failure.to_line()));
    return {};
  }
  return {};
}

}  // namespace

std::vector<InventoryItem> may_be_deleted_late(const ReleaseState& state, std::string_view taker) {
  if (!state.anchor) return {};
  std::vector<InventoryItem> items = state.owned();
  if (tells_nothing(state) || locked_by_another_release(*state.anchor, taker)) return items;
  std::vector<PendingRun> runs;
  for (const Revision& revision : state.unfinished) {
    if (revision.status == RevisionStatus::Pending) runs.emplace_back(revision);
  }
  const bool uninstalling = is_uninstalling(state);
  apply::PruneRules rules;
  allow_also(rules, allowed_by(state.anchor->head.options).prune);
  rules.delete_namespaces = true;
  std::erase_if(items, [&](const InventoryItem& item) {
    if (uninstalling && may_remove(item, rules)) return false;
    return std::ranges::none_of(runs, [&](const PendingRun& run) { return run.may_delete(item); });
  });
  return items;
}

Result<std::size_t> outdate_late_deletes(const Environment& environment, const ReleaseState& state,
                                         const std::set<ObjectKey>& going, const Context& context,
                                         std::string_view taker) {
  std::vector<InventoryItem> items = may_be_deleted_late(state, taker);
  std::erase_if(items, [&](const InventoryItem& item) { return going.contains(item.key); });
  if (items.empty()) return std::size_t{0};
  const Activity activity(environment.events, "looking for what a stopped run may still be deleting");
  MIST_TRY(const std::vector<Touched> objects, what_is_there(environment, state.id, items, context));
  MIST_TRY_VOID(parallel_for(
      objects.size(), 16, [&](std::size_t i) -> Status { return touch(environment, objects[i], context); }));
  return objects.size();
}

std::set<ObjectKey> going_by(const std::vector<apply::PlannedAction>& actions) {
  std::set<ObjectKey> keys;
  for (const apply::PlannedAction& action : actions) {
    if (action.kind == apply::ActionKind::Delete || action.kind == apply::ActionKind::Replace)
      keys.insert(action.key);
  }
  return keys;
}

}  // namespace mist::action
