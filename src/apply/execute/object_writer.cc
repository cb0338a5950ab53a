#include "apply/execute/object_writer.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "apimachinery/built_in_groups.h"
#include "apply/execute/conversion.h"
#include "apply/execute/retry_window.h"
#include "apply/fields/empty_first.h"
#include "apply/fields/field_place.h"
#include "apply/fields/forgotten_owners.h"
#include "apply/fields/server_made.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/refusal.h"
#include "apply/plan/replacement.h"
#include "apply/plan/settle.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/earlier_failure.h"
#include "apply/wait/readiness.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "kube/api_down.h"
#include "kube/api_failure.h"
#include "kube/deletion.h"
#include "kube/lost_version.h"

namespace mist::apply {

namespace {

// The namespaces whose ResourceQuotas this plan writes.
std::set<std::string> changed_quotas(const Plan& plan) {
  std::set<std::string> namespaces;
  for (const PlannedAction& write : plan.writes)
    if (write.key.group_kind == GroupKind{"", "ResourceQuota"} && write.kind != ActionKind::Unchanged)
      namespaces.insert(write.key.ns);
  return namespaces;
}

}  // namespace

class ObjectWriter::Sending {
 public:
  Sending(kube::Client& client, const Plan& plan, const ExecuteOptions& options, EventSink& events,
          const Context& context, ChangesRefusal changes_refusal)
      : client_(client),
        plan_(plan),
        options_(options),
        events_(events),
        context_(context),
        changes_refusal_(std::move(changes_refusal)),
        part_of_(apply_set_id(plan.owner)),
        redefined_(redefined_kinds(plan)),
        eased_(names_of_first(plan)),
        quotas_(changed_quotas(plan)) {}

