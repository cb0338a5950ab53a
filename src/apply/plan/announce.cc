#include "apply/plan/announce.h"

#include <set>

namespace mist::apply {
namespace {

// An object after which everything else comes would otherwise name everything else.
constexpr std::size_t kMostAwaited = 8;

class Announcer {
 public:
  explicit Announcer(const Plan& plan) : plan_(plan) {}

  PlanAnnounced::Object write(std::size_t index) const {
    PlanAnnounced::Object result = without_edges(plan_.writes[index]);
    const DesiredObject& desired = plan_.desired[plan_.writes[index].desired];
    result.package = desired.rendered.package;
    for (PlanAnnounced::Field& field : result.fields)
      if (field.line != 0) field.file = desired.rendered.source_file();
    std::set<graph::Node> seen;
    awaited(index, "", seen, result);
    return result;
  }

  static PlanAnnounced::Object without_edges(const PlannedAction& action) {
    PlanAnnounced::Object result{.object = action.key.display(),
                                 .group = action.key.group_kind.group,
                                 .action = std::string(to_string(action.kind)),
                                 .reason = action.reason};
    for (const FieldDifference& difference : action.differences)
      result.fields.push_back({.path = difference.path, .file = {}, .line = difference.line});
    return result;
  }

 private:
  // Behind a barrier stand the objects that it gathers; the reason is that of the edge which left it.
  void awaited(graph::Node node, const std::string& because, std::set<graph::Node>& seen,
               PlanAnnounced::Object& result) const {
    const Order& order = plan_.order;
    if (node >= order.graph.size()) return;
    for (const std::size_t e : order.graph.edges_in(node)) {
      const graph::Edge& edge = order.graph.edges()[e];
      if (!seen.insert(edge.before).second) continue;
      std::string reason = because.empty() ? edge.reason : because;
      if (order.role(edge.before) == NodeRole::Barrier) {
        awaited(edge.before, reason, seen, result);
        continue;
      }
      if (result.after.size() == kMostAwaited) {
        ++result.more_after;
        continue;
      }
      if (predicate_of(edge) != EdgePredicate::Present)
        reason += fmt::format(" ({})", to_string(predicate_of(edge)));
      result.after.push_back({order.role(edge.before) == NodeRole::Outside
                                  ? order.outside_at(edge.before).display()
                                  : plan_.writes[edge.before].key.display(),
                              std::move(reason)});
    }
  }

  const Plan& plan_;
};

}  // namespace

PlanAnnounced announcement(const Plan& plan, const Owner& release, std::string operation) {
  PlanAnnounced result{.operation = std::move(operation),
                       .ns = release.ns,
                       .release = release.name,
                       .revision = plan.revision};
  const Announcer announcer(plan);
  for (std::size_t i = 0; i < plan.writes.size(); ++i) result.objects.push_back(announcer.write(i));
  for (const PlannedAction& action : plan.removals)
    result.objects.push_back(Announcer::without_edges(action));
  return result;
}

PlanAnnounced announcement(const std::vector<PlannedAction>& removals, const Owner& release,
                           std::string operation) {
  PlanAnnounced result{.operation = std::move(operation), .ns = release.ns, .release = release.name};
  for (const PlannedAction& action : removals) result.objects.push_back(Announcer::without_edges(action));
  return result;
}

}  // namespace mist::apply
