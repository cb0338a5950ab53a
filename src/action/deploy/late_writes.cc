#include "action/deploy/late_writes.h"

#include <algorithm>
#include <mutex>

#include "action/deploy/allow_also.h"
#include "apimachinery/built_in_groups.h"
#include "apply/plan/observe.h"
#include "apply/plan/settle.h"
#include "apply/reserved_metadata.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "render/recorded_options.h"

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

// The requests of one run that did not end.
class PendingRun {
 public:
  explicit PendingRun(const Revision& revision) : number_(revision.number) {
    allow_also(rules_, render::RecordedOptions::from_value(revision.options).allowed.prune);
    for (const release::RenderedObject& rendered : revision.objects) wanted_.insert(rendered.object.key());
    for (const InventoryItem& item : revision.inventory) {
      if (item.replacing) wanted_.erase(item.key);
      if (item.replacing || item.hook) always_.insert(item.key);
      if (item.revision == revision.number && !item.uid.empty() && !item.retained) changed_.insert(item.key);
    }
  }

  int number() const { return number_; }
  bool may_change(const InventoryItem& item) const { return changed_.contains(item.key); }

  bool may_delete(const InventoryItem& item) const {
    return always_.contains(item.key) || (!wanted_.contains(item.key) && may_remove(item, rules_));
  }

 private:
  int number_;
  apply::PruneRules rules_;
  std::set<ObjectKey> changed_;
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

struct FoundWrites {
  std::vector<Touched> to_touch;
  std::size_t arrived = 0;  // since they were looked at
};

// Of another owner too, if the run was about to replace it, or to take this very object.
bool may_be_meant(const LateWrite& late, const Value& live, const std::string& part_of) {
  const InventoryItem& item = late.item;
  if (item.replacing || apply::is_owned(item, live, part_of)) return true;
  return late.changed_by >= 0 && item.adopted && live.string_at({"metadata", "uid"}) == item.uid;
}

// Each apply labels its object with the revision.
bool has_arrived(const LateWrite& late, const Value& live) {
  return !late.deletes && apimachinery::is_built_in_group(late.item.key.group_kind.group) &&
         live.string_at({"metadata", "labels", apply::kVersionLabel}) == fmt::format("v{}", late.changed_by);
}

Result<FoundWrites> what_is_there(const Environment& environment, const release::ReleaseId& id,
                                  const std::vector<LateWrite>& writes, const OwnWrites& own,
                                  const Context& context) {
  // An object that can't be read can't be written either.
  std::map<ObjectKey, std::string> unread;
  std::map<ObjectKey, apply::Unconverted> unconverted;
  std::vector<InventoryItem> items;
  for (const LateWrite& late : writes) items.push_back(late.item);
  MIST_TRY(const apply::LiveState live,
           apply::observe(environment.client, id, {}, items, context,
                          {.unreachable = &unread, .forbidden = &unread, .unconverted = &unconverted}));
  const std::string part_of = apply::apply_set_id(id);
  FoundWrites found;
  for (const LateWrite& late : writes) {
    const InventoryItem& item = late.item;
    const auto there = live.find(item.key);
    if (there == live.end() || apimachinery::is_terminating(there->second.value)) continue;
    const Value& object = there->second.value;
    if (!may_be_meant(late, object, part_of)) continue;
    if (has_arrived(late, object)) {
      found.arrived += own.changed_since(item.key, object.string_at({"metadata", "resourceVersion"})) ? 1 : 0;
      continue;
    }
    MIST_TRY(const std::optional<kube::ResourceInfo> resource,
             apply::resource_of(environment.client, item, context));
    if (resource)
      found.to_touch.push_back({{*resource, item.key.ns, item.key.name},
                                item.key,
                                std::string(object.string_at({"metadata", "uid"}))});
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
          fmt::format("while keeping {} from what a stopped run may still write", object.key.display()));
    environment.events.warn(
        fmt::format("{} can't be written now, so what a stopped run sent may still change or delete it: {}",
                    object.key.display(), failure.to_line()));
    return {};
  }
  return {};
}

}  // namespace

std::vector<LateWrite> may_be_written_late(const ReleaseState& state, std::string_view taker) {
  std::vector<LateWrite> writes;
  if (!state.anchor) return writes;
  const bool unknown = tells_nothing(state) || locked_by_another_release(*state.anchor, taker);
  std::vector<PendingRun> runs;
  for (const Revision& revision : state.unfinished) {
    if (revision.status == RevisionStatus::Pending) runs.emplace_back(revision);
  }
  const bool uninstalling = is_uninstalling(state);
  apply::PruneRules rules;
  allow_also(rules, render::RecordedOptions::from_value(state.anchor->head.options).allowed.prune);
  rules.delete_namespaces = true;
  for (InventoryItem& item : state.owned()) {
    LateWrite late{.deletes = unknown || (uninstalling && may_remove(item, rules))};
    for (const PendingRun& run : runs) {
      late.deletes |= run.may_delete(item);
      if (run.may_change(item)) late.changed_by = std::max(late.changed_by, run.number());
    }
    late.item = std::move(item);
    if (late.deletes || late.changed_by >= 0) writes.push_back(std::move(late));
  }
  return writes;
}

void OwnWrites::add(const std::vector<apply::PlannedAction>& actions) {
  using apply::ActionKind;
  for (const apply::PlannedAction& action : actions) {
    if (action.kind == ActionKind::Delete || action.kind == ActionKind::Replace)
      deleted_.insert(action.key);
    else if (action.kind == ActionKind::Update || action.kind == ActionKind::Adopt)
      changed_.insert(action.key);
    else
      versions_.emplace(action.key, action.live.resource_version);
  }
}

bool OwnWrites::outdate(const LateWrite& late) const {
  return deleted_.contains(late.item.key) || (!late.deletes && changed_.contains(late.item.key));
}

bool OwnWrites::changed_since(const ObjectKey& key, std::string_view version) const {
  const auto seen = versions_.find(key);
  return seen == versions_.end() || seen->second != version;
}

Result<std::size_t> outdate_late_writes(const Environment& environment, const ReleaseState& state,
                                        const OwnWrites& own, const Context& context,
                                        std::string_view taker) {
  std::vector<LateWrite> writes = may_be_written_late(state, taker);
  std::erase_if(writes, [&](const LateWrite& late) { return own.outdate(late); });
  if (writes.empty()) return std::size_t{0};
  const Activity activity(environment.events, "looking for what a stopped run may still be writing");
  MIST_TRY(const FoundWrites found, what_is_there(environment, state.id, writes, own, context));
  MIST_TRY_VOID(parallel_for(found.to_touch.size(), 16, [&](std::size_t i) -> Status {
    return touch(environment, found.to_touch[i], context);
  }));
  return found.to_touch.size() + found.arrived;
}

}  // namespace mist::action