  Status send(const PlannedAction& action, const Replaced& old, Written& written) {
    const DesiredObject& desired = plan_.desired[action.desired];
    Value object = with_version(desired.rendered, action.recorded.revision);
    const bool create = action.kind == ActionKind::Create || action.kind == ActionKind::Replace;
    // resourceVersion "1" can't be any object's: the server creates, or answers 409 and writes nothing.
    // An update names the version of the look: should it arrive after the lock was lost, what its next holder
    // wrote is newer.
    if (!create) object["metadata"].set("uid", action.uid);
    set_version(object, create ? "1" : action.live.resource_version);
    RetryWindow retry(context_);
    MIST_TRY(kube::ObjectRef ref, reference(action, retry));
    if (action.late && ref.resource.namespaced) object["metadata"].set("namespace", ref.ns);
    if (!ref.resource.namespaced) object["metadata"].erase("namespace");
    if (action.kind == ActionKind::Replace && !old.uid.empty())
      MIST_TRY_VOID(delete_old(ref, action, old, object));
    kube::ApplyOptions apply;
    apply.field_manager = plan_.owner.manager;
    apply.force = options_.force_conflicts;
    if (action.transfer && !create) {
      MIST_TRY(const std::string version, take_fields(ref, action, object));
      set_version(object, version);
    }
    const bool empties = !create && std::ranges::any_of(action.differences, &FieldDifference::empties);
    if (empties) {
      MIST_TRY(const std::string version, empty_first(ref, action, desired, action.uid));
      set_version(object, version);
    }
    auto applied = action.live.unreadable ? apply_when_converted(ref, action, object, apply)
                                          : apply_over_lost_version(ref, action, object, apply, retry);
    // Read from the server's cache, or not there before: only now its webhook is asked.
    if (!action.live.unreadable && !applied.ok() && needs_conversion(ref, applied.error()))
      applied = apply_when_converted(ref, action, object, apply);
    while (!applied.ok()) {
      const bool outdated = !create && is_outdated(applied.error());
      if (!outdated && !may_pass(action, applied.error())) break;
      if (!retry.pause()) break;
      if (outdated) {
        MIST_TRY(const bool renewed, renew_version(ref, action, object));
        if (!renewed) break;
      }
      if (action.late) ref = served_reference(action, ref);
      applied = client_.apply(ref, object, apply, context_);
    }
    if (action.late) written.place = ref;
    if (!applied.ok() && create && applied.error().kind == ErrorKind::Conflict) {
      auto there = client_.get(ref, context_);
      // Ours by its mark: our own first try, whose answer was lost, or that of an earlier attempt.
      const bool ours = there.ok() && there->string_at({"metadata", "labels", kPartOfLabel}) ==
                                          desired.rendered.object.label(kPartOfLabel);
      if (ours) {
        MIST_TRY_VOID(is_not_terminating(action, *there));
        MIST_TRY_VOID(is_no_other(action, std::string(there->string_at({"metadata", "uid"}))));
        object["metadata"].set("uid", there->string_at({"metadata", "uid"}));
        set_version(object, there->string_at({"metadata", "resourceVersion"}));
        applied = apply_until_current(ref, action, object, apply, retry);
      } else if (there.ok()) {
        return error(ErrorKind::Conflict, "{} appeared while the plan was carried out", action.key.display())
            .with_hint("run the command again to see what it belongs to")
            .with_detail(others_in(live_owner_of(*there)));
      }
    }
    if (!applied.ok() && is_about_our_label(applied.error()))
      applied = take_label_back(ref, action, object, apply);
    if (!applied.ok()) return explain(std::move(applied).error());
    written.uid = applied->string_at({"metadata", "uid"});
    written.version = applied->string_at({"metadata", "resourceVersion"});
    written.earlier_failure = passing_failure(*applied);
    std::vector<FieldDifference> left = differences_of(desired, *applied, plan_.owner.manager);
    // Of what could not be read before, or was filled meanwhile.
    if (!empties && std::erase_if(left, &FieldDifference::empties) > 0) {
      MIST_TRY(const std::string version, empty_first(ref, action, desired, written.uid));
      if (!version.empty()) written.version = version;
    }
    if (takes_wanted(action, desired, left)) {
      set_version(object, written.version);
      MIST_TRY(*applied, apply_until_current(ref, action, object, apply, retry));
      written.version = applied->string_at({"metadata", "resourceVersion"});
      left = differences_of(desired, *applied, plan_.owner.manager);
    }
    written.server_made = server_made(left);
    MIST_TRY_VOID(is_not_terminating(action, *applied));
    MIST_TRY_VOID(is_where_meant(action, ref, *applied, written));
    MIST_TRY_VOID(has_reserved_metadata(desired, *applied));
    return is_no_other(action, written.uid, true);
  }

  // An object that lost our label is written again, and not deleted.
  Status may_be_deleted(const PlannedAction& action, const Value& there) const {
    MIST_TRY_VOID(is_still_whose_it_was(action, there));
    if (action.adopting || !live_owner_of(there).part_of.empty()) return {};
    return error(ErrorKind::Conflict, "{} is not deleted", action.key.display())
        .with_because(std::string(kUnmarked))
        .with_hint("run the command again to see what can be done");
  }

 private:
  // Of a kind that a CRD in this release brings: as that says, unless the server says more by now.
  // Of one that an API service brings: as the server says.
  Result<kube::ObjectRef> reference(const PlannedAction& action, RetryWindow& retry) {
    kube::ResourceInfo resource = action.resource;
    while (resource.resource.empty()) {
      auto served = client_.resource_for(action.key.group_kind, resource.gvk.version, context_);
      if (served.ok()) {
        resource = *std::move(served);
      } else if (served.error().kind != ErrorKind::NotFound && !kube::is_api_down(served.error())) {
        return std::move(served).error();
      } else if (!retry.pause()) {
        MIST_TRY_VOID(context_.check());
        return kube::is_api_down(served.error()) ? std::move(served).error()
                                                 : not_served(action, served.error());
      }
    }
    if (!action.late && resource.namespaced == action.key.ns.empty())
      return error(ErrorKind::Conflict, "{} can't be written where it was looked for: its kind {}",
                   action.key.display(), resource.namespaced ? "has namespaces" : "has no namespaces")
          .with_detail(OtherScope())
          .with_hint("run the command again");
    if (!resource.namespaced && !action.key.ns.empty())
      events_.warn(fmt::format("{} is applied without metadata.namespace (its kind has no namespace)",
                               action.key.display()));
    return place_of(plan_, action, std::move(resource));
  }

