#include "apply/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "apimachinery/managed_fields.h"
#include "apply/fields/immutable.h"
#include "apply/fields/server_made.h"
#include "apply/fields/unowned_empty.h"
#include "apply/plan/admission_change.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/hooks.h"
#include "apply/reserved_metadata.h"
#include "base/some_of.h"
#include "base/text.h"

namespace mist::apply {
namespace {

// As helm's `install` and `upgrade` mark what they make, but for hooks.
constexpr std::string_view kHelmRelease = "meta.helm.sh/release-name";

// The owner of a live object, by its ownership labels.
enum class Whose : std::uint8_t { Ours, Nobodys, Anothers };

class Planner {
 public:
  Planner(const Owner& owner, const std::vector<InventoryItem>& owned, const LiveState& live, int revision,
          const PlanRules& rules)
      : owner_(owner), live_(live), revision_(revision), rules_(rules), part_of_(apply_set_id(owner)) {
    for (const InventoryItem& item : owned) {
      owned_.insert_or_assign(item.key, &item);
      if (!item.uid.empty()) owned_by_uid_.emplace(item.uid, &item);
    }
    for (const InventoryItem& item : owned) {
      const auto there = live.find(item.key);
      if (there != live.end())
        owned_by_uid_.emplace(there->second.value.string_at({"metadata", "uid"}), &item);
    }
    if (rules.allowed.take_over_from) taken_part_of_ = apply_set_id(*rules.allowed.take_over_from);
  }

  PlannedAction write(const DesiredObject& object, std::size_t index) const {
    PlannedAction action;
    action.key = object.key;
    action.resource = object.resource;
    action.late = object.late;
    action.desired = index;
    action.recorded.revision = revision_;
    action.recorded.previous_revision = revision_;
    const auto live = live_.find(object.key);
    const auto known = owned_.find(object.key);
    const InventoryItem* item = known == owned_.end() ? nullptr : known->second;
    if (item != nullptr) action.recorded.server_made = item->server_made;
    const auto unread = rules_.unreadable.find(object.key);
    action.live.unreadable = unread != rules_.unreadable.end();
    if (action.live.unreadable && live == live_.end()) {
      write_unread(action, item, unread->second.words);
      return action;
    }
    if (live == live_.end() && object.hook) {
      action.kind = ActionKind::Create;
      action.reason = object.hook->words;
      return action;
    }
    if (live == live_.end() && item != nullptr && rules_.finished_jobs.contains(object.key)) {
      finished(action, *item);
      return action;
    }
    if (live == live_.end()) {
      action.kind = ActionKind::Create;
      action.reason =
          item != nullptr && !item->uid.empty() ? "it was deleted outside of Mistletoe" : "it is not there";
      return action;
    }
    const Value& there = live->second.value;
    action.uid = there.string_at({"metadata", "uid"});
    action.live.resource_version = there.string_at({"metadata", "resourceVersion"});
    action.recorded.ended = has_completed(there);
    action.live.failed = !action.recorded.ended && ended_job(there).has_value();
    // The same object, which an earlier revision wanted under another API group.
    if (item == nullptr) item = owned_under_another_group(action.uid);
    if (apply_set_of(there) != part_of_) {
      action.live.version = there.string_at({"metadata", "resourceVersion"});
      action.live.owner = live_owner_of(there);
    }
    if (object.hook)
      run_hook(action, object, live->second, item);
    else
      decide(action, object, live->second, item);
    return action;
  }

