#include "reconcile/prune.h"

#include <algorithm>
#include <map>

#include "apply/wait/readiness.h"
#include "base/text.h"
#include "reconcile/ownership.h"
#include "reconcile/release_node.h"

namespace mist::reconcile {
namespace {

using blueprint::Policy;

struct Left {
  const Recorded* entry;
  Observation observed;
};

// Its finalizer goes when its objects are gone: what it says of that, or that nobody sees to it.
std::string why_not_uninstalled(const Value& release, const Queries& queries) {
  if (has_failed(release)) return release_words(release);
  const std::string why = queries.not_kept ? queries.not_kept(release) : std::string();
  return fmt::format("{}{}{}", apply::why_terminating(release), why.empty() ? "" : "; ", why);
}

// By the node of what is left: the nodes of what is left before it.
using Order = std::map<std::string, std::set<std::string>>;

bool leads_to(const Order& order, const std::string& from, const std::string& to) {
  std::set<std::string> seen;
  std::vector<std::string> next = {from};
  while (!next.empty()) {
    const std::string node = std::move(next.back());
    next.pop_back();
    if (node == to) return true;
    const auto before = order.find(node);
    if (before == order.end() || !seen.insert(node).second) continue;
    next.insert(next.end(), before->second.begin(), before->second.end());
  }
  return false;
}

// The nodes whose objects something that is left came after.
//
// An object that goes back to a former state came after what its later state came after, its former state
// among it, and other objects came after that one. Until it is written it goes before them, and then after
// them. In a cycle without such an object nothing is first.
std::set<std::string> needed_by(const std::vector<Left>& left) {
  Order order;
  std::set<std::string> going_back, back;
  for (const Left& each : left)
    for (const std::string& node : each.entry->after)
      if (node != each.entry->node)
        order[each.entry->node].insert(node);
      else if (each.observed.object.string_at({"metadata", "annotations", kHashAnnotation}) ==
               each.entry->hash)
        back.insert(node);
      else
        going_back.insert(node);
  const Order all = order;
  for (auto& each : order) {
    const std::string& node = each.first;
    const bool is_back = back.contains(node);
    std::erase_if(each.second, [&](const std::string& before) {
      return (is_back || going_back.contains(before)) && leads_to(all, before, node);
    });
  }
  std::set<std::string> needed;
  for (const auto& [node, befores] : order)
    for (const std::string& before : befores)
      if (!needed.contains(before) && !leads_to(order, before, node)) needed.insert(before);
  return needed;
}

void decide_one(const Left& left, const std::set<std::string>& needed, const Survivors& survivors,
                const Value& instance, const Queries& queries, Plan& plan) {
  const Recorded& entry = *left.entry;
  const Observation& observed = left.observed;
  const bool is_free = goes_out_of_order(instance, entry.node);
  NodeReport report{entry.node, NodeState::Deleting, {}, entry.id};
  plan.record.objects.push_back(entry);
  if (!observed.there()) {
    report.detail = not_known(entry.id, observed);
  } else if (apimachinery::is_terminating(observed.object)) {
    // It goes as soon as its outcome matters to nobody.
    if (has_finalizer(observed.object))
      plan.releases.push_back({Release::What::Finalizer, entry.node, entry.id, observed.object});
    report.going_since = observed.object.string_at({"metadata", "deletionTimestamp"});
    report.detail = is_release(entry.id) ? why_not_uninstalled(observed.object, queries)
                                         : apply::why_terminating(observed.object);
  } else if (!is_free && needed.contains(entry.node)) {
    report.detail = "waits until what came after it is gone";
  } else if (const auto act = survivors.held.find(entry.node);
             !is_free && act != survivors.held.end() && !survivors.freed.contains(entry.id)) {
    report.detail = fmt::format("waits until {} has run", act->second);
  } else if (!is_free && survivors.used.contains(text_of_key(entry.id.text()))) {
    report.detail = "waits until what has its values is written without them";
  } else if (entry.policy == Policy::Orphan) {
    plan.releases.push_back({Release::What::LiveOwner, entry.node, entry.id, observed.object});
  } else {
    plan.deletes.push_back({entry, std::string(observed.object.string_at({"metadata", "uid"}))});
  }
  plan.nodes.push_back(std::move(report));
}

}  // namespace

bool goes_out_of_order(const Value& instance, std::string_view node) {
  const std::vector<std::string_view> told =
      split(instance.string_at({"metadata", "annotations", kOutOfOrderAnnotation}), ',');
  return std::ranges::any_of(told, [&](std::string_view each) {
    const std::string_view name = trim(each);
    return name == "*" || (!name.empty() && name == node);
  });
}

void prune(const std::vector<Recorded>& going, const Survivors& survivors, const Value& instance,
           const Queries& queries, Plan& plan) {
  const std::string_view uid = instance.string_at({"metadata", "uid"});
  std::vector<Left> left;
  for (const Recorded& each : going) {
    Observation observed = queries.observe(each.id, true);
    if (observed.absent()) continue;
    // Somebody made another one since.
    if (observed.there() && !is_instances(observed.object, uid)) continue;
    // It keeps its mark as long as the instance is there, and is remembered for that. A Job that somebody
    // deletes isn't kept from going.
    const bool is_held =
        observed.there() && apimachinery::is_terminating(observed.object) && has_finalizer(observed.object);
    if (each.policy == Policy::Retain && !is_held) {
      plan.record.objects.push_back(each);
      continue;
    }
    left.push_back({&each, std::move(observed)});
  }
  const std::set<std::string> needed = needed_by(left);
  for (const Left& each : left) decide_one(each, needed, survivors, instance, queries, plan);
}

}  // namespace mist::reconcile