  static Error not_served(const PlannedAction& action, const Error& failure) {
    const kube::GroupVersionKind& gvk = action.resource.gvk;
    return error(ErrorKind::NotFound, "the API service {}.{} is available, but it serves no kind {}",
                 gvk.version, gvk.group, gvk.kind)
        .with_because(failure.to_line())
        .with_hint(
            fmt::format("check apiVersion and kind, and that the server behind it is of the version that "
                        "has {}",
                        gvk.kind));
  }

  kube::ObjectRef served_reference(const PlannedAction& action, const kube::ObjectRef& before) {
    client_.invalidate_discovery();
    auto served = client_.resource_for(action.key.group_kind, action.resource.gvk.version, context_);
    return served.ok() ? place_of(plan_, action, *std::move(served)) : before;
  }

  // A new kind may have no handler yet, and a changed one may still have that of its CRD as it was,
  // which was established all the time. A webhook or a policy that this run has just made refuse less, or
  // deleted, may still be asked.
  bool is_too_early(const PlannedAction& action, const Error& failure) const {
    if (is_refused_by(failure, eased_)) return true;
    // Admission asks for the quota's status, which its controller writes a moment after the spec.
    if (failure.kind == ErrorKind::Forbidden && !kube::is_without_right(failure) &&
        quotas_.contains(action.key.ns))
      return true;
    if (action.late) return failure.kind == ErrorKind::NotFound;
    return failure.kind == ErrorKind::Invalid && redefined_.contains(action.key.group_kind);
  }

  // Whether it may pass when it is sent again.
  bool may_pass(const PlannedAction& action, const Error& failure) {
    return is_too_early(action, failure) || changes_refusal_(action, failure);
  }

  // With the last field of a custom resource's map that we own, an apply takes the map, and what is wanted in
  // it that has no owner. Then the next apply puts that there.
  static bool takes_wanted(const PlannedAction& action, const DesiredObject& desired,
                           const std::vector<FieldDifference>& left) {
    return !apimachinery::is_built_in_group(desired.key.group_kind.group) &&
           std::ranges::any_of(action.differences,
                               [](const FieldDifference& each) { return each.removal() || each.empties; }) &&
           std::ranges::any_of(
               left, [](const FieldDifference& each) { return each.before.is_null() && !each.removal(); });
  }

  // Without its ownership labels nobody would find the object again: no wait, no upgrade, no uninstall.
  static Status has_reserved_metadata(const DesiredObject& desired, const Value& written) {
    const LiveOwner ours = live_owner_of(desired.rendered.object.value()), now = live_owner_of(written);
    // An answer without a name tells nothing of the object.
    if (written.string_at({"metadata", "name"}).empty() || now == ours) return {};
    const std::string mark = now.part_of == ours.part_of ? fmt::format("annotation {}", kReleaseAnnotation)
                                                         : fmt::format("label {}", kPartOfLabel);
    return error(ErrorKind::Invalid, "{} was stored without the {}, by which it is the release's",
                 desired.key.display(), mark)
        .with_because("the cluster's admission (a policy or a webhook) removed or changed it")
        .with_hint(fmt::format("have admission leave the {} as it is, then run the command again", mark));
  }