  // A hook that runs before and after everything else, at its second run. Nothing is done to what the first
  // one wrote in place, or made and must stay; anything else is recreated.
  void run_again(PlannedAction& action, const DesiredObject& object, const PlannedAction& first_write,
                 const DesiredObject& first) const {
    action.again = first_write.desired;
    action.reason = fmt::format("{}; it runs a second time", object.hook->words);
    const Value& wanted = object.rendered.object.value();
    const auto live = live_.find(object.key);
    const bool marked = live != live_.end() && is_marked_kept(live->second.value);
    const bool kept =
        marked || first_write.recorded.adopted || !hook_kept_because(object.key, wanted, {}).empty();
    if (!kept || hook_goes(first_write, first)) {
      action.kind = ActionKind::Replace;
      return;
    }
    action.kind = ActionKind::Unchanged;
    action.reason += ", and stays as the first run left it";
    action.differences.clear();
    action.transfer.reset();
    action.adopting = action.ask = false;
    action.recorded.revision = first_write.recorded.revision;
  }

  // Whether a hook of another moment was adopted, or taken over, by what is undone or gone back over. One
  // that the deployed revision has adopted stays the release's.
  bool is_given_back(const ObjectKey& key) const {
    const auto known = owned_.find(key);
    if (known == owned_.end() || !known->second->adopted) return false;
    const bool taken = rules_.allowed.keep_adopted && !known->second->taken_from.empty();
    return taken || rules_.undeployed_adoptions.contains(key);
  }

  // The item of a hook of another moment, with what is there of that hook.
  InventoryItem waiting(InventoryItem hook) const {
    const auto known = owned_.find(hook.key);
    const auto live = live_.find(hook.key);
    if (known == owned_.end() || live == live_.end()) return hook;
    if (!known->second->hook && !known->second->adopted) return hook;
    if (has_never_run(*known->second)) return hook;
    const std::string_view uid = live->second.value.string_at({"metadata", "uid"});
    // By its mark: a run that died may have recreated it.
    if (apply_set_of(live->second.value) != part_of_) return hook;
    hook = *known->second;
    hook.uid = uid;
    hook.hook = true;
    hook.replacing = hook.retained = false;
    return hook;
  }

  std::optional<PlannedAction> removal(const InventoryItem& item, const std::set<ObjectKey>& wanted) const {
    if (wanted.contains(item.key)) return std::nullopt;
    const auto live = live_.find(item.key);
    const auto unread = rules_.unreadable.find(item.key);
    if (live == live_.end() && unread != rules_.unreadable.end())
      return remove_unread(item, unread->second.words);
    if (live == live_.end()) return std::nullopt;  // gone already: it leaves the inventory
    const Value& there = live->second.value;
    if (!is_owned(item, there, part_of_)) return std::nullopt;  // somebody else's by now
    PlannedAction action;
    action.key = item.key;
    action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
    // An object that can only be read in another version can only be deleted there.
    if (unread != rules_.unreadable.end()) {
      if (const auto read =
              kube::GroupVersionKind::parse(there.string_at("apiVersion"), item.key.group_kind.kind))
        action.resource.gvk.version = read->version;
    }
    action.uid = there.string_at({"metadata", "uid"});
    action.live.resource_version = there.string_at({"metadata", "resourceVersion"});
    action.recorded.ended = item.ended || has_completed(there);
    action.recorded.revision = item.revision;
    action.recorded.adopted = item.adopted;
    action.recorded.fields_taken = item.fields_taken;
    action.recorded.taken_from = item.taken_from;
    action.recorded.server_made = item.server_made;
    action.recorded.was_retained = item.retained;
    std::string_view kept = kept_because(item.key, &there, rules_.allowed.prune);
    if (kept.empty() && was_before(item)) kept = "it was there before the release";
    if (kept.empty() && apply_set_of(there) != part_of_) kept = kUnmarked;
    if (kept.empty() && item.retained && apimachinery::is_terminating(there)) kept = "it is being deleted";
    action.kind = kept.empty() ? ActionKind::Delete : ActionKind::Retain;
    action.reason = kept.empty() ? "it is no longer wanted" : std::string(kept);
    return action;
  }

 private:
  bool was_before(const InventoryItem& item) const {
    return item.adopted && (rules_.allowed.keep_adopted || rules_.undeployed_adoptions.contains(item.key));
  }

