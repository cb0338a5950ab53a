#include "action/deploy/containers.h"

#include <algorithm>

#include "apimachinery/built_in_groups.h"
#include "apply/plan/replacement.h"
#include "apply/reserved_metadata.h"
#include "base/some_of.h"
#include "base/text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using apply::ActionKind;
using apply::LiveState;
using apply::PlannedAction;
using encoding::Value;

namespace {

const GroupKind kApiServiceKind{"apiregistration.k8s.io", "APIService"};
const GroupKind kVolumeKind{"", "PersistentVolume"};
const std::string kEverywhere;  // as a LIST has it
constexpr std::string_view kAccountOfToken = "kubernetes.io/service-account.name";

bool is_looked_into(const ObjectKey& key) {
  return key.group_kind == apimachinery::kNamespace ||
         key.group_kind == apimachinery::kCustomResourceDefinition;
}

std::string_view flag_of(const ObjectKey& container) {
  return container.group_kind == apimachinery::kNamespace ? "--delete-namespaces" : "--delete-crds";
}

std::string would_go(std::vector<std::string> names) {
  return names.empty() ? std::string() : "with it would go " + some_of(std::move(names), 3);
}

std::vector<std::string> owners_of(const Value& live) {
  std::vector<std::string> uids;
  if (const Value* owners = live.at_path({"metadata", "ownerReferences"});
      owners != nullptr && owners->is_array()) {
    for (const Value& owner : owners->as_array()) uids.emplace_back(owner.string_at("uid"));
  }
  return uids;
}

bool is_kept(const LiveState& live, const ObjectKey& key) {
  const auto there = live.find(key);
  return there != live.end() && !apply::keeping_annotation(there->second.value).empty();
}

// Written before anything is deleted, so that the garbage collector finds no owner any more.
bool loses_its_owners(const PlannedAction& write, const LiveState& live) {
  const auto there = live.find(write.key);
  const bool changes = write.kind == ActionKind::Update || write.kind == ActionKind::Adopt;
  if (!changes || write.uid.empty() || there == live.end()) return false;
  const Value& now = there->second.value;
  return !owners_of(now).empty() && owners_of(apply::with_differences(now, write.differences)).empty();
}

std::string uid_of(const LiveState& live, const ObjectKey& key) {
  const auto there = live.find(key);
  return there == live.end() ? std::string()
                             : std::string(there->second.value.string_at({"metadata", "uid"}));
}

}  // namespace

void Containers::stays(const ObjectKey& key, std::string version, std::string why, const LiveState& live,
                       bool rewritten) {
  const auto there = live.find(key);
  Staying staying{key,
                  std::move(version),
                  std::move(why),
                  there == live.end() ? std::vector<std::string>() : owners_of(there->second.value),
                  "",
                  rewritten};
  staying.uid = uid_of(live, key);
  if (there != live.end() && key.group_kind == apimachinery::kSecret)
    staying.made_for = there->second.value.string_at({"metadata", "annotations", kAccountOfToken});
  staying_.push_back(std::move(staying));
}

void Containers::retain(PlannedAction& removal, std::string why, const LiveState& live) {
  removal.kind = ActionKind::Retain;
  removal.reason = std::move(why);
  stays(removal.key, removal.resource.gvk.version, "stays", live);
}

Result<const ContainerView*> Containers::view_of(const Environment& environment, const ObjectKey& key,
                                                 Views& views, const Context& context) const {
  if (const auto known = views.find(key); known != views.end()) return &known->second;
  auto view = key.group_kind == apimachinery::kNamespace
                  ? ContainerView::of_namespace(environment, id_, key.name, context)
                  : ContainerView::of_crd(environment, id_, key.name, context);
  if (!view.ok())
    return std::move(view).error().with_frame(fmt::format("while looking what goes with {}", key.display()));
  return &views.emplace(key, *std::move(view)).first->second;
}