  // The record is to name what the server wrote, not what was asked for.
  static Status is_where_meant(const PlannedAction& action, const kube::ObjectRef& ref, const Value& now,
                               Written& written) {
    const std::string ns(now.string_at({"metadata", "namespace"}));
    if (now.string_at({"metadata", "name"}).empty() || ns == ref.ns) return {};
    written.place = kube::ObjectRef{ref.resource, ns, ref.name};
    return error(ErrorKind::Conflict, "{} was written {}", action.key.display(),
                 ns.empty() ? "without a namespace" : fmt::format("into the namespace {}", ns))
        .with_detail(OtherScope())
        .with_hint("run the command again");
  }

  // An object that this run wrote under another API group must not be written over.
  Status is_no_other(const PlannedAction& action, const std::string& uid, bool written = false) {
    const std::scoped_lock lock(mutex_);
    const auto known = written_.find(uid);
    if (known != written_.end() && known->second->key != action.key)
      return same_object_error(plan_, *known->second, action);
    if (written) written_.insert_or_assign(uid, &action);
    return {};
  }

  // An object that the plan could not read is looked at as soon as it can be.
  Result<Value> look_and_apply(const kube::ObjectRef& ref, const PlannedAction& action, Value& object,
                               const kube::ApplyOptions& apply, const Context& context) {
    if (!action.uid.empty() && object.string_at({"metadata", "resourceVersion"}).empty()) {
      auto there = client_.get(ref, context);
      const bool may_pass_yet = !there.ok() && (there.error().kind == ErrorKind::Retryable ||
                                                there.error().kind == ErrorKind::Timeout);
      if (may_pass_yet) return std::move(there).error();
      if (there.ok()) {
        MIST_TRY_VOID(may_be_written(action, *there));
        set_version(object, there->string_at({"metadata", "resourceVersion"}));
      }
    }
    return client_.apply(ref, object, apply, context);
  }

  // Until the conversion webhook of its kind answers, the server can't write the object either. The objects
  // that repair the webhook were just written, and take their time.
  Result<Value> apply_when_converted(const kube::ObjectRef& ref, const PlannedAction& action, Value& object,
                                     const kube::ApplyOptions& apply) {
    const Context limited = context_.with_timeout(options_.edge_timeout);
    std::string last;
    for (;;) {
      auto applied = look_and_apply(ref, action, object, apply, limited);
      if (applied.ok() || !context_.check().ok()) return applied;
      const Error& failure = applied.error();
      if (failure.kind != ErrorKind::Retryable && failure.kind != ErrorKind::Timeout) return applied;
      if (failure.kind == ErrorKind::Retryable) last = failure.because;
      if (limited.pause(kPauseToConvert).ok()) continue;
      Error late = error(ErrorKind::Timeout, "{} could not be written within {} s", action.key.display(),
                         std::chrono::duration_cast<std::chrono::seconds>(options_.edge_timeout).count())
                       .with_because(last);
      if (const auto webhook = conversion_webhook(client_, ref.resource, context_))
        return std::move(late)
            .with_frame(conversion_words(*webhook, failure))
            .with_hint(conversion_hint(client_, *webhook));
      return late;
    }
  }

  bool needs_conversion(const kube::ObjectRef& ref, const Error& failure) const {
    return failure.kind == ErrorKind::Retryable && context_.check().ok() &&
           conversion_webhook(client_, ref.resource, context_).has_value();
  }

  // A 409 that is about neither fields nor the uid, and no webhook's: the object changed since it was looked
  // at.
  static bool is_outdated(const Error& failure) {
    return failure.kind == ErrorKind::Conflict && !kube::is_field_conflict(failure) &&
           !kube::is_other_object(failure) && kube::denied_by(failure).empty();
  }

