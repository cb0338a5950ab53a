#include "operator/unready_causes.h"

#include <algorithm>

#include "apply/wait/pod_trouble.h"
#include "apply/wait/readiness.h"
#include "base/doubled_pause.h"

namespace mist::operator_ {
namespace {

SteadyTime::duration pause_after(int looks) {
  return std::chrono::duration_cast<SteadyTime::duration>(
      doubled_pause(kFirstLook, looks, kLongestLookPause));
}

}  // namespace

void UnreadyCauses::begin() {
  for (auto& [id, entry] : all_) entry.asked = false;
}

std::string UnreadyCauses::of(const ObjectId& id, const Value& live, SteadyTime now) {
  if (apply::pod_selector(live).empty()) return {};
  const auto [known, is_new] = all_.try_emplace(id);
  Entry& entry = known->second;
  entry.asked = true;
  if (is_new || entry.object.live.string_at({"metadata", "uid"}) != live.string_at({"metadata", "uid"})) {
    entry = {.object = {}, .next = now + pause_after(0)};
    entry.object.key = {id.gvk().group_kind(), id.ns, id.name};
  }
  entry.object.live = live;
  entry.object.detail = apply::readiness(live).detail;
  return entry.cause;
}

void UnreadyCauses::finish() {
  std::erase_if(all_, [](const auto& each) { return !each.second.asked; });
}

std::vector<apply::Unready> UnreadyCauses::due(SteadyTime now) const {
  std::vector<apply::Unready> objects;
  for (const auto& [id, entry] : all_)
    if (entry.next <= now && objects.size() < apply::kObjectsLookedInto) objects.push_back(entry.object);
  return objects;
}

bool UnreadyCauses::found(const apimachinery::ObjectKey& key, const std::string& cause, SteadyTime now) {
  const auto known =
      std::ranges::find_if(all_, [&](const auto& each) { return each.second.object.key == key; });
  if (known == all_.end()) return false;
  Entry& entry = known->second;
  entry.next = now + pause_after(++entry.looks);
  return std::exchange(entry.cause, cause) != cause;
}

std::optional<SteadyTime> UnreadyCauses::next() const {
  std::optional<SteadyTime> first;
  for (const auto& [id, entry] : all_)
    if (!first || entry.next < *first) first = entry.next;
  return first;
}

}  // namespace mist::operator_
