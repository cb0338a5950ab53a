#include "operator/troubles.h"

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

void Troubles::begin() {
  for (auto& [id, trouble] : all_) trouble.asked = false;
}

std::string Troubles::of(const ObjectId& id, const Value& live, SteadyTime now) {
  if (apply::pod_selector(live).empty()) return {};
  const auto [known, is_new] = all_.try_emplace(id);
  Trouble& trouble = known->second;
  trouble.asked = true;
  if (is_new || trouble.object.live.string_at({"metadata", "uid"}) != live.string_at({"metadata", "uid"})) {
    trouble = {.object = {}, .next = now + pause_after(0)};
    trouble.object.key = {id.gvk().group_kind(), id.ns, id.name};
  }
  trouble.object.live = live;
  trouble.object.detail = apply::readiness(live).detail;
  return trouble.cause;
}

void Troubles::finish() {
  std::erase_if(all_, [](const auto& each) { return !each.second.asked; });
}

std::vector<apply::Unready> Troubles::due(SteadyTime now) const {
  std::vector<apply::Unready> objects;
  for (const auto& [id, trouble] : all_)
    if (trouble.next <= now && objects.size() < apply::kObjectsLookedInto) objects.push_back(trouble.object);
  return objects;
}

bool Troubles::found(const apimachinery::ObjectKey& key, const std::string& cause, SteadyTime now) {
  const auto known =
      std::ranges::find_if(all_, [&](const auto& each) { return each.second.object.key == key; });
  if (known == all_.end()) return false;
  Trouble& trouble = known->second;
  trouble.next = now + pause_after(++trouble.looks);
  return std::exchange(trouble.cause, cause) != cause;
}

std::optional<SteadyTime> Troubles::next() const {
  std::optional<SteadyTime> first;
  for (const auto& [id, trouble] : all_)
    if (!first || trouble.next < *first) first = trouble.next;
  return first;
}

}  // namespace mist::operator_