  // No run of this life of the release began it: what carries our labels is of an earlier one.
  bool has_never_run(const InventoryItem& hook) const {
    return is_only_named(hook) && rules_.hooks_never_run.contains(hook.key);
  }

  static bool has_completed(const Value& live) {
    const auto ended = ended_job(live);
    return ended && ended->health == Health::Ready;
  }

  // Guarded by the recorded uid, or as a create: what is there of somebody else's is refused by the server.
  static void write_unread(PlannedAction& action, const InventoryItem* item, const std::string& why) {
    action.reason = fmt::format("it can't be read: {}", why);
    if (item == nullptr || item->uid.empty() || item->hook) return;
    action.kind = ActionKind::Update;
    action.uid = item->uid;
    action.recorded.adopted = item->adopted;
    action.recorded.taken_from = item->taken_from;
    action.recorded.previous_revision = item->revision;
  }

  PlannedAction remove_unread(const InventoryItem& item, const std::string& why) const {
    PlannedAction action;
    action.kind = ActionKind::Delete;
    action.key = item.key;
    action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
    action.uid = item.uid;
    action.recorded.revision = item.revision;
    action.recorded.adopted = item.adopted;
    action.recorded.taken_from = item.taken_from;
    action.recorded.was_retained = item.retained;
    action.live.unreadable = true;
    action.reason = fmt::format("it is no longer wanted; it can't be read: {}", why);
    if (!item.retained && !was_before(item)) return action;
    action.kind = ActionKind::Retain;
    action.reason = fmt::format("it stays; it can't be read: {}", why);
    return action;
  }

  static void finished(PlannedAction& action, const InventoryItem& item) {
    action.kind = ActionKind::Unchanged;
    action.live.finished = action.recorded.ended = true;
    action.uid = item.uid;
    action.recorded.revision = action.recorded.previous_revision = item.revision;
    action.recorded.adopted = item.adopted;
    action.recorded.taken_from = item.taken_from;
    action.reason = kRemovedByItsTtl;
  }

  const InventoryItem* owned_under_another_group(const std::string& uid) const {
    const auto found = owned_by_uid_.find(uid);
    return found == owned_by_uid_.end() ? nullptr : found->second;
  }

  // A Job or a Pod that Helm left of a hook which the release has now. It says so itself, for Helm marks no
  // hooks as its own.
  static bool is_helms_hook(const DesiredObject& object, const Value& there) {
    const Value& wanted = object.rendered.object.value();
    const auto text = [](const Value& of, std::string_view map, std::string_view name) {
      return of.string_at({"metadata", map, name});
    };
    constexpr std::string_view kInstance = "app.kubernetes.io/instance";
    const std::string_view event = text(there, "annotations", apimachinery::kHookAnnotation);
    const std::string_view instance = text(there, "labels", kInstance);
    const bool by_helm = text(there, "labels", "app.kubernetes.io/managed-by") == "Helm" ||
                         std::ranges::any_of(apimachinery::managed_fields(there), [](const Value& entry) {
                           return entry.string_at("manager") == "helm";
                         });
    return hook_ends(object.key.group_kind) && !event.empty() && by_helm &&
           event == text(wanted, "annotations", apimachinery::kHookAnnotation) &&
           (instance.empty() || instance == text(wanted, "labels", kInstance)) &&
           text(there, "annotations", kHelmRelease).empty();
  }