  // The last writer would get the object, whatever the other release was told: every release writes as the
  // field manager `mistctl`. So each object is written at a version at which its owner is still the planned
  // one. The object changes all the time for other reasons: its status, for one.
  Status is_still_whose_it_was(const PlannedAction& action, const Value& there) const {
    const LiveOwner now = live_owner_of(there);
    // Ours: our own first try, whose answer was lost.
    if (now == action.live.owner || now.part_of == part_of_) return {};
    // It was ours, and merely lost its label.
    if (action.live.version.empty() && now.part_of.empty()) return {};
    const std::string words =
        now.release.empty()
            ? now.part_of.empty() ? std::string("nobody") : fmt::format("ApplySet {}", now.part_of)
            : fmt::format("release {}", now.release);
    return error(ErrorKind::Conflict, "{} now belongs to {}", action.key.display(), words)
        .with_hint("run the command again to see what can be done")
        .with_detail(others_in(now));
  }

  static OtherOwners others_in(const LiveOwner& owner) {
    if (owner.release.empty()) return {};
    return {.releases = {owner.release}};
  }

  // The server still takes writes to such an object, which go with it. The planner refuses it too.
  static Status is_not_terminating(const PlannedAction& action, const Value& now) {
    if (!apimachinery::is_terminating(now)) return {};
    return error(ErrorKind::Conflict, "{} began to be deleted while the plan was carried out",
                 action.key.display())
        .with_because(why_terminating(now))
        .with_hint("wait until it is gone, then run the command again");
  }

  Status may_be_written(const PlannedAction& action, const Value& there) const {
    MIST_TRY_VOID(is_still_whose_it_was(action, there));
    return is_not_terminating(action, there);
  }

  static void set_version(Value& object, std::string_view version) {
    if (!version.empty()) object["metadata"].set("resourceVersion", version);
  }

  // Asks our lock's guard, as every request does: a run that lost its lock gets no further. False: it is
  // still of the version that was sent, so something else refused it.
  Result<bool> renew_version(const kube::ObjectRef& ref, const PlannedAction& action, Value& object) {
    MIST_TRY(const Value there, client_.get(ref, context_));
    MIST_TRY_VOID(may_be_written(action, there));
    const std::string sent(object.string_at({"metadata", "resourceVersion"}));
    set_version(object, there.string_at({"metadata", "resourceVersion"}));
    return sent != object.string_at({"metadata", "resourceVersion"});
  }

  Result<Value> apply_until_current(const kube::ObjectRef& ref, const PlannedAction& action, Value& object,
                                    const kube::ApplyOptions& apply, RetryWindow& retry) {
    for (;;) {
      auto applied = client_.apply(ref, object, apply, context_);
      if (applied.ok() || !is_outdated(applied.error()) || !retry.pause()) return applied;
      MIST_TRY(const bool renewed, renew_version(ref, action, object));
      if (!renewed) return applied;
    }
  }

  // The owners of an outdated version aren't renewed, and until they are the server tells of nothing else.
  Result<Value> apply_over_lost_version(const kube::ObjectRef& ref, const PlannedAction& action,
                                        Value& object, const kube::ApplyOptions& apply, RetryWindow& retry) {
    for (;;) {
      auto applied = kube::apply_over_lost_version(client_, ref, object, apply, context_);
      const bool lost = !applied.ok() &&
                        (kube::is_lost_version(applied.error()) || kube::is_narrow_version(applied.error()));
      const bool create = object.string_at({"metadata", "uid"}).empty();
      if (!lost || create || !retry.pause()) return applied;
      MIST_TRY(const bool renewed, renew_version(ref, action, object));
      if (!renewed) return applied;
    }
  }

  // Nullopt: another object is there, as the apply will say, which names the uid.
  Result<std::optional<Value>> refresh(const kube::ObjectRef& ref, const PlannedAction& action,
                                       const std::string& uid) {
    MIST_TRY(Value there, client_.get(ref, context_));
    if (there.string_at({"metadata", "uid"}) != uid) return std::optional<Value>();
    MIST_TRY_VOID(may_be_written(action, there));
    return std::optional(std::move(there));
  }