bool Containers::holds(const ObjectKey& container, const GroupKind& defined, const Staying& staying) const {
  if (container == staying.key) return false;
  if (container.group_kind == apimachinery::kNamespace) return staying.key.ns == container.name;
  if (container.group_kind == apimachinery::kCustomResourceDefinition)
    return staying.key.group_kind == defined;
  if (container.group_kind == GroupKind{"", "ServiceAccount"})
    return staying.key.ns == container.ns && !container.name.empty() && staying.made_for == container.name;
  if (container.group_kind == GroupKind{"", "Service"})
    return staying.key == ObjectKey{{"", "Endpoints"}, container.ns, container.name};
  return container.group_kind == kApiServiceKind &&
         container.name == fmt::format("{}.{}", staying.version, staying.key.group_kind.group);
}

// Objects that stay, as is known without a look at the cluster, and are in a container or belong to it alone.
std::string Containers::known_to_stay(const PlannedAction& container, const GroupKind& defined,
                                      bool replaced) const {
  std::vector<std::string> names;
  const bool is_crd = container.key.group_kind == apimachinery::kCustomResourceDefinition;
  if (record_ == RecordFate::Stays && container.key == ObjectKey{apimachinery::kNamespace, "", id_.ns})
    names.emplace_back("the record of the release");
  for (const Staying& each : staying_) {
    const bool inside = holds(container.key, defined, each) && !(replaced && is_crd && each.rewritten);
    // The garbage collector takes what has lost all its owners.
    const bool owned = each.key != container.key && !each.owners.empty() &&
                       !deletions_.freed.contains(each.uid) &&
                       std::ranges::find(each.owners, container.uid) != each.owners.end() &&
                       std::ranges::all_of(each.owners, [&](const std::string& uid) {
                         return uid == container.uid || deletions_.uids.contains(uid);
                       });
    if (inside)
      names.push_back(fmt::format("{}, which {}", each.key.display(), each.why));
    else if (owned)
      names.push_back(fmt::format("{}, which {} and has it as its owner", each.key.display(), each.why));
  }
  return would_go(std::move(names));
}

bool Containers::allowed(const ObjectKey& container) const {
  return container.group_kind == apimachinery::kNamespace ? rules_.delete_namespaces : rules_.delete_crds;
}

std::string Containers::kept_by(const ObjectKey& container, const Contents& contents) const {
  if (!contents.staying.empty()) return would_go(contents.staying);
  if (allowed(container)) return {};
  if (!contents.foreign.empty())
    return fmt::format("{}: {} removes it with them", foreign_words(contents.foreign), flag_of(container));
  if (!contents.unreadable.empty())
    return fmt::format("it may hold {}: {} removes it all the same", some_of(contents.unreadable, 2),
                       flag_of(container));
  return {};
}

// A claim holds its volume by a finalizer: deleted, the volume would be lost to it for ever, and never go.
std::string Containers::bound_to_what_stays(const PlannedAction& action, const LiveState& live) const {
  const auto there = live.find(action.key);
  if (action.key.group_kind != kVolumeKind || there == live.end()) return {};
  const Value& volume = there->second.value;
  const std::string_view claim = volume.string_at({"spec", "claimRef", "uid"});
  if (volume.string_at({"status", "phase"}) != "Bound" || claim.empty() ||
      deletions_.uids.contains(std::string(claim)))
    return {};
  return fmt::format("PersistentVolumeClaim {}/{}, which stays, is bound to it",
                     volume.string_at({"spec", "claimRef", "namespace"}),
                     volume.string_at({"spec", "claimRef", "name"}));
}

