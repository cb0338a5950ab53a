#include "reconcile/member_order.h"

#include <algorithm>
#include <set>

#include "apply/wait/readiness.h"

namespace mist::reconcile {
namespace {

using apply::EdgePredicate;

bool is_so(const Observation& observed, EdgePredicate predicate) {
  if (!observed.there() || apimachinery::is_terminating(observed.object)) return false;
  return predicate == EdgePredicate::Present ||
         apply::readiness(observed.object).health == apply::Health::Ready;
}

}  // namespace

void order_members(std::vector<Member>& members) {
  const auto is_absent = [](const Member& each) { return each.observed.absent(); };
  if (members.size() < 2 || std::ranges::none_of(members, is_absent)) return;
  std::vector<apimachinery::Object> objects;
  for (const Member& each : members) {
    auto object = apimachinery::Object::from_value(each.desired);
    if (!object.ok()) return;  // take_members() has judged them
    objects.push_back(*std::move(object));
  }
  std::vector<const apimachinery::Object*> ordered;
  for (const apimachinery::Object& each : objects) ordered.push_back(&each);
  // The order of writing is that of deleting, turned round. It is the one that can't fail.
  const graph::SequenceGraph order = apply::removal_order(ordered).reversed();
  for (graph::Node node = 0; node < members.size(); ++node) {
    if (!is_absent(members[node])) continue;
    std::set<graph::Node> seen;
    std::vector<graph::Node> open{node};
    while (!open.empty()) {
      const graph::Node at = open.back();
      open.pop_back();
      for (const std::size_t i : order.edges_in(at)) {
        const graph::Edge& edge = order.edges()[i];
        if (!seen.insert(edge.before).second) continue;
        if (edge.before < members.size())
          members[node].before.push_back({edge.before, apply::predicate_of(edge)});
        else  // a barrier, which is no object
          open.push_back(edge.before);
      }
    }
  }
}

std::string waits_in_node(const std::vector<Member>& members, const Member& member) {
  for (const Earlier& each : member.before) {
    const Member& earlier = members[each.member];
    if (is_so(earlier.observed, each.predicate)) continue;
    return earlier.observed.there()
               ? fmt::format("waits until {} of the same node is ready", earlier.id.display())
               : fmt::format("waits for {} of the same node", earlier.id.display());
  }
  return {};
}

}  // namespace mist::reconcile