  // Takes the fields of an adopted object's earlier managers, as planned. Returns the version that has them;
  // empty: nothing is left to take, after a run that died or a lost answer. Should we die here, the journal
  // names the object, and fields that we own and don't want go with the next apply.
  Result<std::string> take_fields(const kube::ObjectRef& ref, const PlannedAction& action,
                                  const Value& object) {
    const ChosenFields chosen = fields_of(*action.transfer);
    for (RetryWindow retry(context_);;) {
      MIST_TRY(const std::optional<Value> found, refresh(ref, action, action.uid));
      if (!found) return std::string();
      const Value there = owners_are_forgotten(*found)
                              ? with_known_owners(client_, ref, *found, plan_.owner.manager, context_)
                              : *found;
      const auto transfer =
          field_transfer(object, kube::with_present_owners(client_, ref.resource, there, context_), chosen,
                         plan_.owner.manager);
      if (!transfer) return std::string();
      if (transfer->fields != action.transfer->fields)
        return error(ErrorKind::Conflict, "{} was written by {} since it was looked at", action.key.display(),
                     managers_words(*transfer))
            .with_hint("run the command again to see what changes now");
      auto patched = client_.merge_patch(ref, transfer_patch(there, *transfer), context_);
      if (patched.ok()) return std::string(patched->string_at({"metadata", "resourceVersion"}));
      const bool again = patched.error().kind == ErrorKind::Conflict || may_pass(action, patched.error());
      if (!again || !retry.pause())
        return std::move(patched).error().with_frame(
            fmt::format("while taking over the fields of {}", managers_words(*transfer)));
    }
  }

  // As the object is now; with the lists that only the record knows of (unowned_empty.h), if they are as
  // planned.
  std::vector<FieldDifference> still_to_empty(const PlannedAction& action, const DesiredObject& desired,
                                              const Value& there) const {
    std::vector<FieldDifference> emptied = emptied_among(differences_of(desired, there, plan_.owner.manager));
    for (FieldDifference planned : emptied_among(action.differences)) {
      const Value* const now = place_at(there, planned.steps);
      if (now == nullptr || *now != planned.before ||
          std::ranges::find(emptied, planned.path, &FieldDifference::path) != emptied.end())
        continue;
      planned.after = Value();
      emptied.push_back(std::move(planned));
    }
    return emptied;
  }

  // Returns the version that has it; empty: there is nothing to empty any more.
  Result<std::string> empty_first(const kube::ObjectRef& ref, const PlannedAction& action,
                                  const DesiredObject& desired, const std::string& uid) {
    for (RetryWindow retry(context_);;) {
      MIST_TRY(const std::optional<Value> found, refresh(ref, action, uid));
      if (!found) return std::string();
      const Value& there = *found;
      const auto emptied = still_to_empty(action, desired, there);
      if (emptied.empty()) return std::string();
      if (const std::string others = fields_of_others(emptied); !others.empty() && !options_.force_conflicts)
        return error(ErrorKind::Conflict, "{} has fields that other managers own: {}", action.key.display(),
                     others)
            .with_hint(std::string(kForceHint));
      auto patched = empty_fields(client_, ref, there, emptied, context_);
      if (patched.ok()) return std::string(patched->string_at({"metadata", "resourceVersion"}));
      const bool again = is_outdated(patched.error()) || may_pass(action, patched.error());
      if (!again || !retry.pause())
        return std::move(patched).error().with_frame(fmt::format("while emptying {}", emptied.front().path));
    }
  }

  // Forced at exactly the version at which nothing else is in conflict.
  Result<Value> take_label_back(const kube::ObjectRef& ref, const PlannedAction& action, Value& object,
                                kube::ApplyOptions apply) {
    MIST_TRY(const Value there, client_.get(ref, context_));
    MIST_TRY_VOID(may_be_written(action, there));
    object["metadata"].set("resourceVersion", there.string_at({"metadata", "resourceVersion"}));
    auto applied = client_.apply(ref, object, apply, context_);
    if (applied.ok() || !is_about_our_label(applied.error())) return applied;
    apply.force = true;
    return client_.apply(ref, object, apply, context_);
  }

