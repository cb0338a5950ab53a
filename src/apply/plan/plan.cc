#include "apply/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "apply/fields/field_place.h"
#include "apply/fields/forgotten_owners.h"
#include "apply/fields/immutable.h"
#include "apply/fields/server_made.h"
#include "apply/fields/unowned_empty.h"
#include "apply/marks.h"
#include "apply/order/order.h"
#include "apply/plan/admission_change.h"
#include "apply/plan/finished_job.h"
#include "base/some_of.h"
#include "base/text.h"
#include "kube/managed_fields.h"

namespace mist::apply {

namespace {

const GroupKind kNamespaceKind{"", "Namespace"};

std::string_view mark_of(const Value& live) { return live.string_at({"metadata", "labels", kPartOfLabel}); }

// Whose a live object is, by its marks.
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
    action.revision = revision_;
    action.previous_revision = revision_;
    const auto live = live_.find(object.key);
    const auto known = owned_.find(object.key);
    const InventoryItem* item = known == owned_.end() ? nullptr : known->second;
    if (item != nullptr) action.server_made = item->server_made;
    const auto unread = rules_.unreadable.find(object.key);
    action.unreadable = unread != rules_.unreadable.end();
    if (action.unreadable && live == live_.end()) {
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
    action.seen = there.string_at({"metadata", "resourceVersion"});
    action.ended = has_completed(there);
    action.failed = !action.ended && ended_job(there).has_value();
    // The same object, which an earlier revision wanted under another API group.
    if (item == nullptr) item = owned_under_another_group(action.uid);
    if (mark_of(there) != part_of_) {
      action.version = there.string_at({"metadata", "resourceVersion"});
      action.marks = marks_of(there);
    }
    if (object.hook)
      run_hook(action, object, live->second, item);
    else
      decide(action, object, live->second, item);
    return action;
  }

  // What is there of a hook of another moment.
  InventoryItem waiting(InventoryItem hook) const {
    const auto known = owned_.find(hook.key);
    const auto live = live_.find(hook.key);
    if (known == owned_.end() || !known->second->hook || live == live_.end()) return hook;
    const std::string_view uid = live->second.value.string_at({"metadata", "uid"});
    // By its mark: a run that died may have recreated it.
    if (mark_of(live->second.value) != part_of_) return hook;
    hook = *known->second;
    hook.uid = uid;
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
    // What can only be read in another version can only be deleted there.
    if (unread != rules_.unreadable.end()) {
      if (const auto read =
              kube::GroupVersionKind::parse(there.string_at("apiVersion"), item.key.group_kind.kind))
        action.resource.gvk.version = read->version;
    }
    action.uid = there.string_at({"metadata", "uid"});
    action.seen = there.string_at({"metadata", "resourceVersion"});
    action.ended = item.ended || has_completed(there);
    action.revision = item.revision;
    action.adopted = item.adopted;
    action.fields_taken = item.fields_taken;
    action.taken_from = item.taken_from;
    action.server_made = item.server_made;
    action.was_retained = item.retained;
    std::string_view kept = kept_because(item.key, &there, rules_.allowed.prune);
    if (kept.empty() && was_before(item)) kept = "it was there before the release";
    if (kept.empty() && mark_of(there) != part_of_) kept = kUnmarked;
    if (kept.empty() && item.retained && apimachinery::is_terminating(there)) kept = "it is being deleted";
    action.kind = kept.empty() ? ActionKind::Delete : ActionKind::Retain;
    action.reason = kept.empty() ? "it is no longer wanted" : std::string(kept);
    return action;
  }

 private:
  bool was_before(const InventoryItem& item) const {
    return item.adopted && (rules_.allowed.keep_adopted || rules_.adopted_in_vain.contains(item.key));
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
    action.adopted = item->adopted;
    action.taken_from = item->taken_from;
    action.previous_revision = item->revision;
  }

  PlannedAction remove_unread(const InventoryItem& item, const std::string& why) const {
    PlannedAction action;
    action.kind = ActionKind::Delete;
    action.key = item.key;
    action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
    action.uid = item.uid;
    action.revision = item.revision;
    action.adopted = item.adopted;
    action.taken_from = item.taken_from;
    action.was_retained = item.retained;
    action.unreadable = true;
    action.reason = fmt::format("it is no longer wanted; it can't be read: {}", why);
    if (!item.retained && !was_before(item)) return action;
    action.kind = ActionKind::Retain;
    action.reason = fmt::format("it stays; it can't be read: {}", why);
    return action;
  }

