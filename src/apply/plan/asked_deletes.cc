#include "apply/plan/asked_deletes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "apply/plan/admission_change.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/admission_judges.h"
#include "apply/plan/dry_run_limits.h"
#include "apply/plan/observe.h"
#include "apply/plan/refusal.h"
#include "apply/reserved_metadata.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "base/some_of.h"
#include "kube/api_failure.h"

namespace mist::apply {
namespace {

struct Refusal {
  PlannedAction* removal = nullptr;
  Error failure = {};
};

bool is_unanswered(const Error& failure) { return !kube::unanswering_webhook(failure).empty(); }

Result<std::vector<Refusal>> ask(kube::Client& client, const std::vector<PlannedAction*>& asked,
                                 const Context& context) {
  std::vector<std::optional<Error>> answers(asked.size());
  DryRunLimits limits(context);
  const auto ask_one = [&](std::size_t i) -> Status {
    const PlannedAction& removal = *asked[i];
    const InventoryItem item{.key = removal.key, .version = removal.resource.gvk.version, .uid = removal.uid};
    const auto resource = resource_of(client, item, context);
    if (!resource.ok() || !*resource) return context.check();
    auto removed = client.remove(
        {**resource, removal.key.ns, removal.key.name},
        {.uid = removal.uid, .dry_run = kube::DryRun::Server, .insist = limits.insists()}, context);
    MIST_TRY_VOID(context.check());
    if (removed.ok()) return {};
    MIST_TRY_VOID(limits.note(removed.error()));
    if (kube::is_denied(removed.error()) || is_unanswered(removed.error()))
      answers[i] = std::move(removed).error();
    return {};
  };
  MIST_TRY_VOID(
      parallel_for(asked.size(), 16, ask_one).in("while the server was asked what it would delete"));
  std::vector<Refusal> refusals;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (answers[i]) refusals.push_back({asked[i], *std::move(answers[i])});
  return refusals;
}

void tell(const Refusal& refusal) {
  refusal.removal->reason += fmt::format(
      "; the server {} ({})",
      is_unanswered(refusal.failure) ? "can't delete it now" : "forbids to delete it as things are",
      one_line(refusal.failure.because));
}

void refuse(const Refusal& refusal, std::string hint) {
  PlannedAction& removal = *refusal.removal;
  removal.refusal.meant = removal.kind;
  removal.kind = ActionKind::Conflict;
  removal.refusal.cause =
      kube::is_without_right(refusal.failure) ? ConflictCause::NoRight : ConflictCause::Denied;
  removal.refusal.arguable = true;
  removal.refusal.denied_by = kube::denied_by(refusal.failure);
  removal.refusal.hint = std::move(hint);
}

std::string hint_of(const Error& failure) {
  if (kube::is_without_right(failure) || is_unanswered(failure)) return failure.hint;
  return fmt::format("have admission let it go, or keep it with the annotation {}: \"true\"",
                     kKeepAnnotation);
}

bool is_askable(const PlannedAction& removal) {
  return removal.kind == ActionKind::Delete && !removal.live.unreadable && !removal.uid.empty();
}

// Whether what judged may judge otherwise by then: a policy's parameters go with the rest; a webhook, and
// what is built into the server, may judge by anything.
bool may_judge_otherwise(kube::Client& client, const std::vector<PlannedAction>& removals,
                         const Error& failure, const Context& context) {
  const auto parameters = parameters_of_denier(client, kube::denied_by(failure), context);
  return !parameters || std::ranges::any_of(removals, [&](const PlannedAction& removal) {
    return removal.kind == ActionKind::Delete && parameters->contains(removal.key.group_kind);
  });
}

// Whether one of the removals refused it. The order of removals deletes such policies and webhooks first.
bool is_refused_by_own(const Refusal& refusal, std::vector<PlannedAction>& removals, const LiveState& live) {
  std::vector<std::string> names = kube::denied_by(refusal.failure);
  if (is_unanswered(refusal.failure)) names.emplace_back(kube::unanswering_webhook(refusal.failure));
  bool any = false;
  for (PlannedAction& gate : removals) {
    if (gate.kind != ActionKind::Delete || &gate == refusal.removal || !refuses(gate, live, names)) continue;
    gate.first = any = true;
    refusal.removal->reason += fmt::format("; {} is deleted first", gate.key.display());
  }
  if (any) refusal.removal->refusal.denied_by = std::move(names);
  return any;
}

}  // namespace

Status ask_about_deletes(kube::Client& client, Plan& plan, const PlanRules& rules, bool leaves_denied,
                         const Context& context) {
  std::vector<PlannedAction*> asked;
  for (PlannedAction& removal : plan.removals)
    if (is_askable(removal)) asked.push_back(&removal);
  const auto any_written = [&](const auto& matters) {
    return std::ranges::any_of(
        plan.writes, [&](const PlannedAction& write) { return is_written(write) && matters(write.key); });
  };
  // Whether the answer may be another when the delete's turn comes.
  const auto may_change = [&](const Error& failure) {
    if (kube::is_without_right(failure))
      return any_written(
          [](const ObjectKey& key) { return key.group_kind.group == "rbac.authorization.k8s.io"; });
    if (is_unanswered(failure)) return !stays_unanswered(plan, failure);
    if (leaves_denied) return true;
    const std::vector<std::string>& denied_by = kube::denied_by(failure);
    const auto parameters = parameters_of_denier(client, denied_by, context);
    return any_written([&](const ObjectKey& key) {
      if (!parameters || parameters->contains(key.group_kind)) return true;
      return is_of_admission(key.group_kind) && std::ranges::find(denied_by, key.name) != denied_by.end();
    });
  };
  MIST_TRY(const std::vector<Refusal> refusals, ask(client, asked, context));
  for (const Refusal& refusal : refusals) {
    if (kube::is_without_right(refusal.failure) && rules.read_only) continue;
    tell(refusal);
    if (!may_change(refusal.failure)) refuse(refusal, hint_of(refusal.failure));
  }
  return context.check();
}

Status ask_about_deletes(kube::Client& client, std::vector<PlannedAction>& removals, const LiveState& live,
                         bool read_only, const Context& context) {
  constexpr std::ptrdiff_t kFew = 8;  // are asked about whatever judges them
  std::optional<AdmissionJudges> judges;
  if (std::ranges::count_if(removals, is_askable) > kFew)
    judges = AdmissionJudges::read(client, "DELETE", context);
  std::vector<PlannedAction*> asked;
  std::set<std::pair<GroupKind, std::string>> known;
  for (PlannedAction& removal : removals) {
    if (!is_askable(removal)) continue;
    const bool fresh = known.insert({removal.key.group_kind, removal.key.ns}).second;
    if (fresh || !judges || judges->judge(removal.key.group_kind)) asked.push_back(&removal);
  }
  MIST_TRY(const std::vector<Refusal> refusals, ask(client, asked, context));
  for (const Refusal& refusal : refusals) {
    const Error& failure = refusal.failure;
    const bool no_right = kube::is_without_right(failure);
    if (no_right && read_only) continue;
    tell(refusal);
    const bool may_change =
        !no_right && (is_refused_by_own(refusal, removals, live) ||
                      (!is_unanswered(failure) && may_judge_otherwise(client, removals, failure, context)));
    if (!may_change) refuse(refusal, hint_of(failure));
  }
  return context.check();
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
  failure.hint = first->refusal.hint;
  return failure;
}

}  // namespace mist::apply
