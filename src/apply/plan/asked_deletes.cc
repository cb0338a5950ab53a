#include "apply/plan/asked_deletes.h"

#include <algorithm>

#include "apply/marks.h"
#include "apply/plan/observe.h"
#include "apply/plan/refusal.h"
#include "base/parallel.h"
#include "kube/api_failure.h"

namespace mist::apply {
namespace {

bool changes_rights(const PlannedAction& write) {
  return is_written(write) && write.key.group_kind.group == "rbac.authorization.k8s.io";
}

void refuse(PlannedAction& removal, const Plan& plan, const PlanRules& rules, const Error& failure) {
  const bool no_right = kube::is_without_right(failure);
  if (no_right && rules.only_looks) return;
  removal.reason += fmt::format("; the server forbids to delete it as things are ({})", failure.because);
  const bool may_change = no_right ? std::ranges::any_of(plan.writes, changes_rights)
                                   : std::ranges::any_of(plan.writes, is_written);
  if (may_change) return;
  removal.meant = removal.kind;
  removal.kind = ActionKind::Conflict;
  removal.cause = no_right ? ConflictCause::NoRight : ConflictCause::Denied;
  removal.arguable = true;
  removal.denied_by = kube::denied_by(failure);
  removal.hint = no_right
                     ? failure.hint
                     : fmt::format("have admission let it go, or keep it with the annotation {}: \"true\"",
                                   kKeepAnnotation);
}

}  // namespace

Status ask_about_deletes(kube::Client& client, Plan& plan, const PlanRules& rules, const Context& context) {
  std::vector<PlannedAction*> asked;
  for (PlannedAction& removal : plan.removals)
    if (removal.kind == ActionKind::Delete && !removal.unreadable && !removal.uid.empty())
      asked.push_back(&removal);
  return parallel_for(asked.size(), 16,
                      [&](std::size_t i) -> Status {
                        PlannedAction& removal = *asked[i];
                        const InventoryItem item{
                            .key = removal.key, .version = removal.resource.gvk.version, .uid = removal.uid};
                        const auto resource = resource_of(client, item, context);
                        if (!resource.ok() || !*resource) return context.check();
                        const auto removed =
                            client.remove({**resource, removal.key.ns, removal.key.name},
                                          {.uid = removal.uid, .dry_run = kube::DryRun::Server}, context);
                        if (!removed.ok() && kube::is_denied(removed.error()))
                          refuse(removal, plan, rules, removed.error());
                        return context.check();
                      })
      .in("while the server was asked what it would delete");
}

}  // namespace mist::apply