  // A hook runs by being created, whatever is there of an earlier run, but for what holds data that the run
  // didn't make.
  void run_hook(PlannedAction& action, const DesiredObject& object, const LiveObject& live,
                const InventoryItem* item) const {
    const Value& there = live.value;
    const Whose owner = whose(there);
    const bool is_ours = owner == Whose::Ours;
    const bool may_run = rules_.allowed.adopt || (rules_.was_helms && is_helms_hook(object, there));
    if (!is_ours && !(owner == Whose::Nobodys && may_run)) return decide(action, object, live, item);
    const bool terminating = apimachinery::is_terminating(there);
    action.recorded.previous_revision = item != nullptr ? item->revision : revision_from_label(there);
    if (live.whole) action.differences = real_differences(action, object, there);
    const bool same =
        std::ranges::all_of(action.differences, [](const FieldDifference& each) { return each.uncertain; });
    if (is_ours && rules_.resumes >= 0 && revision_from_label(there) >= rules_.resumes && !terminating &&
        live.whole && same && hook_state(there).health != Health::Failed) {
      action.kind = ActionKind::Unchanged;
      action.differences.clear();
      action.recorded.revision = revision_from_label(there);
      action.recorded.adopted = item != nullptr && item->adopted;
      action.recorded.fields_taken = item != nullptr && item->fields_taken;
      action.reason =
          fmt::format("{}, begun by v{}, which this finishes", object.hook->words, action.recorded.revision);
      return;
    }
    // Data that no run of this release is known to have made: keys, passwords. With our labels, an earlier
    // life of the release left it.
    const bool from_before = !is_ours || item == nullptr || is_only_named(*item) || item->adopted;
    if ((from_before && !hook_ends(object.key.group_kind)) ||
        !hook_kept_because(object.key, there, {}).empty())
      return decide(action, object, live, item);
    action.kind = ActionKind::Replace;
    action.adopting = !is_ours;
    action.reason = fmt::format("{}; {}", object.hook->words,
                                terminating ? "what an earlier run left is being deleted"
                                            : "what an earlier run left is deleted first");
  }

  void decide(PlannedAction& action, const DesiredObject& object, const LiveObject& live,
              const InventoryItem* item) const {
    const Value& there = live.value;
    const Whose owner = whose(there);
    const bool by_uid = !object.hook && item != nullptr && !item->uid.empty() && item->uid == action.uid;
    const bool own_namespace =
        object.key.group_kind == apimachinery::kNamespace && object.key.name == owner_.ns;
    const bool is_ours = owner == Whose::Ours || (owner == Whose::Nobodys && by_uid);
    if (is_ours && item != nullptr && live.whole && apimachinery::is_terminating(there) && ended_job(there) &&
        std::ranges::all_of(real_differences(action, object, there), &FieldDifference::uncertain)) {
      finished(action, *item);
      action.uid = there.string_at({"metadata", "uid"});
      return;
    }
    if (owner == Whose::Anothers)
      action.owner = there.string_at({"metadata", "annotations", kReleaseAnnotation});
    if (apimachinery::is_terminating(there)) {
      const std::string_view since = there.string_at({"metadata", "deletionTimestamp"});
      return conflict(action, ConflictCause::Deleting,
                      fmt::format("{}, since {}", why_terminating(there),
                                  since.empty() ? std::string_view("an unknown time") : since),
                      "wait until it is gone, then run the command again");
    }
    if (is_ours) {
      // An object that no record names, or of a hook that never ran, was left by an earlier life of the
      // release: a claim, a CRD, a Secret.
      const bool left_before = item == nullptr || has_never_run(*item);
      action.recorded.adopted = left_before || item->adopted;
      action.recorded.fields_taken =
          action.recorded.adopted && (left_before || item->fields_taken || own_namespace);
      if (item != nullptr) action.recorded.taken_from = item->taken_from;
      action.recorded.previous_revision = left_before ? revision_from_label(there) : item->revision;
      const bool again =
          owner == Whose::Ours && item != nullptr && !item->uid.empty() && item->uid != action.uid;
      return compare(action, object, live, owner, again);
    }
    if (owner == Whose::Anothers) {
      if (!taken(there)) return refuse_foreign(action, there);
      action.recorded.adopted = true;
      action.recorded.fields_taken = true;  // they were that release's
      action.recorded.taken_from = rules_.allowed.take_over_from->display();
      action.reason = fmt::format("it is taken over from release {}", action.recorded.taken_from);
    } else {
      if (!own_namespace && !rules_.allowed.adopt) return refuse_nobodys(action, object, there);
      action.recorded.adopted = !(own_namespace && rules_.made_namespace);
      action.reason = own_namespace ? "it is the release's own namespace and is adopted"
                                    : "it belongs to no release and is adopted";
    }
    action.kind = ActionKind::Adopt;
    action.adopting = true;
    if (own_namespace)
      action.recorded.fields_taken =
          action.recorded.adopted;  // taken without being asked for: its fields stay
    if (!live.whole) return;
    if (!own_namespace && owner == Whose::Nobodys &&
        plan_transfer(action, object, there, predecessors_and(rules_.allowed.adopt_from))) {
      action.reason += fmt::format(", with the fields of {}", managers_words(*action.transfer));
    } else {
      action.differences = real_differences(action, object, there);
    }
    judge(action, object, there);
  }

