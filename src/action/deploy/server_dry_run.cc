#include "action/deploy/server_dry_run.h"

#include <set>

#include "apply/fields/field_place.h"
#include "apply/plan/refusal.h"
#include "apply/plan/settle.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "kube/access.h"
#include "kube/api_failure.h"

namespace mist::action {

namespace {

// Why the server may judge otherwise when the plan is carried out; empty: it will not. Fields stay as wrong
// as they are, and so do permissions.
Result<std::string> why_not_final(kube::Client& client, const apply::Plan& plan, std::size_t write,
                                  const Error& refused, const Context& context) {
  const bool forbidden = refused.kind == ErrorKind::Forbidden;
  if (!forbidden && (refused.kind != ErrorKind::Invalid || kube::names_invalid_fields(refused)))
    return std::string();
  std::string why = apply::may_be_judged_otherwise(plan, write);
  if (why.empty() || !forbidden) return why;
  const apply::PlannedAction& action = plan.writes[write];
  const kube::ObjectRef ref{action.resource, action.key.ns, action.key.name};
  for (const std::string_view verb : {"patch", "create"}) {
    if (verb == "create" && action.kind != apply::ActionKind::Create) continue;
    MIST_TRY(const bool allowed, kube::may(client, verb, ref, context));
    if (!allowed) return std::string();
  }
  return why;
}

}  // namespace

Status dry_run_on_server(const Environment& environment, const apply::Plan& plan, bool force_conflicts,
                         const Context& context) {
  const Activity activity(environment.events, "checking with the server");
  std::set<std::string> new_namespaces;
  for (const apply::PlannedAction& action : plan.writes) {
    if (action.key.group_kind == apimachinery::kNamespace && action.kind == apply::ActionKind::Create)
      new_namespaces.insert(action.key.name);
  }
  const std::set<apimachinery::GroupKind> redefined = apply::redefined_kinds(plan);
  return parallel_for(plan.writes.size(), 16, [&](std::size_t i) -> Status {
    const apply::PlannedAction& action = plan.writes[i];
    if (action.kind == apply::ActionKind::Unchanged) return {};
    if (action.late || new_namespaces.contains(action.key.ns)) {
      environment.events.warn(fmt::format("{} was not checked by the server: its {} does not exist yet",
                                          action.key.display(), action.late ? "kind" : "namespace"));
      return {};
    }
    if (redefined.contains(action.key.group_kind)) {
      environment.events.warn(fmt::format("{} was not checked by the server: its definition changes with it",
                                          action.key.display()));
      return {};
    }
    // In place it can't be done, and a dry run doesn't delete what is in the way.
    if (action.kind == apply::ActionKind::Replace) {
      environment.events.warn(fmt::format(
          "{} was not checked by the server: it is to be deleted and recreated", action.key.display()));
      return {};
    }
    kube::ApplyOptions apply_options;
    // Fields that are taken over first are no conflict then.
    apply_options.force = force_conflicts || action.transfer.has_value();
    apply_options.field_manager = plan.owner.manager;
    apply_options.dry_run = kube::DryRun::Server;
    const release::RenderedObject& rendered = plan.desired[action.desired].rendered;
    auto checked = environment.client.apply({action.resource, action.key.ns, action.key.name},
                                            apply::with_version(rendered, action.recorded.revision),
                                            apply_options, context);
    if (checked.ok()) return {};
    MIST_TRY(const std::string why, why_not_final(environment.client, plan, i, checked.error(), context));
    if (!why.empty()) {
      environment.events.warn(fmt::format(
          "{} is refused by the server as things are ({}); {}, so the server decides when its turn comes",
          action.key.display(), one_line(checked.error().because), why));
      return {};
    }
    Error failure = std::move(checked).error().with_frame(
        fmt::format("while the server checked {}", action.key.display()));
    return apply::at_refused_field(std::move(failure), rendered);
  });
}

}  // namespace mist::action
