#include "apply/plan/settle.h"

#include <algorithm>
#include <array>

#include "apply/fields/empty_first.h"
#include "apply/fields/server_made.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/admission_judges.h"
#include "apply/plan/dry_run_limits.h"
#include "apply/plan/refusal.h"
#include "apply/reserved_metadata.h"
#include "base/cut_text.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "base/some_of.h"
#include "kube/api_failure.h"
#include "kube/lost_version.h"

namespace mist::apply {
namespace {

bool is_own_removal(const FieldDifference& difference) {
  const bool by_position = std::ranges::any_of(
      difference.steps, [](const PathStep& step) { return step.kind == PathStep::Kind::Index; });
  return difference.removal() && !difference.in_whole && !difference.stays_with_others() &&
         !difference.empties && !by_position;
}

bool may_be_filled_again(const FieldDifference& difference) {
  return difference.empties && (difference.made || difference.removal());
}

const Value* value_at(const Value& object, const std::vector<PathStep>& steps) {
  const Value* at = &object;
  for (const PathStep& step : steps) {
    if (at == nullptr) return nullptr;
    if (step.kind == PathStep::Kind::Field) {
      at = at->find(step.name);
    } else {
      return at;  // whole lists are compared: positions may differ
    }
  }
  return at;
}

bool same_value(const Value* before, const Value* now) {
  return before == nullptr || now == nullptr ? before == now : *before == *now;
}

// A dry run answers with the version that it began with.
bool is_same_version(const Value& live, const Value& answer) {
  return live.string_at({"metadata", "resourceVersion"}) == answer.string_at({"metadata", "resourceVersion"});
}

// Drops differences that turned out to be none.
void keep_real(std::vector<FieldDifference>& differences, const Value& live, const Value& after) {
  std::erase_if(differences, [&](const FieldDifference& difference) {
    if (!difference.uncertain) return false;
    return same_value(value_at(live, difference.steps), value_at(after, difference.steps));
  });
}

// A field that is ours and no longer wanted may have a default: then it isn't removed, it becomes that.
void show_defaults(std::vector<FieldDifference>& differences, const Value& after) {
  for (FieldDifference& difference : differences) {
    if (!is_own_removal(difference)) continue;
    const Value* const now = place_at(after, difference.steps);
    if (now != nullptr && *now != difference.before) difference.after = *now;
  }
}

class Settler {
 public:
  Settler(kube::Client& client, Plan& plan, const LiveState& live, const PlanRules& rules,
          const Context& context)
      : client_(client),
        plan_(plan),
        live_(live),
        rules_(rules),
        context_(context),
        redefined_(redefined_kinds(plan)) {}

  Status settle(PlannedAction& action) const {
    if (action.kind == ActionKind::Create) return ask_about_creating(action);
    const DesiredObject& desired = plan_.desired[action.desired];
    const auto there = live_.find(action.key);
    if (there == live_.end()) return {};
    Value object = with_version(desired.rendered, plan_.revision);
    object["metadata"].set("uid", action.uid);
    kube::ApplyOptions options;
    options.field_manager = plan_.owner.manager;
    // Fields that are taken over first don't conflict then; the plan knows those that do (fields_of_others).
    options.force = rules_.allowed.force_conflicts || action.transfer.has_value();
    options.dry_run = kube::DryRun::Server;
    options.insist = limits_.insists();
    const kube::ObjectRef ref{action.resource, action.key.ns, action.key.name};
    const bool empties = empties_something(action, ref, there->second.value);
    auto answer = client_.apply(ref, object, options, context_);
    if (!answer.ok() && is_about_our_label(answer.error())) {
      options.force = true;
      answer = client_.apply(ref, object, options, context_);
    }
    if (answer.ok() && action.transfer) {
      settle_transfer(action, ref, desired.rendered.object.value(), there->second.value, *answer);
      return context_.check();
    }
    if (answer.ok()) {
      LiveObject base = there->second;
      // A controller's change since we looked would seem to be one of our apply.
      constexpr int kRounds = 4;
      for (int i = 0; i < kRounds && base.whole && !is_same_version(base.value, *answer); ++i) {
        auto now = client_.get(ref, context_);
        if (!now.ok()) break;
        base.value = std::move(*now);
        if (is_same_version(base.value, *answer)) break;
        auto again = client_.apply(ref, object, options, context_);
        if (!again.ok()) break;
        *answer = std::move(*again);
      }
      MIST_TRY_VOID(context_.check());
      if (empties)
        emptied(action);
      else
        accepted(action, desired, base, *answer);
      return {};
    }
    MIST_TRY_VOID(limits_.note(answer.error()));
    // The apply gets over it, which a dry run can't.
    if (kube::is_lost_version(answer.error()) || kube::is_narrow_version(answer.error()) ||
        kube::is_without_dry_run(answer.error()))
      return {};
    // It is about the object as it would be if nothing had emptied it first.
    if (empties && answer.error().kind == ErrorKind::Invalid) return {};
    if (kube::is_denied(answer.error()) && answer.error().kind != ErrorKind::Invalid) {
      denied(action, answer.error());
      return {};
    }
    if (stays_unanswered(plan_, answer.error())) {
      unanswered(action, answer.error());
      return {};
    }
    // The server doesn't take back what it made itself: a Job's selector, say.
    const bool may_be_equal = action.kind == ActionKind::Update || action.kind == ActionKind::Replace ||
                              action.refusal.cause == ConflictCause::Immutable;
    if (may_be_equal && !action.transfer && !action.differences.empty() &&
        std::ranges::all_of(action.differences, &FieldDifference::made)) {
      unchanged(action, "equal to what the server made of it when it was applied");
      return {};
    }
    refused(action, desired, there->second.value, answer.error());
    if (action.kind == ActionKind::Replace) ask_about_replacing(action, ref, std::move(object));
    return context_.check();
  }