  static void finished(PlannedAction& action, const InventoryItem& item) {
    action.kind = ActionKind::Unchanged;
    action.finished = action.ended = true;
    action.uid = item.uid;
    action.revision = action.previous_revision = item.revision;
    action.adopted = item.adopted;
    action.taken_from = item.taken_from;
    action.reason = kRemovedByItsTtl;
  }

  const InventoryItem* owned_under_another_group(const std::string& uid) const {
    const auto found = owned_by_uid_.find(uid);
    return found == owned_by_uid_.end() ? nullptr : found->second;
  }

  // A hook runs by being created, whatever is there of an earlier run.
  void run_hook(PlannedAction& action, const DesiredObject& object, const LiveObject& live,
                const InventoryItem* item) const {
    const Value& there = live.value;
    const Whose owner = whose(there);
    const bool is_ours = owner == Whose::Ours;
    if (!is_ours && !(owner == Whose::Nobodys && rules_.allowed.adopt))
      return decide(action, object, live, item);
    const bool terminating = apimachinery::is_terminating(there);
    action.adopting = !is_ours;
    action.previous_revision = item != nullptr ? item->revision : revision_from_label(there);
    if (live.whole) action.differences = real_differences(action, object, there);
    const bool same =
        std::ranges::all_of(action.differences, [](const FieldDifference& each) { return each.uncertain; });
    if (is_ours && rules_.resumes >= 0 && revision_from_label(there) >= rules_.resumes && !terminating &&
        live.whole && same && hook_state(there).health != Health::Failed) {
      action.kind = ActionKind::Unchanged;
      action.differences.clear();
      action.revision = revision_from_label(there);
      action.reason =
          fmt::format("{}, begun by v{}, which this finishes", object.hook->words, action.revision);
      return;
    }
    if (is_ours && !kept_because(object.key, &there, {}).empty()) return decide(action, object, live, item);
    action.kind = ActionKind::Replace;
    action.reason = fmt::format("{}; {}", object.hook->words,
                                terminating ? "what an earlier run left is being deleted"
                                            : "what an earlier run left is deleted first");
  }

  void decide(PlannedAction& action, const DesiredObject& object, const LiveObject& live,
              const InventoryItem* item) const {
    const Value& there = live.value;
    const Whose owner = whose(there);
    const bool by_uid = !object.hook && item != nullptr && !item->uid.empty() && item->uid == action.uid;
    const bool own_namespace = object.key.group_kind == kNamespaceKind && object.key.name == owner_.ns;
    const bool is_ours = owner == Whose::Ours || (owner == Whose::Nobodys && by_uid);
    if (is_ours && item != nullptr && live.whole && apimachinery::is_terminating(there) && ended_job(there) &&
        std::ranges::all_of(real_differences(action, object, there), &FieldDifference::uncertain)) {
      finished(action, *item);
      action.uid = there.string_at({"metadata", "uid"});
      return;
    }
    if (apimachinery::is_terminating(there)) {
      const std::string_view since = there.string_at({"metadata", "deletionTimestamp"});
      return conflict(action, ConflictCause::Deleting,
                      fmt::format("{}, since {}", why_terminating(there),
                                  since.empty() ? std::string_view("an unknown time") : since),
                      "wait until it is gone, then run the command again");
    }
    if (is_ours) {
      // What no record of ours names was left by an earlier life of the release: its claims, its definitions.
      action.adopted = item == nullptr || item->adopted;
      action.fields_taken = action.adopted && (item == nullptr || item->fields_taken || own_namespace);
      if (item != nullptr) action.taken_from = item->taken_from;
      action.previous_revision = item != nullptr ? item->revision : revision_from_label(there);
      const bool again = owner == Whose::Ours && item != nullptr && !item->uid.empty() && !by_uid;
      return compare(action, object, live, owner, again);
    }
    if (owner == Whose::Anothers) {
      action.owner = there.string_at({"metadata", "annotations", kReleaseAnnotation});
      if (!taken(there)) return refuse_foreign(action, there);
      action.adopted = true;
      action.fields_taken = true;  // they were that release's
      action.taken_from = rules_.allowed.take_over_from->display();
      action.reason = fmt::format("it is taken over from release {}", action.taken_from);
    } else {
      if (!own_namespace && !rules_.allowed.adopt) return refuse_nobodys(action, there);
      action.adopted = !(own_namespace && rules_.made_namespace);
      action.reason = own_namespace ? "it is the release's own namespace and is adopted"
                                    : "it belongs to no release and is adopted";
    }
    action.kind = ActionKind::Adopt;
    action.adopting = true;
    if (own_namespace)
      action.fields_taken = action.adopted;  // taken without being asked for: its fields stay
    if (!live.whole) return;
    if (!own_namespace && owner == Whose::Nobodys &&
        plan_transfer(action, object, there, predecessors_and(rules_.allowed.adopt_from))) {
      action.reason += fmt::format(", with the fields of {}", managers_words(*action.transfer));
    } else {
      action.differences = real_differences(action, object, there);
    }
    judge(action, object, there);
  }