  // The fields that its earlier managers own become ours. The server fills in defaults again that one of
  // them owned because it made the object: settle() asks which removals are real. False: nothing is to be
  // taken.
  bool plan_transfer(PlannedAction& action, const DesiredObject& object, const Value& there,
                     const ChosenFields& chosen) const {
    action.transfer = field_transfer(object.rendered.object.value(), there, chosen, owner_.manager);
    action.recorded.fields_taken = action.recorded.adopted;
    if (!action.transfer) return false;
    action.differences = real_differences(action, object, with_transfer(there, *action.transfer));
    for (FieldDifference& difference : action.differences) difference.uncertain |= difference.removal();
    action.transfer->managed_fields = Value();
    return true;
  }

  // An object that was adopted and given back since (action/deploy/adopted.h) is nobody's: its labels are
  // gone, and nothing in it is ours. If it is wanted again, it is adopted again.
  bool was_given_back(const PlannedAction& action, const Value& there, Whose owner) const {
    return action.recorded.adopted && owner == Whose::Nobodys &&
           std::ranges::none_of(apimachinery::managed_fields(there), [&](const Value& entry) {
             return apimachinery::is_applied_by(entry, owner_.manager);
           });
  }

  // Takes fields of an object that was adopted without those of its earlier managers, by an earlier Mistletoe
  // or by a run that died, or one of whose managers is named now. Later changes by others stay a conflict.
  void catch_up(PlannedAction& action, const DesiredObject& object, const Value& there, Whose owner) const {
    const bool late = !action.recorded.fields_taken || was_given_back(action, there, owner);
    if (!action.recorded.adopted || rules_.allowed.leave_fields ||
        (!late && rules_.allowed.adopt_from.empty()))
      return;
    std::vector<FieldDifference> now = std::move(action.differences);
    const bool adopting =
        late && owner == Whose::Nobodys && (rules_.allowed.adopt || was_given_back(action, there, owner));
    const ChosenFields chosen =
        late ? predecessors_and(rules_.allowed.adopt_from) : only_named(rules_.allowed.adopt_from);
    if (!plan_transfer(action, object, there, chosen)) {
      action.differences = std::move(now);
      return;
    }
    if (adopting) return;
    std::erase_if(now, [](const FieldDifference& each) { return each.removal(); });
    std::erase_if(action.differences, [](const FieldDifference& each) { return !each.removal(); });
    action.differences.insert(action.differences.begin(), now.begin(), now.end());
  }

  // A copy with our mark: somebody restored the object, or recreated it from one. Fields that were ours in it
  // are ours again; else those that we no longer want would stay, and those that we change would conflict.
  void take_back(PlannedAction& action, const DesiredObject& object, const Value& there) const {
    if (action.transfer || rules_.allowed.leave_fields || !is_copy(there, owner_.manager)) return;
    std::vector<const Value*> recorded;
    const auto [first, last] = rules_.recorded.equal_range(action.key);
    for (auto it = first; it != last; ++it) recorded.push_back(it->second);
    if (plan_transfer(action, object, there, copied_of(object.rendered.object.value(), std::move(recorded))))
      action.transfer->copied = true;
  }