  // The plan may have left this to the order. Now it can be decided, and nothing is lost yet.
  Status may_be_created_anew(const kube::ObjectRef& ref, const PlannedAction& action, Value object) {
    object["metadata"].erase("resourceVersion");
    for (RetryWindow retry(context_);;) {
      const auto tried = client_.create(ref.resource, ref.ns, object, context_, kube::DryRun::Server);
      if (tried.ok() || !forbids_creating(tried.error())) return {};
      if (!may_pass(action, tried.error()) || !retry.pause()) return tried.error();
    }
  }

  // The first half of a replacement. Should we die after it, the object is in the inventory and not there,
  // and the next write creates it.
  Status delete_old(const kube::ObjectRef& ref, const PlannedAction& action, const Replaced& old,
                    Value object) {
    if (options_.before_replacing) MIST_TRY_VOID(options_.before_replacing(action));
    // A hook runs again as it ran.
    if (!plan_.is_hook(action)) MIST_TRY_VOID(may_be_created_anew(ref, action, std::move(object)));
    const auto deleted =
        kube::delete_object(client_, ref,
                            {.uid = old.uid,
                             .resource_version = old.version,
                             .propagation = replacement_propagation(action),
                             .recheck = [&](const Value& now) { return may_be_deleted(action, now); }},
                            context_);
    if (deleted.ok() && *deleted == kube::Deletion::Other)
      return error(ErrorKind::Conflict, "{} was replaced by somebody else meanwhile", action.key.display())
          .with_hint("run the command again");
    // With its CRD, which is replaced too, the kind goes and all objects of it.
    const bool kind_is_gone = !deleted.ok() && action.late && kube::is_not_served(deleted.error());
    if (!deleted.ok() && !kind_is_gone) return deleted.error();
    if (deleted.ok()) events_.object({action.key.display(), "deleting", {}});
    return wait_until_gone(client_, ref, old.uid, options_.edge_timeout, context_)
        .in(fmt::format("while waiting until the old {} is gone", action.key.display()));
  }

  static Error explain(Error failure) {
    if (failure.kind != ErrorKind::Conflict || !failure.hint.empty()) return failure;
    failure.hint =
        kube::is_field_conflict(failure)
            ? "another field manager owns these fields: let it, or take them with --force-conflicts"
        : kube::is_other_object(failure) ? "it was deleted or recreated since the plan: run the command again"
                                         : "somebody else was writing it: run the command again";
    return failure;
  }

  kube::Client& client_;
  const Plan& plan_;
  const ExecuteOptions& options_;
  EventSink& events_;
  const Context& context_;
  const ChangesRefusal changes_refusal_;
  const std::string part_of_;
  const std::set<GroupKind> redefined_;
  const std::set<std::string, std::less<>> eased_;
  const std::set<std::string> quotas_;
  std::mutex mutex_;
  std::map<std::string, const PlannedAction*> written_;  // by uid; guarded by mutex_
};

ObjectWriter::ObjectWriter(kube::Client& client, const Plan& plan, const ExecuteOptions& options,
                           EventSink& events, const Context& context, ChangesRefusal changes_refusal)
    : sending_(
          std::make_unique<Sending>(client, plan, options, events, context, std::move(changes_refusal))) {}
ObjectWriter::~ObjectWriter() = default;

Status ObjectWriter::send(const PlannedAction& action, const Replaced& old, Written& written) {
  return sending_->send(action, old, written);
}

Status ObjectWriter::may_be_deleted(const PlannedAction& action, const Value& there) const {
  return sending_->may_be_deleted(action, there);
}

}  // namespace mist::apply
