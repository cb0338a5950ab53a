#include "action/query/status.h"

#include <algorithm>
#include <set>

#include "action/deploy/finished_jobs.h"
#include "action/recover/labelled.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/binding_modes.h"
#include "apply/wait/root_cause.h"
#include "render/recorded_options.h"

namespace mist::action {

using encoding::Value;

namespace {

ObjectHealth health_of(apply::Health health) {
  switch (health) {
    case apply::Health::Ready:
      return ObjectHealth::Ready;
    case apply::Health::InProgress:
      return ObjectHealth::InProgress;
    case apply::Health::Failed:
      return ObjectHealth::Failed;
  }
  return ObjectHealth::Failed;
}

// An unfinished run may have deleted objects itself, so others are not to blame for those that are missing.
enum class Phase : std::uint8_t { Settled, Unfinished, Uninstalling };

ObjectStatus object_status(const apply::InventoryItem& item, const apply::LiveState& live,
                           const std::string& part_of, Phase phase, bool finished,
                           const apply::BindsLate& binds_late) {
  ObjectStatus result{.key = item.key,
                      .detail = {},
                      .revision = item.revision,
                      .retained = item.retained,
                      .hook = item.hook,
                      .created = {}};
  const auto there = live.find(item.key);
  if (there == live.end() && finished && phase != Phase::Uninstalling) {
    result.detail = apply::kRemovedByItsTtl;
    return result;
  }
  if (there == live.end()) {
    result.health = ObjectHealth::Missing;
    const bool by_us = item.retained || phase == Phase::Uninstalling;
    result.detail = item.uid.empty()             ? "it is not there yet"
                    : by_us                      ? "it was deleted"
                    : phase == Phase::Unfinished ? "it is gone"
                                                 : "it was deleted outside of Mistletoe";
    return result;
  }
  const Value& object = there->second.value;
  result.created = object.string_at({"metadata", "creationTimestamp"});
  const std::string_view mark = object.string_at({"metadata", "labels", apply::kPartOfLabel});
  if (!mark.empty() && mark != part_of) {
    const std::string_view owner = object.string_at({"metadata", "annotations", apply::kReleaseAnnotation});
    result.health = ObjectHealth::Missing;
    result.detail = fmt::format("it belongs to {} by now", owner.empty() ? fmt::format("ApplySet {}", mark)
                                                                         : fmt::format("release {}", owner));
    return result;
  }
  if (!apply::is_owned(item, object, part_of)) {
    result.health = ObjectHealth::Missing;
    result.detail = "another object has its name";
    return result;
  }
  if (!there->second.whole) {
    result.detail = "its ownership label was removed";
    return result;
  }
  const apply::Readiness readiness = apply::readiness(object, binds_late);
  result.health = health_of(readiness.health);
  result.detail = readiness.detail;
  if (!item.left.empty())
    result.detail += fmt::format("{}left as it was: {}", result.detail.empty() ? "" : "; ", item.left);
  return result;
}

// Whether its state is worth an explanation: not that of what was left behind, nor a hook's, unless an
// unfinished revision still waits for it, or failed because of it.
bool is_unready(const ObjectStatus& object, int unfinished) {
  return (object.health == ObjectHealth::InProgress || object.health == ObjectHealth::Failed) &&
         !object.retained && (!object.hook || object.revision == unfinished);
}

// Nothing is asked for a release that is ready.
std::optional<Diagnosis> diagnosis_of_unready(const Environment& environment, const release::ReleaseId& id,
                                              const std::vector<apply::InventoryItem>& owned,
                                              const std::vector<ObjectStatus>& objects, int unfinished,
                                              const apply::LiveState& live, const Context& context) {
  std::vector<apply::Unready> unready;
  for (const ObjectHealth health : {ObjectHealth::Failed, ObjectHealth::InProgress}) {
    for (const ObjectStatus& object : objects) {
      if (!is_unready(object, unfinished) || object.health != health) continue;
      unready.push_back(
          {.key = object.key, .resource = {}, .live = live.at(object.key).value, .detail = object.detail});
    }
  }
  if (unready.empty()) return std::nullopt;
  Activity looking(environment.events, "looking for the cause");
  for (std::size_t i = 0; i < std::min(unready.size(), apply::kObjectsLookedInto); ++i) {
    const auto item = std::ranges::find(owned, unready[i].key, &apply::InventoryItem::key);
    // It was just listed, so its kind is known.
    if (auto resource = apply::resource_of(environment.client, *item, context); resource.ok() && *resource)
      unready[i].resource = **std::move(resource);
  }
  Diagnosis diagnosis = apply::diagnose(environment.client, "Release", id.display(), unready,
                                        context.with_timeout(apply::kDiagnosisLimit));
  diagnosis.children.resize(std::min(diagnosis.children.size(), apply::kObjectsLookedInto));
  return diagnosis;
}

}  // namespace

std::string_view to_string(ObjectHealth health) {
  switch (health) {
    case ObjectHealth::Ready:
      return "ready";
    case ObjectHealth::InProgress:
      return "in progress";
    case ObjectHealth::Failed:
      return "failed";
    case ObjectHealth::Missing:
      return "missing";
    case ObjectHealth::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view to_string(HolderLife::State state) {
  switch (state) {
    case HolderLife::State::Alive:
      return "alive";
    case HolderLife::State::Silent:
      return "silent";
    case HolderLife::State::Dead:
      return "dead";
    case HolderLife::State::Unsure:
      return "unsure";
  }
  return "unsure";
}

HolderLife holder_life(const release::Lock& lock, WallTime now, ProcessLife process) {
  using State = HolderLife::State;
  const auto renewed = parse_time(lock.renewed);
  const State unknown = process == ProcessLife::Dead ? State::Dead : State::Unsure;
  if (!renewed) return {.state = unknown};
  const Duration silent = now - *renewed, term = std::chrono::milliseconds(lock.term_ms);
  return {.state = process == ProcessLife::Dead ? State::Dead
                   : silent > term              ? State::Silent
                   : silent < -term             ? State::Unsure
                                                : State::Alive,
          .silent = silent};
}

namespace {

// The head names the newest revision's package; name and digest stand in that revision.
release::PackageInfo newest_package(const ReleaseStatus& status) {
  const release::Head& head = status.anchor.head;
  if (!status.unfinished.empty() && status.unfinished.back().number == head.latest)
    return status.unfinished.back().package;
  if (status.deployed && status.deployed->number == head.latest) return status.deployed->package;
  return {.reference = head.package, .name = {}, .version = head.package_version, .digest = {}};
}

}  // namespace

std::size_t ReleaseStatus::count(ObjectHealth health) const {
  return static_cast<std::size_t>(std::ranges::count_if(objects, [&](const ObjectStatus& object) {
    return object.health == health && !object.retained && !object.hook;
  }));
}

bool ReleaseStatus::is_healthy() const {
  return anchor.head.status == release::RevisionStatus::Deployed && unfinished.empty() && !locked &&
         std::ranges::all_of(objects, [](const ObjectStatus& object) {
           return object.health == ObjectHealth::Ready || object.retained || object.hook;
         });
}

bool ReleaseStatus::is_stuck() const {
  if (is_healthy() || (holder && holder->state == HolderLife::State::Alive)) return false;
  return anchor.head.status != release::RevisionStatus::Deployed || !unfinished.empty() ||
         count(ObjectHealth::Failed) > 0 || count(ObjectHealth::Missing) > 0;
}

Result<ReleaseStatus> status(const Environment& environment, const release::ReleaseId& id,
                             const Context& context) {
  MIST_TRY(ReleaseState state, read_release(environment, id, context, LostRevision::Allowed));
  if (!state.anchor) return missing_release(environment, id, context);
  const Activity reading(environment.events, "reading the cluster");
  const std::vector<apply::InventoryItem> owned = state.owned();
  const Phase phase = is_uninstalling(state)     ? Phase::Uninstalling
                      : state.unfinished.empty() ? Phase::Settled
                                                 : Phase::Unfinished;
  std::map<apimachinery::ObjectKey, std::string> unknown;
  MIST_TRY(const apply::LiveState live, apply::observe(environment.client, id, {}, owned, context,
                                                       {.unreachable = &unknown, .forbidden = &unknown}));
  warn_of_strays(environment, id, live, {}, owned);
  const std::set<apimachinery::ObjectKey> finished =
      phase == Phase::Uninstalling ? std::set<apimachinery::ObjectKey>()
                                   : finished_jobs(environment, state, live, owned, context);
  ReleaseStatus result;
  result.anchor = *std::move(state.anchor);
  result.deployed = std::move(state.deployed);
  result.unfinished = std::move(state.unfinished);
  result.package = newest_package(result);
  if (result.deployed)
    result.certificates = render::aging_certificates(
        result.deployed->drawn.fields, render::view_of(result.deployed->objects), environment.clock.now());
  result.locked = result.anchor.lock.has_value();
  if (result.locked) {
    const release::Lock& lock = *result.anchor.lock;
    result.holder = holder_life(lock, environment.clock.now(),
                                environment.life ? environment.life(lock.process) : ProcessLife::Unknown);
  }
  result.managing_release = managing_release_of(environment, result.anchor, context);
  const std::string part_of = apply::apply_set_id(id);
  apply::BindingModes binding(environment.client);
  std::set<std::string_view> known;
  for (const apply::InventoryItem& item : owned) known.insert(item.uid);
  for (const apply::InventoryItem& item : owned) {
    // An object that nobody saw being created may be one that is known under another API group.
    if (const auto there = live.find(item.key);
        item.uid.empty() && there != live.end() &&
        known.contains(there->second.value.string_at({"metadata", "uid"})))
      continue;
    ObjectStatus object =
        object_status(item, live, part_of, phase, finished.contains(item.key), binding.as_rule(context));
    if (const auto why = unknown.find(item.key); why != unknown.end()) {
      object.health = ObjectHealth::Unknown;
      object.detail = why->second;
    }
    // A hook comes and goes.
    if (!item.hook || object.health != ObjectHealth::Missing) result.objects.push_back(std::move(object));
  }
  const bool open = result.anchor.head.status != release::RevisionStatus::Deployed;
  const int unfinished = open ? result.anchor.head.latest : -1;
  result.diagnosis = diagnosis_of_unready(environment, id, owned, result.objects, unfinished, live, context);
  MIST_TRY_VOID(context.check());
  return result;
}

render::LookupGrants lookups_of(const ReleaseStatus& status) {
  return status.deployed ? render::RecordedOptions::from_value(status.deployed->options).lookups
                         : render::LookupGrants();
}

}  // namespace mist::action
