#include "apply/plan/asked_deletes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "apply/marks.h"
#include "apply/plan/admission_change.h"
#include "apply/plan/observe.h"
#include "apply/plan/refusal.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "base/some_of.h"
#include "kube/api_failure.h"

namespace mist::apply {
namespace {

// Whether the answer may be another when the delete's turn comes.
using MayChange = std::function<bool(const Error&)>;

void refuse(PlannedAction& removal, const MayChange& may_change, bool only_looks, const Error& failure) {
  const bool no_right = kube::is_without_right(failure);
  if (no_right && only_looks) return;
  removal.reason +=
      fmt::format("; the server forbids to delete it as things are ({})", one_line(failure.because));
  if (may_change(failure)) return;
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

Status ask(kube::Client& client, const std::vector<PlannedAction*>& asked, const MayChange& may_change,
           bool only_looks, const Context& context) {
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
                          refuse(removal, may_change, only_looks, removed.error());
                        return context.check();
                      })
      .in("while the server was asked what it would delete");
}

bool is_askable(const PlannedAction& removal) {
  return removal.kind == ActionKind::Delete && !removal.unreadable && !removal.uid.empty();
}

}  // namespace

Status ask_about_deletes(kube::Client& client, Plan& plan, const PlanRules& rules, bool leaves_denied,
                         const Context& context) {
  std::vector<PlannedAction*> asked;
  for (PlannedAction& removal : plan.removals)
    if (is_askable(removal)) asked.push_back(&removal);
  const auto may_change = [&](const Error& failure) {
    const auto any_written = [&](const auto& matters) {
      return std::ranges::any_of(
          plan.writes, [&](const PlannedAction& write) { return is_written(write) && matters(write.key); });
    };
    if (kube::is_without_right(failure))
      return any_written(
          [](const ObjectKey& key) { return key.group_kind.group == "rbac.authorization.k8s.io"; });
    if (leaves_denied) return true;
    const std::vector<std::string>& denied_by = kube::denied_by(failure);
    const auto parameters = parameters_of_denier(client, denied_by, context);
    return any_written([&](const ObjectKey& key) {
      if (!parameters || parameters->contains(key.group_kind)) return true;
      return is_of_admission(key.group_kind) && std::ranges::find(denied_by, key.name) != denied_by.end();
    });
  };
  return ask(client, asked, may_change, rules.only_looks, context);
}

Status ask_about_deletes(kube::Client& client, std::vector<PlannedAction>& removals, bool only_looks,
                         bool each, const Context& context) {
  std::vector<PlannedAction*> asked;
  std::set<std::pair<GroupKind, std::string>> known;
  for (PlannedAction& removal : removals)
    if (is_askable(removal) && (known.insert({removal.key.group_kind, removal.key.ns}).second || each))
      asked.push_back(&removal);
  const auto may_change = [](const Error& failure) { return !kube::is_without_right(failure); };
  return ask(client, asked, may_change, only_looks, context);
}

Status refuse_undeletable(const std::vector<PlannedAction>& removals) {
  constexpr std::size_t kShown = 3;
  const PlannedAction* first = nullptr;
  std::vector<std::string> names;
  for (const PlannedAction& removal : removals) {
    if (removal.kind != ActionKind::Conflict) continue;
    if (first == nullptr) first = &removal;
    names.push_back(removal.key.display());
  }
  if (first == nullptr) return {};
  Error failure =
      error(ErrorKind::Conflict, "{} can't be deleted: {}", some_of(std::move(names), kShown), first->reason);
  failure.hint = first->hint;
  return failure;
}

}  // namespace mist::apply