// An object that only what goes with a container owns.
std::string Containers::owning_what_stays(const Contents& contents) const {
  std::set<std::string> taken = contents.tied;
  for (const Contents::Foreign& each : contents.foreign) taken.insert(each.uid);
  std::vector<std::string> names;
  for (const Staying& each : staying_) {
    const auto goes = [&](const std::string& uid) {
      return taken.contains(uid) || deletions_.uids.contains(uid);
    };
    const bool by_it =
        std::ranges::any_of(each.owners, [&](const std::string& uid) { return taken.contains(uid); });
    if (by_it && !deletions_.freed.contains(each.uid) && std::ranges::all_of(each.owners, goes))
      names.push_back(fmt::format("{}, which {} and has its owner there", each.key.display(), each.why));
  }
  return would_go(std::move(names));
}

void Containers::let_go(PlannedAction& action, const Contents& contents) {
  deletions_.uids.insert(contents.tied.begin(), contents.tied.end());
  std::vector<std::string> names;
  for (const Contents::Foreign& each : contents.foreign) {
    deletions_.uids.insert(each.uid);
    names.push_back(each.display);
  }
  for (const std::string& each : contents.unreadable) names.push_back(each);
  if (!contents.unreadable.empty() && action.key.group_kind == apimachinery::kCustomResourceDefinition)
    unread_.insert(action.key);
  if (names.empty()) return;
  constexpr std::size_t kShown = 20;
  if (action.with_it.empty())  // else it was said when this was decided before
    action.reason += "; with it go, though the release does not own them: " + some_of(names, kShown);
  foreign_[action.key] = names;
  action.with_it = std::move(names);
}

Status Containers::settle(const Environment& environment, std::vector<PlannedAction>& removals,
                          const LiveState& live, const Context& context) {
  std::set<ObjectKey> known;  // of an earlier decision
  for (const Staying& each : staying_) known.insert(each.key);
  for (const PlannedAction& removal : removals) {
    if (removal.kind == ActionKind::Retain && !known.contains(removal.key))
      stays(removal.key, removal.resource.gvk.version,
            removal.owner.empty() ? "stays" : fmt::format("goes back to release {}", removal.owner), live);
  }
  Views views;
  Data data;
  namespaces_ = {id_.ns};
  for (const PlannedAction& removal : removals)
    if (!removal.key.ns.empty()) namespaces_.insert(removal.key.ns);
  // An object that turns out to stay may keep the next container.
  for (bool again = true; again;) {
    again = false;
    deletions_ = {.uids = {}, .api_services = {}, .freed = freed_};
    for (const PlannedAction& removal : removals) {
      if (removal.kind != ActionKind::Delete || removal.uid.empty()) continue;
      deletions_.uids.insert(removal.uid);
      if (removal.key.group_kind == kApiServiceKind) deletions_.api_services.insert(removal.key.name);
    }
    for (PlannedAction& removal : removals) {
      if (removal.kind != ActionKind::Delete) continue;
      GroupKind defined;
      if (removal.key.group_kind == apimachinery::kCustomResourceDefinition) {
        MIST_TRY(const ContainerView* view, view_of(environment, removal.key, views, context));
        defined = view->defined();
      }
      std::string why = known_to_stay(removal, defined, false);
      if (why.empty()) why = bound_to_what_stays(removal, live);
      if (!why.empty()) {
        retain(removal, std::move(why), live);
        again = true;
      }
    }
    if (again) continue;
    MIST_TRY(again, settle_owners(environment, removals, live, data, context));
    if (again) continue;
    MIST_TRY(const DeletionSet all, deletions_with_crds(environment, removals, views, context));
    for (PlannedAction& removal : removals) {
      if (removal.kind != ActionKind::Delete || !is_looked_into(removal.key)) continue;
      MIST_TRY(const ContainerView* view, view_of(environment, removal.key, views, context));
      const Contents contents = view->judge(deletions_);
      std::string why = kept_by(removal.key, contents);
      if (why.empty()) why = owning_what_stays(contents);
      if (why.empty() && removal.key.group_kind == apimachinery::kCustomResourceDefinition) {
        MIST_TRY(why, owning_kept_data(environment, *view, contents, all, data, context));
      }
      if (why.empty()) continue;
      if (!contents.foreign.empty()) {
        for (const Contents::Foreign& each : contents.foreign) foreign_[removal.key].push_back(each.display);
      }
      retain(removal, std::move(why), live);
      again = true;
    }
  }
  for (PlannedAction& removal : removals) {
    if (removal.kind != ActionKind::Delete || !is_looked_into(removal.key)) continue;
    MIST_TRY(const ContainerView* view, view_of(environment, removal.key, views, context));
    let_go(removal, view->judge(deletions_));
  }
  tell_claims_that_go(removals, ActionKind::Delete, deletions_, data);
  return {};
}

