#include "action/deploy/server_dry_run.h"

#include <algorithm>
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

// Why the server isn't asked about a write; empty: it is.
std::string why_not_asked(const apply::PlannedAction& action, const std::set<std::string>& new_namespaces,
                          const std::set<apimachinery::GroupKind>& redefined) {
  if (action.late) return "its kind does not exist yet";
  if (new_namespaces.contains(action.key.ns)) return "its namespace does not exist yet";
  if (redefined.contains(action.key.group_kind)) return "its CRD changes with it";
  // In place it can't be done, and a dry run doesn't delete what is in the way.
  if (action.kind == apply::ActionKind::Replace) return "it is to be deleted and recreated";
  return {};
}

// Why a refusal of the dry run says nothing of the write, as settle.cc has it; empty: it does.
std::string why_no_answer(const apply::PlannedAction& action, const Error& refused) {
  if (kube::is_without_dry_run(refused)) return "a webhook that looks at it supports no dry runs";
  if (kube::is_lost_version(refused) || kube::is_narrow_version(refused))
    return "the managers of its fields have to be moved to another version of its kind first";
  const bool empties = std::ranges::any_of(action.differences, &apply::FieldDifference::empties);
  if (empties && refused.kind == ErrorKind::Invalid) return "lists or maps in it have to be emptied first";
  return {};
}

void warn_unchecked(const Environment& environment, const apply::PlannedAction& action,
                    std::string_view why) {
  environment.events.warn(fmt::format("{} was not checked by the server: {}", action.key.display(), why));
}

Result<encoding::Value> try_on_server(kube::Client& client, const apply::Plan& plan,
                                      const apply::PlannedAction& action, bool force_conflicts,
                                      const Context& context) {
  kube::ApplyOptions options;
  // Fields that are taken over first are no conflict then.
  options.force = force_conflicts || action.transfer.has_value();
  options.field_manager = plan.owner.manager;
  options.dry_run = kube::DryRun::Server;
  const kube::ObjectRef ref{action.resource, action.key.ns, action.key.name};
  const encoding::Value object =
      apply::with_version(plan.desired[action.desired].rendered, action.recorded.revision);
  auto checked = client.apply(ref, object, options, context);
  if (checked.ok() || !apply::is_about_our_label(checked.error())) return checked;
  options.force = true;
  return client.apply(ref, object, options, context);
}

}  // namespace

Status dry_run_on_server(const Environment& environment, const apply::Plan& plan,
                         const std::string& missing_namespace, bool force_conflicts, const Context& context) {
  const Activity activity(environment.events, "checking with the server");
  std::set<std::string> new_namespaces;
  if (!missing_namespace.empty()) new_namespaces.insert(missing_namespace);
  for (const apply::PlannedAction& action : plan.writes) {
    if (action.key.group_kind == apimachinery::kNamespace && action.kind == apply::ActionKind::Create)
      new_namespaces.insert(action.key.name);
  }
  const std::set<apimachinery::GroupKind> redefined = apply::redefined_kinds(plan);
  return parallel_for(plan.writes.size(), 16, [&](std::size_t i) -> Status {
    const apply::PlannedAction& action = plan.writes[i];
    if (action.kind == apply::ActionKind::Unchanged) return {};
    std::string why = why_not_asked(action, new_namespaces, redefined);
    if (!why.empty()) {
      warn_unchecked(environment, action, why);
      return {};
    }
    auto checked = try_on_server(environment.client, plan, action, force_conflicts, context);
    if (checked.ok()) return {};
    why = why_no_answer(action, checked.error());
    if (!why.empty()) {
      warn_unchecked(environment, action, why);
      return {};
    }
    MIST_TRY(why, why_not_final(environment.client, plan, i, checked.error(), context));
    if (!why.empty()) {
      environment.events.warn(fmt::format(
          "{} is refused by the server as things are ({}); {}, so the server decides when its turn comes",
          action.key.display(), one_line(checked.error().because), why));
      return {};
    }
    Error failure = std::move(checked).error().with_frame(
        fmt::format("while the server checked {}", action.key.display()));
    return apply::at_refused_field(std::move(failure), plan.desired[action.desired].rendered);
  });
}

}  // namespace mist::action