 private:
  void unanswered(PlannedAction& action, const Error& failure) const {
    conflict(action, ConflictCause::Denied, "it can't be written now", failure);
  }

  // An action that is in conflict anyway keeps its reason.
  static void conflict(PlannedAction& action, ConflictCause cause, std::string_view words,
                       const Error& failure) {
    if (action.kind == ActionKind::Conflict || action.kind == ActionKind::Unchanged) return;
    action.refusal.meant = action.kind;
    action.kind = ActionKind::Conflict;
    action.refusal.cause = cause;
    action.reason = fmt::format("{} ({})", words, first_line(failure.because));
    action.refusal.hint = failure.hint;
    action.refusal.denied_by = kube::denied_by(failure);
    if (action.refusal.hint.empty() && !action.refusal.denied_by.empty())
      action.refusal.hint = "correct it in the package or in the values, or have admission let it pass";
    action.refusal.arguable = kube::is_denied(failure);
  }

  // As execute.cc creates. Its namespace may not be there yet, and what is there by now was made meanwhile:
  // both are found out when its turn comes.
  Status ask_about_creating(PlannedAction& action) const {
    const DesiredObject& desired = plan_.desired[action.desired];
    Value object = with_version(desired.rendered, plan_.revision);
    object["metadata"].set("resourceVersion", "1");
    if (!action.resource.namespaced) object["metadata"].erase("namespace");
    kube::ApplyOptions options;
    options.field_manager = plan_.owner.manager;
    options.dry_run = kube::DryRun::Server;
    options.insist = limits_.insists();
    const auto created =
        client_.apply({action.resource, action.key.ns, action.key.name}, object, options, context_);
    MIST_TRY_VOID(context_.check());
    if (created.ok()) return {};
    const Error& failure = created.error();
    MIST_TRY_VOID(limits_.note(failure));
    if (kube::is_without_dry_run(failure)) return {};
    if (kube::is_over_quota(failure) && may_make_room()) return {};
    if (!kube::denied_by(failure).empty() || (action.ask && kube::is_denied(failure)))
      denied(action, failure);
    else if (action.ask && stays_unanswered(plan_, failure))
      unanswered(action, failure);
    else if (action.ask && failure.kind == ErrorKind::Invalid && !redefined_.contains(action.key.group_kind))
      invalid(action, ActionKind::Create, failure);
    return {};
  }

  bool may_make_room() const {
    return !plan_.removals.empty() || std::ranges::any_of(plan_.writes, [](const PlannedAction& action) {
      return action.kind != ActionKind::Create && is_written(action);
    });
  }

  // Once the old object is gone it is too late to find out that there can't be a new one. As long as it is
  // there, the answer is a 409; the quota still counts it, and what it has no other may have: of refusals
  // only the admission's word is taken.
  void ask_about_replacing(PlannedAction& action, const kube::ObjectRef& ref, Value object) const {
    for (const std::string_view mark : {"uid", "resourceVersion"}) object["metadata"].erase(mark);
    const auto created = client_.create(ref.resource, ref.ns, object, context_, kube::DryRun::Server);
    if (!created.ok() && forbids_creating(created.error())) return denied(action, created.error());
    const auto removed = client_.remove(ref, {.uid = action.uid, .dry_run = kube::DryRun::Server}, context_);
    if (!removed.ok() && kube::is_denied(removed.error())) denied(action, removed.error());
  }