  // An empty list that an earlier revision made, and this one doesn't name, has no owner: no apply removes
  // it.
  void drop_left_empty(PlannedAction& action, const DesiredObject& object, const Value& there) const {
    const auto goes_already = [&](const FieldDifference& left) {
      return std::ranges::any_of(action.differences, [&](const FieldDifference& each) {
        return each.removal() && !each.stays_with_others() && each.steps.size() <= left.steps.size() &&
               left.path.starts_with(each.path) &&
               (left.path.size() == each.path.size() ||
                std::string_view(".[").contains(left.path[each.path.size()]));
      });
    };
    const auto [first, last] = rules_.recorded.equal_range(action.key);
    for (auto it = first; it != last; ++it) {
      for (FieldDifference& left : lists_left_empty(*it->second, object.rendered.object.value(), there))
        if (!goes_already(left)) action.differences.push_back(std::move(left));
    }
  }

  // An object of ours: is there anything to write? One that was made `again` from a copy has to become our
  // manager's again, and its uid recorded.
  void compare(PlannedAction& action, const DesiredObject& object, const LiveObject& live, Whose owner,
               bool again) const {
    action.kind = ActionKind::Update;
    if (!live.whole) {
      // It became ours between two of our looks, or lost its label.
      action.reason =
          owner == Whose::Ours ? "only its metadata could be read" : "its ownership label was removed";
      return;
    }
    action.differences = real_differences(action, object, live.value);
    catch_up(action, object, live.value, owner);
    if (owner == Whose::Ours) take_back(action, object, live.value);
    if (owner == Whose::Ours) drop_left_empty(action, object, live.value);
    if (owner != Whose::Ours) {
      action.reason = "its ownership label was removed";
      return judge(action, object, live.value);
    }
    if (live.value.string_at({"metadata", "labels", kVersionLabel}).empty())
      action.differences.push_back({version_label_path(), Value(), Value(fmt::format("v{}", revision_)), 0});
    if (action.transfer) {
      action.reason = transfer_words(action);
      return judge(action, object, live.value);
    }
    if (again || !action.differences.empty()) {
      action.reason = again ? "it was recreated outside of Mistletoe" : difference_words(action.differences);
      return judge(action, object, live.value);
    }
    if (!has_our_fields(object, live.value)) {
      action.reason = difference_words({});
      action.ask = true;
      return;
    }
    action.kind = ActionKind::Unchanged;
    action.reason = "equal";
    action.recorded.revision = action.recorded.previous_revision;
  }

  // Whether the server will let us write these differences.
  void judge(PlannedAction& action, const DesiredObject& object, const Value& live) const {
    const Immutability immutable = immutable_fields(action.key, live, action.differences);
    action.ask = immutable.ask;
    if (!immutable.fields.empty()) {
      action.refusal.field = immutable.fields.front();
      constexpr std::size_t kShown = 3;
      return plan_replacement(action, object, live, rules_,
                              fmt::format("it can't change {} in place", some_of(immutable.fields, kShown)));
    }
    if (rules_.allowed.force_conflicts) return;
    const std::string others = fields_of_others(action.differences);
    if (others.empty()) return;
    conflict(action, ConflictCause::Fields, fmt::format("it has fields that other managers own: {}", others),
             std::string(kForceHint));
    action.refusal.field = first_field_of_others(action.differences);
  }

  // But for what the server made of the same values before.
  std::vector<FieldDifference> real_differences(const PlannedAction& action, const DesiredObject& object,
                                                const Value& live) const {
    std::vector<FieldDifference> found = differences_of(object, live, owner_.manager);
    leave_out(found, action.recorded.server_made);
    return found;
  }