// A StatefulSet may own its claims (persistentVolumeClaimRetentionPolicy), as a package may have it: they go
// with it, whatever --delete-pvcs says. Of the actions of this kind.
void Containers::tell_claims_that_go(std::vector<PlannedAction>& actions, ActionKind kind,
                                     const DeletionSet& deletions, const Data& data) {
  std::map<std::string, std::set<std::string>> claims;
  for (const auto& [ns, view] : data)
    for (auto& [uid, names] : view.claims_with_owners(deletions))
      claims[uid].insert(names.begin(), names.end());
  for (PlannedAction& action : actions) {
    const auto with_it = claims.find(action.uid);
    if (action.kind != kind || is_looked_into(action.key) || with_it == claims.end()) continue;
    const std::vector<std::string> names(with_it->second.begin(), with_it->second.end());
    if (action.with_it.empty()) action.reason += "; with it go, since it owns them: " + some_of(names, 20);
    foreign_[action.key] = names;
    action.with_it = names;
  }
}

Result<const ContainerView*> Containers::data_of(const Environment& environment, const std::string& ns,
                                                 Data& data, const Context& context) const {
  auto view = data.find(ns);
  if (view == data.end()) {
    MIST_TRY(ContainerView seen, ContainerView::of_data(environment, id_, ns, context));
    view = data.emplace(ns, std::move(seen)).first;
  }
  return &view->second;
}

// The garbage collector deletes an object with its last owner. Why `action`'s object has to stay as the last
// owner of a claim, Secret or ConfigMap that stays; empty: it isn't one.
Result<std::string> Containers::owning_what_is_kept(const Environment& environment,
                                                    const PlannedAction& action, const DeletionSet& deletions,
                                                    Data& data, const Context& context) const {
  if (action.uid.empty()) return std::string();
  // Objects without a namespace may own some of any. A cluster's own kinds do so only by hand, and of all
  // namespaces few may list all data: of those, and then, the namespaces count in which the release is.
  const bool custom = !apimachinery::is_built_in_group(action.key.group_kind.group);
  std::set<std::string> namespaces{action.key.ns};
  if (action.key.ns.empty()) {
    namespaces = namespaces_;
    if (custom) namespaces.insert(kEverywhere);
  }
  for (const std::string& ns : namespaces) {
    MIST_TRY(const ContainerView* view, data_of(environment, ns, data, context));
    const std::map<std::string, std::string> kept = view->owners_of_kept(deletions);
    if (const auto by_it = kept.find(action.uid); by_it != kept.end())
      return would_go({by_it->second}) + " and has it as its owner";
    // Operators make chains of owners below objects of their own kinds.
    if (!custom) continue;
    if (const std::string unread = view->kept_by_unread_owners(deletions); !unread.empty())
      return "with it may go " + unread;
  }
  return std::string();
}

// The removals, with all the objects of the CRDs among them.
Result<DeletionSet> Containers::deletions_with_crds(const Environment& environment,
                                                    const std::vector<PlannedAction>& removals, Views& views,
                                                    const Context& context) const {
  DeletionSet all = deletions_;
  for (const PlannedAction& removal : removals) {
    if (removal.kind != ActionKind::Delete ||
        removal.key.group_kind != apimachinery::kCustomResourceDefinition)
      continue;
    MIST_TRY(const ContainerView* view, view_of(environment, removal.key, views, context));
    all.kinds.insert(view->defined());
  }
  return all;
}