  // No dry run does both, taking fields over and applying. So the server is asked what it makes of the object
  // as it would be: of what was removed it fills in the defaults again.
  void settle_transfer(PlannedAction& action, const kube::ObjectRef& ref, const Value& desired,
                       const Value& live, const Value& applied) const {
    std::vector<FieldDifference> removed, written;
    for (FieldDifference& each : action.differences) (each.removal() ? removed : written).push_back(each);
    keep_real(written, live, applied);
    const auto transfer = field_transfer(desired, live, fields_of(*action.transfer), plan_.owner.manager);
    if (!removed.empty() && transfer) {
      // Its managers are no part of the question.
      Value before = with_transfer(live, *transfer);
      before["metadata"].erase("managedFields");
      Value patch = merge_patch_between(before, with_differences(before, action.differences));
      patch["metadata"].set("uid", action.uid);
      const auto after = client_.merge_patch(ref, patch, context_, kube::DryRun::Server);
      if (after.ok()) keep_removed(removed, live, *after);
    }
    action.differences = std::move(written);
    action.differences.insert(action.differences.end(), removed.begin(), removed.end());
    action.kind = action.adopting ? ActionKind::Adopt : ActionKind::Update;
    action.refusal.cause = ConflictCause::None;
    action.refusal.hint.clear();
    if (const std::string others = fields_of_others(action.differences);
        !others.empty() && !rules_.allowed.force_conflicts) {
      action.kind = ActionKind::Conflict;
      action.refusal.cause = ConflictCause::Fields;
      action.reason = fmt::format("it has fields that other managers own: {}", others);
      action.refusal.field = first_field_of_others(action.differences);
      action.refusal.hint = std::string(kForceHint);
      return;
    }
    action.reason = transfer_words(action);
    constexpr std::size_t kShown = 3;
    std::vector<std::string> going;
    for (const FieldDifference& each : removed) going.push_back(each.path);
    if (!going.empty())
      action.reason +=
          fmt::format("; what the package does not have goes: {}", some_of(std::move(going), kShown));
  }

  // Whether a list or a map becomes empty, which applying, and so its dry run, can't do. The server may fill
  // in again a field that has a default, or that it filled in before: a dry run that removes all that goes
  // shows it.
  bool empties_something(PlannedAction& action, const kube::ObjectRef& ref, const Value& live) const {
    if (std::ranges::any_of(action.differences, may_be_filled_again)) {
      std::vector<FieldDifference> going;
      std::ranges::copy_if(action.differences, std::back_inserter(going), goes_for_now);
      const auto after =
          client_.merge_patch(ref, emptying_patch(live, going), context_, kube::DryRun::Server);
      if (after.ok()) see_filled_again(action.differences, live, *after);
    }
    return std::ranges::any_of(action.differences, &FieldDifference::empties);
  }

  static bool goes_for_now(const FieldDifference& difference) {
    return difference.empties || is_own_removal(difference);
  }

  static void see_filled_again(std::vector<FieldDifference>& differences, const Value& live,
                               const Value& after) {
    std::erase_if(differences, [&](const FieldDifference& each) {
      return (may_be_filled_again(each) || is_own_removal(each)) &&
             same_value(value_at(live, each.steps), value_at(after, each.steps));
    });
    for (FieldDifference& each : differences) {
      if (!each.removal() || !goes_for_now(each)) continue;
      if (const Value* const now = place_at(after, each.steps)) each.after = *now;
    }
  }

  // No dry run of the other fields: the object is written anyway.
  static void emptied(PlannedAction& action) {
    if (action.refusal.cause == ConflictCause::Fields) return;
    action.kind = action.adopting ? ActionKind::Adopt : ActionKind::Update;
    if (action.refusal.cause != ConflictCause::None) action.reason = difference_words(action.differences);
    action.refusal.cause = ConflictCause::None;
    action.refusal.hint.clear();
  }