  // What its earlier managers own becomes ours. The server fills in defaults again that one of them owned
  // because it made the object: which removals are real is for settle() to ask. False: nothing is to be
  // taken.
  bool plan_transfer(PlannedAction& action, const DesiredObject& object, const Value& there,
                     const ChosenFields& chosen) const {
    action.transfer = field_transfer(object.rendered.object.value(), there, chosen, owner_.manager);
    action.fields_taken = action.adopted;
    if (!action.transfer) return false;
    action.differences = real_differences(action, object, with_transfer(there, *action.transfer));
    for (FieldDifference& difference : action.differences) difference.uncertain |= difference.removal();
    action.transfer->managed_fields = Value();
    return true;
  }

  // What was adopted and given back since (action/deploy/adopted.h) is nobody's: its marks are gone, and
  // nothing in it is ours. Wanted again, it is adopted again.
  bool was_given_back(const PlannedAction& action, const Value& there, Whose owner) const {
    return action.adopted && owner == Whose::Nobodys &&
           std::ranges::none_of(kube::managed_fields(there), [&](const Value& entry) {
             return kube::is_applied_by(entry, owner_.manager);
           });
  }

  // Of an object that was adopted without the fields of its earlier managers, by an earlier Mistletoe or by a
  // run that died; or of one of which a manager is named now. What others changed since stays a conflict.
  void catch_up(PlannedAction& action, const DesiredObject& object, const Value& there, Whose owner) const {
    const bool late = !action.fields_taken || was_given_back(action, there, owner);
    if (!action.adopted || rules_.allowed.leave_fields || (!late && rules_.allowed.adopt_from.empty()))
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

  // Whoever wrote our mark restored a copy of the object, or recreated it from one. What was ours in it is
  // ours again, else what we no longer want would stay, and what we change would be a conflict.
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
    action.revision = action.previous_revision;
  }

  // Whether the server will let us write these differences.
  void judge(PlannedAction& action, const DesiredObject& object, const Value& live) const {
    const Immutability immutable = immutable_fields(action.key, live, action.differences);
    action.ask = immutable.ask;
    if (!immutable.fields.empty()) {
      action.field = immutable.fields.front();
      constexpr std::size_t kShown = 3;
      return plan_replacement(action, object, live, rules_,
                              fmt::format("it can't change {} in place", some_of(immutable.fields, kShown)));
    }
    if (rules_.allowed.force_conflicts) return;
    const std::string others = fields_of_others(action.differences);
    if (others.empty()) return;
    conflict(action, ConflictCause::Fields, fmt::format("it has fields that other managers own: {}", others),
             std::string(kForceHint));
    action.field = first_field_of_others(action.differences);
  }

  // But for what the server made of the same values before.
  std::vector<FieldDifference> real_differences(const PlannedAction& action, const DesiredObject& object,
                                                const Value& live) const {
    std::vector<FieldDifference> found = differences_of(object, live, owner_.manager);
    leave_out(found, action.server_made);
    return found;
  }

  // Whether our field manager wrote it, in the version that is wanted now: else who owns what isn't known,
  // or is told in the fields of another version.
  bool has_our_fields(const DesiredObject& object, const Value& live) const {
    return std::ranges::any_of(kube::managed_fields(live), [&](const Value& entry) {
      return kube::is_applied_by(entry, owner_.manager) &&
             entry.string_at("apiVersion") == object.rendered.object.value().string_at("apiVersion");
    });
  }

  Whose whose(const Value& live) const {
    const std::string_view set = live.string_at({"metadata", "labels", kPartOfLabel});
    if (!set.empty()) return set == part_of_ ? Whose::Ours : Whose::Anothers;
    const std::string_view name = live.string_at({"metadata", "annotations", kReleaseAnnotation});
    return name.empty() || name == owner_.display() ? Whose::Nobodys : Whose::Anothers;
  }