  // Whether our field manager wrote it, in the version that is wanted now: else who owns what isn't known,
  // or is told in the fields of another version.
  bool has_our_fields(const DesiredObject& object, const Value& live) const {
    return std::ranges::any_of(apimachinery::managed_fields(live), [&](const Value& entry) {
      return apimachinery::is_applied_by(entry, owner_.manager) &&
             entry.string_at("apiVersion") == object.rendered.object.value().string_at("apiVersion");
    });
  }

  Whose whose(const Value& live) const {
    const std::string_view set = apply_set_of(live);
    if (!set.empty()) return set == part_of_ ? Whose::Ours : Whose::Anothers;
    const std::string_view name = live.string_at({"metadata", "annotations", kReleaseAnnotation});
    return name.empty() || name == owner_.display() ? Whose::Nobodys : Whose::Anothers;
  }

  bool taken(const Value& live) const {
    if (!rules_.allowed.take_over_from) return false;
    const std::string_view set = apply_set_of(live);
    return set == taken_part_of_ ||
           (set.empty() && live.string_at({"metadata", "annotations", kReleaseAnnotation}) ==
                               rules_.allowed.take_over_from->display());
  }

  static void conflict(PlannedAction& action, ConflictCause cause, std::string reason, std::string hint) {
    action.kind = ActionKind::Conflict;
    action.refusal.cause = cause;
    action.reason = std::move(reason);
    action.refusal.hint = std::move(hint);
  }

  void refuse_nobodys(PlannedAction& action, const DesiredObject& object, const Value& live) const {
    const std::string_view helm = live.string_at({"metadata", "annotations", kHelmRelease});
    if (helm.empty())
      return conflict(action, ConflictCause::Foreign, "it exists already and belongs to no release",
                      fmt::format("take it into the release with --adopt, or {}",
                                  object.hook ? "run no hooks with --no-hooks"
                                              : "give the release's object another name"));
    const std::string_view ns = live.string_at({"metadata", "annotations", "meta.helm.sh/release-namespace"});
    conflict(
        action, ConflictCause::Foreign,
        fmt::format("it belongs to the Helm release {}/{}", escape_controls(ns), escape_controls(helm)),
        fmt::format("take it over with --adopt; then delete Helm's record, and nothing else of it: {} delete "
                    "secret -n {} -l {}",
                    rules_.kubectl, shell_word(ns), shell_word(fmt::format("owner=helm,name={}", helm))));
  }

  void refuse_foreign(PlannedAction& action, const Value& live) const {
    if (!action.owner.empty() && action.owner != owner_.display())
      return conflict(action, ConflictCause::Foreign, fmt::format("it belongs to release {}", action.owner),
                      fmt::format("move it here with --take-over-from {}, or rename one of the two objects",
                                  action.owner));
    conflict(action, ConflictCause::Foreign,
             fmt::format("it belongs to another ApplySet ({})", apply_set_of(live)),
             "rename the object, or remove it from that set");
  }

  static int revision_from_label(const Value& live) {
    const std::string_view text = live.string_at({"metadata", "labels", kVersionLabel});
    int number = 0;
    for (const char c : text.substr(std::min<std::size_t>(text.size(), 1))) {
      if (c < '0' || c > '9' || number > 100000000) return 0;
      number = number * 10 + (c - '0');
    }
    return number;
  }