  void accepted(PlannedAction& action, const DesiredObject& desired, const LiveObject& live,
                const Value& after) const {
    const bool applies_status = desired.rendered.object.value().find("status") != nullptr;
    // Admission may take our labels away: then the object is not ours, however equal, and the write says so.
    const bool marked = live_owner_of(after) == live_owner_of(desired.rendered.object.value());
    if (!action.adopting && live.whole && marked &&
        same_object(live.value, after, kVersionLabel,
                    applies_status ? StatusOf::Applied : StatusOf::Controllers)) {
      unchanged(action, "equal");
      action.recorded.server_made = server_made(differences_of(desired, after, plan_.owner.manager));
    } else {
      action.kind = action.adopting ? ActionKind::Adopt : ActionKind::Update;
      if (live.whole) keep_real(action.differences, live.value, after);
      show_defaults(action.differences, after);
      if (action.refusal.cause != ConflictCause::None) action.reason = difference_words(action.differences);
    }
    action.refusal.cause = ConflictCause::None;
    action.refusal.hint.clear();
  }

  static void unchanged(PlannedAction& action, std::string_view reason) {
    action.kind = ActionKind::Unchanged;
    action.recorded.revision = action.recorded.previous_revision;
    action.differences.clear();
    action.reason = reason;
  }

  void refused(PlannedAction& action, const DesiredObject& desired, const Value& live,
               const Error& failure) const {
    if (failure.kind == ErrorKind::Conflict) {
      // A Replace creates a fresh object, which nobody else owns fields of.
      if (action.kind == ActionKind::Replace) return;
      if (!kube::is_field_conflict(failure)) return;
      action.kind = ActionKind::Conflict;
      action.refusal.cause = ConflictCause::Fields;
      action.reason = fmt::format("it has fields that other managers own: {}", conflicts(failure.because));
      action.refusal.field = kube::refused_field(failure);
      action.refusal.hint = std::string(kForceHint);
      return;
    }
    if (failure.kind != ErrorKind::Invalid) return;
    // An object that the server would refuse again must not be deleted to be recreated.
    const bool replaceable = !kube::is_invalid_anyway(failure);
    if (replaceable &&
        (action.refusal.cause == ConflictCause::Immutable || action.kind == ActionKind::Replace)) {
      action.reason += fmt::format(" ({})", first_line(failure.because));
      return;
    }
    action.refusal.field = kube::refused_field(failure);
    if (replaceable && kube::is_immutable(failure)) {
      plan_replacement(action, desired, live, rules_,
                       fmt::format("it can't be changed in place ({})", first_line(failure.because)));
      return;
    }
    if (redefined_.contains(action.key.group_kind)) return;
    invalid(action, action.adopting ? ActionKind::Adopt : ActionKind::Update, failure);
  }

  static void invalid(PlannedAction& action, ActionKind meant, const Error& failure) {
    action.refusal.meant = meant;
    action.kind = ActionKind::Conflict;
    action.refusal.cause = ConflictCause::Refused;
    action.reason = fmt::format("it is refused by the server ({})", first_line(failure.because));
    action.refusal.field = kube::refused_field(failure);
    action.refusal.hint = "correct it in the package or in the values";
    action.refusal.denied_by = kube::denied_by(failure);
    action.refusal.arguable = !kube::names_invalid_fields(failure);
  }

  // Of a write that would only be found out about in the middle of all the others.
  void denied(PlannedAction& action, const Error& failure) const {
    const bool no_right = kube::is_without_right(failure);
    if (rules_.read_only && no_right) return;
    conflict(action, no_right ? ConflictCause::NoRight : ConflictCause::Denied,
             "it is forbidden by the server", failure);
  }

  // "Apply failed with 2 conflicts: conflicts with "kubectl" using v1:\n- .data.a\n- .data.b", in one line
  // and from the second colon on.
  static std::string conflicts(std::string_view text) {
    const auto colon = text.find(": ");
    if (text.starts_with("Apply failed") && colon != std::string_view::npos) text = text.substr(colon + 2);
    std::string line(text);
    for (std::size_t at = 0; (at = line.find("\n- ", at)) != std::string::npos;) line.replace(at, 3, " ");
    std::ranges::replace(line, '\n', ' ');
    return first_line(line);
  }

  // Or all of them, if the first one only introduces a list: "failed to create typed patch object (…):
  // errors:".
  static std::string first_line(std::string_view whole) {
    constexpr std::size_t kMost = 2000;  // a list of faults
    std::string text(whole.substr(0, whole.find('\n')));
    if (text.ends_with(':')) text = fmt::format("{} {}", text, one_line(whole.substr(text.size())));
    return cut_text(text, kMost);
  }

