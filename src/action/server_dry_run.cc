#include "action/server_dry_run.h"

#include <set>

#include "apply/settle.h"
#include "base/parallel.h"

namespace mist::action {

Status dry_run_on_server(const Environment& environment, const apply::Plan& plan, bool force_conflicts,
                         const Context& context) {
  const Activity activity(environment.events, "checking with the server");
  std::set<std::string> new_namespaces;
  for (const apply::PlannedAction& action : plan.writes) {
    if (action.key.group_kind == apimachinery::GroupKind{"", "Namespace"} &&
        action.kind == apply::ActionKind::Create)
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
          "{} was not checked by the server: it is to be deleted and created anew", action.key.display()));
      return {};
    }
    kube::ApplyOptions apply_options;
    apply_options.force = force_conflicts;
    apply_options.dry_run = kube::DryRun::Server;
    const release::RenderedObject& rendered = plan.desired[action.desired].rendered;
    auto checked =
        environment.client.apply({action.resource, action.key.ns, action.key.name},
                                 apply::with_version(rendered, action.revision), apply_options, context);
    if (checked.ok()) return {};
    Error failure = std::move(checked).error().with_frame(
        fmt::format("while the server checked {}", action.key.display()));
    if (!failure.where) failure.where = SourceLocation{rendered.file, rendered.line, 0, {}};
    return failure;
  });
}

}  // namespace mist::action