  const Owner& owner_;
  const LiveState& live_;
  const int revision_;
  const PlanRules& rules_;
  const std::string part_of_;
  std::string taken_part_of_;
  std::map<ObjectKey, const InventoryItem*> owned_;
  std::map<std::string, const InventoryItem*> owned_by_uid_;  // recorded and live ones
};

// Two wanted objects that turn out to be one, which the server serves under two API groups: each write would
// undo the other.
Status refuse_same_objects(const Plan& plan) {
  std::map<std::string, const PlannedAction*> written;
  for (const PlannedAction& action : plan.writes) {
    if (action.uid.empty()) continue;
    const auto [first, fresh] = written.emplace(action.uid, &action);
    if (!fresh && first->second->key != action.key) return same_object_error(plan, *first->second, action);
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(const Owner& owner, std::vector<DesiredObject> desired,
                       const std::vector<InventoryItem>& owned, const LiveState& live, int revision,
                       const PlanRules& rules, std::vector<InventoryItem> waiting) {
  Plan plan;
  plan.owner = owner;
  plan.revision = revision;
  plan.desired = std::move(desired);
  const Planner planner(owner, owned, live, revision, rules);
  std::set<ObjectKey> wanted, sleeping;
  std::map<ObjectKey, std::size_t> first_runs;
  for (std::size_t i = 0; i < plan.desired.size(); ++i) {
    const DesiredObject& object = plan.desired[i];
    plan.writes.push_back(planner.write(object, i));
    wanted.insert(object.key);
    PlannedAction& planned = plan.writes.back();
    planned.first =
        planned.kind == ActionKind::Update && only_lets_pass(object.key.group_kind, planned.differences);
    if (!object.hook) continue;
    const auto [first, fresh] = first_runs.emplace(object.key, i);
    if (!fresh && plan.writes[i].kind != ActionKind::Conflict)
      planner.run_again(plan.writes[i], object, plan.writes[first->second], plan.desired[first->second]);
  }
  MIST_TRY_VOID(refuse_same_objects(plan));
  // A key that is no longer wanted may be another name of what is: the uid says which object it is. Of some
  // removals it isn't known: those of objects that can't be read now, whose create got no answer. Each
  // counts.
  std::set<std::string> uids;
  for (const PlannedAction& action : plan.writes) uids.insert(action.uid);
  for (InventoryItem& hook : waiting) {
    if (wanted.contains(hook.key)) continue;
    if (!planner.is_given_back(hook.key)) {
      sleeping.insert(hook.key);
      hook = planner.waiting(std::move(hook));
    }
    plan.waiting.push_back(std::move(hook));
    uids.insert(plan.waiting.back().uid);
  }
  for (const InventoryItem& item : owned) {
    if ((item.hook || item.adopted) && sleeping.contains(item.key)) continue;
    auto removal = planner.removal(item, wanted);
    if (!removal || (!removal->uid.empty() && !uids.insert(removal->uid).second)) continue;
    plan.removals.push_back(*std::move(removal));
  }
  // Discovery may still know what a CRD defined before it was deleted.
  const std::set<GroupKind> arriving = kinds_defined_by(plan, ActionKind::Create);
  for (PlannedAction& action : plan.writes) action.late |= arriving.contains(action.key.group_kind);
  MIST_TRY(plan.order, order_of(plan));
  return plan;
}

void plan_replacement(PlannedAction& action, const DesiredObject& desired, const Value& live,
                      const PlanRules& rules, std::string reason) {
  action.reason = action.adopting && action.owner.empty()
                      ? fmt::format("it belongs to no release, and {}", reason)
                      : std::move(reason);
  action.refusal.cause = ConflictCause::Immutable;
  if (apply_set_of(live).empty() && !action.adopting && !rules.allowed.adopt) {
    action.kind = ActionKind::Conflict;
    action.reason += fmt::format(", and {}", kUnmarked);
    action.refusal.hint = "have it deleted and recreated with --adopt --replace";
    return;
  }
  const std::string_view kept = kept_because(action.key, &live, rules.allowed.prune);
  const bool allowed =
      rules.allowed.replace || desired.rendered.object.annotation(kReplaceAnnotation) == "true";
  if (allowed && kept.empty()) {
    action.kind = ActionKind::Replace;
    return;
  }
  action.kind = ActionKind::Conflict;
  action.refusal.hint = allowed ? fmt::format("it is not replaced: {}", kept)
                                : fmt::format(
                                      "have it deleted and recreated with --replace, or with the annotation "
                                      "{}: \"true\" on the object",
                                      kReplaceAnnotation);
}

}  // namespace mist::apply