  kube::Client& client_;
  Plan& plan_;
  const LiveState& live_;
  const PlanRules& rules_;
  const Context& context_;
  const std::set<GroupKind> redefined_;
  mutable DryRunLimits limits_{context_};
};

}  // namespace

std::set<GroupKind> redefined_kinds(const Plan& plan) {
  std::set<GroupKind> kinds;
  for (const PlannedAction& action : plan.writes) {
    if (action.key.group_kind != apimachinery::kCustomResourceDefinition ||
        action.kind == ActionKind::Unchanged)
      continue;
    kinds.insert(apimachinery::defined_kind(plan.desired[action.desired].rendered.object.value()));
  }
  return kinds;
}

bool is_about_our_label(const Error& refused) {
  return kube::is_conflict_only_of(refused, fmt::format(".metadata.labels.{}", kVersionLabel));
}

bool needs_the_server(const PlannedAction& action) {
  switch (action.kind) {
    case ActionKind::Conflict:
      return action.refusal.cause == ConflictCause::Immutable ||
             action.refusal.cause == ConflictCause::Fields;
    case ActionKind::Replace:
    case ActionKind::Adopt:
      return true;
    case ActionKind::Update:
      return action.ask || action.transfer.has_value() ||
             std::ranges::any_of(action.differences, is_own_removal) ||
             std::ranges::any_of(action.differences, may_be_filled_again) ||
             (!action.differences.empty() &&
              std::ranges::all_of(action.differences, [](const FieldDifference& d) { return d.uncertain; }));
    case ActionKind::Create:
    case ActionKind::Unchanged:
    case ActionKind::Delete:
    case ActionKind::Retain:
      return false;
  }
  return false;
}

namespace {

bool is_askable_create(const Plan& plan, const PlannedAction& action) {
  return action.kind == ActionKind::Create && !action.late && !action.live.unreadable &&
         !plan.is_hook(action);
}

}  // namespace

void ask_about_all_changes(Plan& plan) {
  for (PlannedAction& action : plan.writes)
    if ((action.kind == ActionKind::Update && !action.live.unreadable && !plan.is_hook(action)) ||
        is_askable_create(plan, action))
      action.ask = true;
}

namespace {

// Data whose schema and name say all that the server validates.
bool is_plain_data(const Plan& plan, const PlannedAction& action) {
  const GroupKind& kind = action.key.group_kind;
  if (!kind.group.empty()) return false;
  if (kind.kind == "ConfigMap" || kind.kind == "ServiceAccount") return true;
  const Value& object = plan.desired[action.desired].rendered.object.value();
  const std::string_view type = object.string_at("type");
  return kind.kind == "Secret" && (type.empty() || type == "Opaque");
}

// Hundreds of ConfigMaps: of what nobody judges, one of each kind and namespace tells of rights.
void ask_about_few_data(kube::Client& client, Plan& plan, const Context& context) {
  constexpr std::size_t kFew = 8;
  std::set<std::pair<GroupKind, std::string>> known;
  std::vector<PlannedAction*> alike;
  for (PlannedAction& action : plan.writes)
    if (action.kind == ActionKind::Create && action.ask && is_plain_data(plan, action) &&
        !known.insert({action.key.group_kind, action.key.ns}).second)
      alike.push_back(&action);
  if (alike.size() <= kFew) return;
  const AdmissionJudges judges = AdmissionJudges::read(client, "CREATE", context);
  for (PlannedAction* const action : alike)
    if (!judges.judge(action->key.group_kind)) action->ask = false;
}

}  // namespace

Status settle(kube::Client& client, Plan& plan, const LiveState& live, const PlanRules& rules,
              const Context& context) {
  ask_about_few_data(client, plan, context);
  const bool gates_change = changes_admission(plan);
  std::vector<PlannedAction*> open;
  for (PlannedAction& action : plan.writes) {
    // A hook is replaced because it runs again, whatever differs.
    if (plan.is_hook(action) && action.kind == ActionKind::Replace) continue;
    const bool asks_creates = (gates_change || action.ask) && is_askable_create(plan, action);
    if (asks_creates || needs_the_server(action)) open.push_back(&action);
  }
  const Settler settler(client, plan, live, rules, context);
  MIST_TRY_VOID(parallel_for(open.size(), 16, [&](std::size_t i) {
                  return settler.settle(*open[i]);
                }).in("while the server was asked what it would change"));
  MIST_TRY_VOID(put_gates_first(client, plan, live, context));
  defer_to_order(plan);
  follow_replaced_crds(plan);
  return {};
}

}  // namespace mist::apply