// Why a CRD has to stay: an object of its kind, whoever made it, is the last owner of data that stays.
// Empty: none is.
Result<std::string> Containers::owning_kept_data(const Environment& environment, const ContainerView& crd,
                                                 const Contents& contents, const DeletionSet& deletions,
                                                 Data& data, const Context& context) const {
  if (contents.foreign.empty() && contents.tied.empty() && contents.unreadable.empty()) return std::string();
  std::set<std::string> namespaces = contents.namespaces;
  namespaces.insert(namespaces_.begin(), namespaces_.end());
  namespaces.insert(kEverywhere);
  // Objects that couldn't be listed may be in any namespace.
  const std::set<std::string> of_unread =
      contents.unreadable.empty() ? contents.namespaces : std::set<std::string>{kEverywhere};
  for (const std::string& ns : namespaces) {
    MIST_TRY(const ContainerView* view, data_of(environment, ns, data, context));
    if (const std::string kept = view->kept_below(crd.defined(), deletions); !kept.empty())
      return would_go({kept}) + " and has its owner there";
    if (const std::string unread = view->kept_by_unread_owners(deletions, of_unread); !unread.empty())
      return "with it may go " + unread;
  }
  return std::string();
}

// Retains removals that are such last owners. True: there were some.
Result<bool> Containers::settle_owners(const Environment& environment, std::vector<PlannedAction>& removals,
                                       const LiveState& live, Data& data, const Context& context) {
  bool found = false;
  for (PlannedAction& removal : removals) {
    if (removal.kind != ActionKind::Delete) continue;
    MIST_TRY(std::string why, owning_what_is_kept(environment, removal, deletions_, data, context));
    if (why.empty()) continue;
    retain(removal, std::move(why), live);
    found = true;
  }
  return found;
}

// Objects of a CRD that is replaced are recreated if they are wanted; nothing else comes back.
Status Containers::settle_replacements(const Environment& environment, apply::Plan& plan,
                                       const LiveState& live, const Context& context) {
  Views views;
  Data data;
  std::set<std::string> replaced;  // uids
  deletions_.freed.clear();        // what is replaced may go before they are written
  for (PlannedAction& write : plan.writes) {
    if (write.kind != ActionKind::Replace || plan.is_hook(write)) continue;
    // The dependents of the old one stay without an owner until the new one takes them over.
    if (apply::replacement_propagation(write) == kube::Propagation::Orphan) continue;
    std::string why;
    if (!is_looked_into(write.key)) {
      why = known_to_stay(write, {}, true);
      if (why.empty()) why = bound_to_what_stays(write, live);
      DeletionSet deletions = deletions_;
      deletions.uids.insert(replaced.begin(), replaced.end());
      deletions.uids.insert(write.uid);
      if (why.empty()) {
        MIST_TRY(why, owning_what_is_kept(environment, write, deletions, data, context));
      }
      if (why.empty()) replaced.insert(write.uid);
    } else {
      MIST_TRY(const ContainerView* view, view_of(environment, write.key, views, context));
      DeletionSet deletions = deletions_;
      for (const PlannedAction& other : plan.writes) {
        if (other.key.group_kind == view->defined() && !is_kept(live, other.key)) {
          if (const std::string uid = uid_of(live, other.key); !uid.empty()) deletions.uids.insert(uid);
        }
      }
      const Contents contents = view->judge(deletions);
      why = known_to_stay(write, view->defined(), true);
      if (why.empty()) why = kept_by(write.key, contents);
      if (why.empty()) why = owning_what_stays(contents);
      if (why.empty() && write.key.group_kind == apimachinery::kCustomResourceDefinition) {
        DeletionSet all = deletions;
        all.kinds.insert(view->defined());
        MIST_TRY(why, owning_kept_data(environment, *view, contents, all, data, context));
      }
      if (why.empty()) {
        deletions_.uids.merge(deletions.uids);
        let_go(write, contents);
      }
    }
    if (why.empty()) continue;
    write.kind = ActionKind::Conflict;
    write.refusal.cause = apply::ConflictCause::Immutable;
    write.reason += fmt::format(", and it is not replaced: {}", why);
    write.refusal.hint = "remove what would go from it first, or leave it as it is";
  }
  DeletionSet deletions = deletions_;
  deletions.uids.merge(replaced);
  tell_claims_that_go(plan.writes, ActionKind::Replace, deletions, data);
  return {};
}