  bool taken(const Value& live) const {
    if (!rules_.allowed.take_over_from) return false;
    const std::string_view set = live.string_at({"metadata", "labels", kPartOfLabel});
    return set == taken_part_of_ ||
           (set.empty() && live.string_at({"metadata", "annotations", kReleaseAnnotation}) ==
                               rules_.allowed.take_over_from->display());
  }

  static void conflict(PlannedAction& action, ConflictCause cause, std::string reason, std::string hint) {
    action.kind = ActionKind::Conflict;
    action.cause = cause;
    action.reason = std::move(reason);
    action.hint = std::move(hint);
  }

  void refuse_nobodys(PlannedAction& action, const Value& live) const {
    // As helm's `install` and `upgrade` mark what they make.
    const std::string_view helm = live.string_at({"metadata", "annotations", "meta.helm.sh/release-name"});
    if (helm.empty())
      return conflict(action, ConflictCause::Foreign, "it exists already and belongs to no release",
                      "take it into the release with --adopt, or give the release's object another name");
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
             fmt::format("it belongs to another ApplySet ({})",
                         live.string_at({"metadata", "labels", kPartOfLabel})),
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

std::string version_label_path() { return fmt::format(".metadata.labels[\"{}\"]", kVersionLabel); }

Marks marks_of(const Value& live) {
  return {std::string(mark_of(live)),
          std::string(live.string_at({"metadata", "annotations", kReleaseAnnotation}))};
}

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Create:
      return "create";
    case ActionKind::Update:
      return "update";
    case ActionKind::Unchanged:
      return "unchanged";
    case ActionKind::Replace:
      return "replace";
    case ActionKind::Adopt:
      return "adopt";
    case ActionKind::Conflict:
      return "conflict";
    case ActionKind::Delete:
      return "delete";
    case ActionKind::Retain:
      return "retain";
  }
  return "unchanged";
}

bool Plan::changes_nothing() const {
  return std::ranges::all_of(
             writes, [&](const PlannedAction& a) { return a.kind == ActionKind::Unchanged || is_hook(a); }) &&
         std::ranges::all_of(
             removals, [](const PlannedAction& a) { return a.kind == ActionKind::Retain && a.was_retained; });
}

std::size_t Plan::count(ActionKind kind) const {
  const auto same = [&](const PlannedAction& a) { return a.kind == kind; };
  return static_cast<std::size_t>(std::ranges::count_if(writes, same) +
                                  std::ranges::count_if(removals, same));
}

std::string_view kept_because(const ObjectKey& key, const Value* live, const PruneRules& rules) {
  if (live != nullptr) {
    const std::string_view keep = live->string_at({"metadata", "annotations", kKeepAnnotation});
    if (!keep.empty() && keep != "false") return "it carries the annotation mistletoe.dev/keep";
  }
  if (key.group_kind == kNamespaceKind && !rules.delete_namespaces)
    return "a namespace is only removed with --delete-namespaces";
  if (key.group_kind == apimachinery::kCustomResourceDefinition) {
    if (rules.left_crds.contains(key.name))
      return "it is in the chart's crds/, and --skip-crds leaves it as it is";
    if (!rules.delete_crds && !rules.unused_crds)
      return "a CustomResourceDefinition is only removed with --delete-crds";
  }
  if (key.group_kind == GroupKind{"", "PersistentVolumeClaim"} && !rules.delete_pvcs)
    return "a PersistentVolumeClaim is only removed with --delete-pvcs";
  return {};
}

namespace {

// The kinds of those definitions.
std::set<apimachinery::GroupKind> defined_by(const Plan& plan, ActionKind planned) {
  std::set<GroupKind> kinds;
  for (const PlannedAction& action : plan.writes) {
    if (action.kind == planned && action.key.group_kind == apimachinery::kCustomResourceDefinition)
      kinds.insert(apimachinery::defined_kind(plan.desired[action.desired].rendered.object.value()));
  }
  return kinds;
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
    if (!fresh && plan.writes[i].kind != ActionKind::Conflict) {
      plan.writes[i].kind = ActionKind::Replace;
      plan.writes[i].again = first->second;
      plan.writes[i].reason = fmt::format("{}; it runs a second time", object.hook->words);
    }
  }
  MIST_TRY_VOID(refuse_same_objects(plan));
  // A key that is no longer wanted may be another name of what is: the uid says which object it is.
  std::set<std::string> uids;
  for (const PlannedAction& action : plan.writes) uids.insert(action.uid);
  for (InventoryItem& hook : waiting) {
    if (wanted.contains(hook.key)) continue;
    sleeping.insert(hook.key);
    plan.waiting.push_back(planner.waiting(std::move(hook)));
    uids.insert(plan.waiting.back().uid);
  }
  for (const InventoryItem& item : owned) {
    if (item.hook && sleeping.contains(item.key)) continue;
    auto removal = planner.removal(item, wanted);
    if (removal && uids.insert(removal->uid).second) plan.removals.push_back(*std::move(removal));
  }
  // Discovery may still know what a definition defined before it was deleted.
  const std::set<GroupKind> arriving = defined_by(plan, ActionKind::Create);
  for (PlannedAction& action : plan.writes) action.late |= arriving.contains(action.key.group_kind);
  MIST_TRY(plan.order, order_of(plan));
  return plan;
}

Result<Order> order_of(const Plan& plan) {
  std::vector<OrderedObject> objects;
  objects.reserve(plan.writes.size());
  for (const PlannedAction& action : plan.writes) {
    const DesiredObject& object = plan.desired[action.desired];
    objects.push_back({&object.rendered.object, object.rendered.file, object.rendered.place(),
                       object.hook ? &*object.hook : nullptr, action.unreadable, action.first});
  }
  return infer_order(objects);
}

Error same_object_error(const Plan& plan, const PlannedAction& first, const PlannedAction& second) {
  const RenderedObject& one = plan.desired[first.desired].rendered;
  const RenderedObject& other = plan.desired[second.desired].rendered;
  Error failure = error(ErrorKind::Invalid,
                        "{} of {} and {} of {} are one object, which the server serves under both "
                        "API groups: first at {}",
                        second.key.display(), other.object.gvk().api_version(), first.key.display(),
                        one.object.gvk().api_version(), one.place().text())
                      .with_hint("keep one of them");
  failure.where = other.place();
  return failure;
}

void follow_replaced_definitions(Plan& plan) {
  const std::set<GroupKind> replaced = defined_by(plan, ActionKind::Replace);
  for (PlannedAction& action : plan.writes) {
    if (!replaced.contains(action.key.group_kind)) continue;
    action.late = true;
    if (action.kind != ActionKind::Unchanged && action.kind != ActionKind::Update &&
        action.kind != ActionKind::Adopt)
      continue;
    action.kind = ActionKind::Create;
    action.reason = "its definition is replaced, which deletes it";
    action.revision = plan.revision;
    action.adopting = action.adopted = action.ask = false;
    action.uid.clear();
    action.version.clear();
    action.differences.clear();
  }
  for (PlannedAction& action : plan.writes) {
    if (action.kind != ActionKind::Replace ||
        action.key.group_kind != apimachinery::kCustomResourceDefinition)
      continue;
    const GroupKind kind = apimachinery::defined_kind(plan.desired[action.desired].rendered.object.value());
    action.reason += fmt::format("; with it goes every {} in the cluster", kind.kind);
  }
}

kube::ObjectRef place_of(const Plan& plan, const PlannedAction& action, kube::ResourceInfo served) {
  const std::string& ns = action.key.ns.empty() ? plan.owner.ns : action.key.ns;
  const bool namespaced = served.namespaced;
  return {std::move(served), namespaced ? ns : std::string(), action.key.name};
}

void plan_replacement(PlannedAction& action, const DesiredObject& desired, const Value& live,
                      const PlanRules& rules, std::string reason) {
  action.reason = action.adopting && action.owner.empty()
                      ? fmt::format("it belongs to no release, and {}", reason)
                      : std::move(reason);
  action.cause = ConflictCause::Immutable;
  if (mark_of(live).empty() && !action.adopting && !rules.allowed.adopt) {
    action.kind = ActionKind::Conflict;
    action.reason += fmt::format(", and {}", kUnmarked);
    action.hint = "have it deleted and recreated with --adopt --replace";
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
  action.hint = allowed ? fmt::format("it is not replaced: {}", kept)
                        : fmt::format(
                              "have it deleted and recreated with --replace, or with the annotation "
                              "{}: \"true\" on the object",
                              kReplaceAnnotation);
}

std::vector<FieldDifference> differences_of(const DesiredObject& desired, const Value& live,
                                            std::string_view manager) {
  std::vector<FieldDifference> found = differences(desired.rendered.object.value(), live, manager);
  std::erase_if(found, [](const FieldDifference& d) { return d.path == version_label_path(); });
  return found;
}

namespace {

bool is_of_others(const FieldDifference& difference) {
  return !difference.managers.empty() && !difference.stays_with_others();
}

}  // namespace

std::string first_field_of_others(const std::vector<FieldDifference>& differences) {
  const auto first = std::ranges::find_if(differences, is_of_others);
  return first == differences.end() ? std::string() : first->path;
}

std::string fields_of_others(const std::vector<FieldDifference>& differences) {
  std::string others;
  for (const FieldDifference& difference : differences) {
    if (!is_of_others(difference)) continue;
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", difference.path,
                          join(difference.managers, ", "));
  }
  return others;
}

std::string transfer_words(const PlannedAction& action) {
  const auto& managers = action.transfer->managers;
  if (managers.size() == 1 && managers.front().first == kForgottenOwner && !action.adopting)
    return "its managed fields were cleared outside of Mistletoe";
  const std::string_view why = action.adopting           ? "it belongs to no release and is adopted"
                               : action.transfer->copied ? "it was recreated outside of Mistletoe"
                                                         : "it was adopted";
  return fmt::format("{}, with the fields of {}", why, managers_words(*action.transfer));
}

std::string difference_words(const std::vector<FieldDifference>& differences) {
  if (differences.empty()) return "only its field ownership differs";
  return differences.size() == 1 ? differences[0].path + " differs"
                                 : fmt::format("{} fields differ", differences.size());
}

bool is_owned(const InventoryItem& item, const Value& live, std::string_view part_of) {
  const std::string_view mark = mark_of(live);
  if (!mark.empty()) return mark == part_of;
  return !item.hook && !item.uid.empty() && item.uid == live.string_at({"metadata", "uid"});
}

Status refuse_conflicts(const Plan& plan) {
  constexpr std::size_t kShown = 20;
  std::optional<Error> failure;
  std::size_t count = 0;
  // `rendered`: null of what is to be deleted.
  const auto refuse = [&](const PlannedAction& action, const RenderedObject* rendered) {
    if (action.kind != ActionKind::Conflict) return;
    ++count;
    // Reasons of conflicts begin with "it".
    const std::string words =
        action.key.display() +
        action.reason.substr(std::min<std::size_t>(action.reason.size(), std::string_view("it").size()));
    if (!failure) {
      failure = error(ErrorKind::Conflict, "{}", words);
      if (rendered != nullptr) failure->where = place_of_field(*rendered, action.field);
      failure->hint = action.hint;
    } else if (count <= kShown) {
      failure->frames.push_back(
          rendered == nullptr
              ? fmt::format("also: {}", words)
              : fmt::format("also: {} ({})", words, place_of_field(*rendered, action.field).text()));
    }
  };
  for (const PlannedAction& action : plan.writes) refuse(action, &plan.desired[action.desired].rendered);
  for (const PlannedAction& action : plan.removals) refuse(action, nullptr);
  if (!failure) return {};
  if (count > kShown) failure->frames.push_back(fmt::format("and {} more", count - kShown));
  return *std::move(failure);
}

std::vector<InventoryItem> inventory_of(const Plan& plan) {
  std::vector<InventoryItem> inventory;
  for (const std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (const PlannedAction& action : *actions) {
      // Of a replacement either the old object or the new one may be there: its mark tells.
      const bool replaced = action.kind == ActionKind::Replace;
      // A planned delete stays in the pending revision's inventory: should we die before it, the next write
      // knows it.
      inventory.push_back({.key = action.key,
                           .version = action.resource.gvk.version,
                           .uid = replaced ? std::string() : action.uid,
                           .revision = action.revision,
                           .retained = action.kind == ActionKind::Retain,
                           .adopted = action.adopted,
                           .replacing = replaced,
                           .hook = actions == &plan.writes && plan.is_hook(action),
                           .ended = action.ended && !replaced,
                           .fields_taken = action.fields_taken && !action.transfer,
                           .taken_from = action.taken_from,
                           .left = action.left ? action.reason : std::string(),
                           .server_made = action.server_made});
    }
  }
  inventory.insert(inventory.end(), plan.waiting.begin(), plan.waiting.end());
  return inventory;
}

}  // namespace mist::apply