Result<Containers> Containers::of_plan(const Environment& environment, apply::Plan& plan,
                                       const LiveState& live, const apply::PruneRules& rules,
                                       const Context& context) {
  Containers containers(plan.owner, rules, RecordFate::Stays);
  for (const PlannedAction& write : plan.writes)
    if (loses_its_owners(write, live)) containers.freed_.insert(write.uid);
  for (const PlannedAction& write : plan.writes)
    containers.stays(write.key, write.resource.gvk.version,
                     plan.is_hook(write) ? "is a hook of the release" : "is still wanted", live,
                     !is_kept(live, write.key));
  for (const apply::InventoryItem& hook : plan.waiting)
    containers.stays(hook.key, hook.version, "is a hook of the release", live);
  MIST_TRY_VOID(containers.settle(environment, plan.removals, live, context));
  MIST_TRY_VOID(containers.settle_replacements(environment, plan, live, context));
  return containers;
}

std::vector<std::string> Containers::warnings(const std::vector<PlannedAction>& actions) const {
  std::vector<std::string> sentences;
  for (const PlannedAction& action : actions) {
    const auto found = foreign_.find(action.key);
    if (found == foreign_.end() || (action.kind != ActionKind::Delete && action.kind != ActionKind::Replace))
      continue;
    constexpr std::size_t kShown = 20;
    sentences.push_back(fmt::format(
        "with {} {} go {} that the release does not own: {}",
        action.key.group_kind == apimachinery::kNamespace ? "the namespace" : action.key.group_kind.kind,
        action.key.name, plural(found->second.size(), "object"), some_of(found->second, kShown)));
  }
  return sentences;
}

Result<std::string> Containers::last_check(const Environment& environment, const ObjectKey& key,
                                           const Context& context) const {
  if (!is_looked_into(key)) return std::string();
  Views views;
  MIST_TRY(const ContainerView* view, view_of(environment, key, views, context));
  Contents contents = view->judge(deletions_);
  if (!contents.staying.empty()) return "since the plan, " + would_go(contents.staying);
  // The listed objects and all that belongs to them may go; so may everything that couldn't be read.
  if (!contents.foreign.empty() && !unread_.contains(key))
    return "since the plan, " + foreign_words(contents.foreign);
  if (!contents.unreadable.empty() && !allowed(key))
    return fmt::format("since the plan, it may hold {}", some_of(contents.unreadable, 2));
  return std::string();
}

Result<std::string> Containers::data_lost_with(const Environment& environment, const ObjectKey& key,
                                               const std::string& uid, const Context& context) const {
  const DeletionSet deletions{.uids = {uid}, .api_services = {}};
  Data data;
  MIST_TRY(std::string why,
           owning_what_is_kept(environment, {.key = key, .uid = uid}, deletions, data, context));
  if (!why.empty()) return why;
  std::vector<std::string> claims;
  for (const auto& [ns, view] : data)
    for (auto& [owner, names] : view.claims_with_owners(deletions))
      claims.insert(claims.end(), names.begin(), names.end());
  return would_go(std::move(claims));
}

}  // namespace mist::action
