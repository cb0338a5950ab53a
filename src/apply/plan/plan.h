#pragma once
// The Plan: what will happen to each object, and why, as data. Made by a pure function from what is wanted,
// what is owned and what is there; execute.h does exactly what it says. Any thread.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/fields/difference.h"
#include "apply/fields/field_transfer.h"
#include "apply/inventory.h"
#include "apply/order/order.h"
#include "apply/owner.h"
#include "apply/plan/desired.h"
#include "apply/plan/observe.h"

namespace mist::apply {

enum class ActionKind : std::uint8_t {
  Create,     ///< it isn't there
  Update,     ///< it is ours and differs
  Unchanged,  ///< it is ours and equal: no request
  Replace,    ///< it is ours and differs in what can't be changed: deleted and recreated
  Adopt,      ///< it was somebody else's or nobody's and becomes ours
  Conflict,   ///< it can't be written as things are; `hint` says which way out there is
  Delete,     ///< ours, no longer wanted
  Retain,     ///< ours, no longer wanted, left where it is by a rule
};
std::string_view to_string(ActionKind kind);  ///< "create", "update", …

/// Why an object can't be written as things are.
enum class ConflictCause : std::uint8_t {
  None,
  Foreign,    ///< it belongs to another release, or to nobody
  Deleting,   ///< it is on its way out
  Immutable,  ///< fields differ that can't be changed
  Fields,     ///< fields differ that other field managers own
  Refused,    ///< the server finds it invalid
  Denied,     ///< the server's admission forbids it
  NoRight,    ///< whoever asks may not write it
};

/// The owner of a live object.
struct LiveOwner {
  std::string part_of = {};  ///< the label; empty: none
  std::string release = {};  ///< the annotation; empty: none
  friend bool operator==(const LiveOwner&, const LiveOwner&) = default;
};
LiveOwner live_owner_of(const Value& live);

/// Why something can't be done as it is planned, or may not be.
struct PlanRefusal {
  ConflictCause cause = ConflictCause::None;  ///< also of replaces
  std::string field = {};  ///< also of replaces: the first field to blame, as a path (field_place.h)
  std::string hint = {};   ///< what to do
  /// It isn't about the object's own fields, so the order may answer it (refusal.h).
  bool arguable = false;
  ActionKind meant = ActionKind::Update;    ///< what it is if the server lets it, after all
  std::vector<std::string> denied_by = {};  ///< kube::denied_by()
};

/// The object as the look found it.
struct SeenObject {
  std::string resource_version = {};  ///< empty: it was not looked at
  /// Of what there is without our label: the version at which it has `owner`. Another release may want it
  /// too.
  std::string version = {};
  LiveOwner owner = {};
  bool unreadable = false;  ///< it can't be read now: what is there of it is as recorded
  bool finished = false;    ///< of unchanged Jobs: they have ended and are gone (finished_job.h)
  bool failed = false;      ///< of Jobs that are there: they have ended, and not well
};

/// The record of it. Fields without a comment are those of its InventoryItem after this plan.
struct RecordedAction {
  int revision = 0;           ///< that last changed it, after this plan
  int previous_revision = 0;  ///< that last changed it, before this plan
  bool adopted = false;       ///< it was there before this life of the release: not all of it may be ours
  bool fields_taken = false;
  std::string taken_from = {};
  bool was_retained = false;  ///< of removals: an earlier revision left it already
  bool ended = false;
  bool left = false;  ///< of unchanged objects: it differs and can't be changed back (left_as_is.h)
  std::vector<ServerMade> server_made = {};  ///< when it was last applied, or asked about
};

struct PlannedAction {
  ActionKind kind = ActionKind::Create;
  ObjectKey key = {};
  kube::ResourceInfo resource = {};  ///< of deletes without a served kind: resource is empty, nothing is sent
  bool late = false;                 ///< the kind arrives with this release; see DesiredObject
  /// Of the live object; empty: it isn't there, or a pending create of unknown outcome.
  std::string uid = {};
  SeenObject live = {};
  RecordedAction recorded = {};
  /// Of adopts, and updates of what was adopted without it or was restored from a copy: whose fields become
  /// ours before the apply. Without its managed_fields: execute.h computes those from the object as it is
  /// then.
  std::optional<FieldTransfer> transfer = {};
  std::vector<FieldDifference> differences = {};  ///< of updates, replaces, adopts; of conflicts where known
  std::string reason = {};                        ///< one sentence
  PlanRefusal refusal = {};                       ///< of conflicts
  /// Of adopts and conflicts: the release whose it is, "namespace/name"; empty: nobody's. Of retains: the
  /// release that it goes back to (action/deploy/take_over.h); empty: it stays.
  std::string owner = {};
  bool adopting = false;  ///< it isn't ours yet
  bool ask = false;       ///< the server is to say whether its fields may change so (settle.h)
  bool first = false;     ///< it comes before everything else (admission_change.h)
  /// Of deletes and replaces: what goes with it although the release doesn't own it.
  std::vector<std::string> with_it = {};
  std::size_t desired = 0;  ///< index into Plan::desired; not of deletes and retains
  /// Of hooks that run before and after everything else: the earlier write, whose object this one replaces,
  /// or where it is Unchanged leaves as it is.
  std::optional<std::size_t> again = {};
};

/// Which kinds pruning may remove although it would not by itself.
struct PruneRules {
  bool delete_crds = false;
  bool delete_pvcs = false;
  bool delete_namespaces = false;
  /// CustomResourceDefinitions by name that stay all the same: the package has them, and was told to leave
  /// them.
  std::set<std::string> left_crds = {};
  /// CustomResourceDefinitions go of which only the release has objects, whatever `delete_crds` says.
  bool unused_crds = false;
};

/// Changes beyond the ordinary that the user allows.
struct AllowedChanges {
  PruneRules prune = {};
  bool adopt = false;  ///< objects that belong to nobody become ours
  std::set<std::string> adopt_from =
      {};                     ///< managers whose fields are taken beside those of Helm and kubectl
  bool leave_fields = false;  ///< what was adopted without its earlier managers' fields stays so: for drift
  bool replace = false;       ///< what can't be changed is deleted and recreated
  bool force_conflicts = false;              ///< fields that other managers own are taken
  std::optional<Owner> take_over_from = {};  ///< that release's objects become ours
  bool keep_adopted = false;                 ///< what was there before the release stays: for going back
};

/// The rules that a plan is made by: what is allowed, and what is known beside the objects.
struct PlanRules {
  AllowedChanges allowed = {};
  /// By revisions that never were deployed, or are gone back over: it stays as well.
  std::set<ObjectKey> undeployed_adoptions = {};
  /// An object of these with our ownership labels was left by an earlier life of the release: it is adopted.
  std::set<ObjectKey> hooks_never_run = {};
  std::string kubectl = "kubectl";  ///< in hints: kube::Client::kubectl()
  bool read_only = false;  ///< nothing is to be written: who may not write is shown the plan all the same
  /// Jobs and Pods that Helm left of hooks are deleted when these run again: has_adopted().
  bool was_helms = false;
  bool made_namespace = false;  ///< the Namespace of the record is there only since this run made it
  /// Jobs that removed themselves when they had ended, and are wanted as they were (finished_job.h).
  std::set<ObjectKey> finished_jobs = {};
  /// The release's objects as it applied them, from its revisions; borrowed. For copies of them.
  std::multimap<ObjectKey, const Value*> recorded = {};
  /// Hooks that this revision or a later one began, and that did not fail, are not run again; -1: all are.
  int resumes = -1;
  /// Objects that nobody can read now, and why (ObserveOptions::unconverted).
  std::map<ObjectKey, Unconverted> unreadable = {};
};

struct Plan {
  Owner owner;
  std::vector<DesiredObject> desired;
  std::vector<PlannedAction> writes;    ///< one for each desired object, in its order
  std::vector<PlannedAction> removals;  ///< deletes and retains
  std::vector<InventoryItem> waiting;   ///< hooks of other moments: what is there of them stays
  Order order;                          ///< node i is writes[i]
  int revision = 0;

  /// Hooks don't count: they run when something else changes.
  bool changes_nothing() const;
  bool is_hook(const PlannedAction& write) const { return desired[write.desired].hook.has_value(); }
  std::size_t count(ActionKind kind) const;
};

/// Pure. `owned` is the union of the inventories of the deployed and of every later revision. An object that
/// can't be written is in the plan as a Conflict; the label of a live object says whose it is. The Namespace
/// of the record itself is adopted without asking. An object that the server serves under two API groups has
/// two keys and one uid: it is never removed under one while it is wanted under the other. Errors: a cycle in
/// the order; same_object_error().
Result<Plan> make_plan(const Owner& owner, std::vector<DesiredObject> desired,
                       const std::vector<InventoryItem>& owned, const LiveState& live, int revision,
                       const PlanRules& rules, std::vector<InventoryItem> waiting = {});

/// The order of its writes: what is `first`, and the writes `first_too`, then the rest. Errors: those of
/// infer_order().
Result<Order> order_of(const Plan& plan, const std::vector<std::size_t>& first_too = {});

/// Invalid: two wanted objects turn out to be one, by their uid.
Error same_object_error(const Plan& plan, const PlannedAction& first, const PlannedAction& second);

/// The kinds of the CustomResourceDefinitions with which the plan does that.
std::set<GroupKind> kinds_defined_by(const Plan& plan, ActionKind planned);

/// Replacing a CRD deletes every object of its kind: those of the plan are recreated. To be called
/// when it is known what is replaced, after settle().
void follow_replaced_crds(Plan& plan);

/// Where a planned object is on a server that serves its kind as `served`. An object of a late kind that
/// names no namespace and turns out to need one is in the release's.
kube::ObjectRef place_of(const Plan& plan, const PlannedAction& action, kube::ResourceInfo served);

/// The fields that others own and that this would change, with their owners: ".data.a (helm)"; empty: none.
std::string fields_of_others(const std::vector<FieldDifference>& differences);
/// The path of the first of them; empty: none.
std::string first_field_of_others(const std::vector<FieldDifference>& differences);

/// Makes a Replace of it, or where that isn't allowed a Conflict that says how to allow it. For changes of
/// fields that can't be changed; `reason` begins with "it".
void plan_replacement(PlannedAction& action, const DesiredObject& desired, const Value& live,
                      const PlanRules& rules, std::string reason);

/// The changes that applying this would make on the live object, or has failed to make. Without the version
/// label: that says when the object last changed, so it is not a change by itself.
std::vector<FieldDifference> differences_of(const DesiredObject& desired, const Value& live,
                                            std::string_view manager);

/// Of the label that says which revision last changed the object.
std::string version_label_path();

/// ".spec.replicas differs", "3 fields differ".
std::string difference_words(const std::vector<FieldDifference>& differences);

/// "it was adopted, with the fields of helm"; of an action with a transfer.
std::string transfer_words(const PlannedAction& action);

inline constexpr std::string_view kForceHint =
    "leave these fields to their owners, or take them with --force-conflicts";

/// The detail of a Conflict: whose objects are in the way.
struct OtherOwners {
  std::vector<std::string> releases;  ///< "namespace/name"
};

/// Conflict, naming each object that is one (up to a bound) with file and line, with OtherOwners where it is
/// about objects of other releases; ok: there is none.
Status refuse_conflicts(const Plan& plan);

/// Whether the live object under an inventory's key is the release's (whose mark is `part_of`): it carries
/// that mark, or none and is the one that was recorded. With the mark another uid is no other object: it was
/// made again from a copy (a backup, `kubectl replace --force`). A hook needs the mark. To be deleted, any
/// object needs it: see kUnmarked.
bool is_owned(const InventoryItem& item, const Value& live, std::string_view part_of);

/// The inventory that a finished plan leaves; before it ran, uids of creates are empty.
std::vector<InventoryItem> inventory_of(const Plan& plan);

/// Why an object stays that only a record claims. Anybody who can write a record could name any uid in it;
/// marking an object takes the right to write that object.
inline constexpr std::string_view kUnmarked =
    "it does not carry the release's label any more, so nothing but the record says that it is the release's";

/// Whether objects of the release were there before it: another tool made them. Its own namespace, which is
/// adopted without asking, doesn't count.
bool has_adopted(const Owner& owner, const std::vector<InventoryItem>& owned);

/// Why this object isn't removed by pruning or uninstalling; empty: it may be.
std::string_view kept_because(const ObjectKey& key, const Value* live, const PruneRules& rules);
/// The same for a hook that its next run, or its own delete policy, would delete: as with Helm, its
/// helm.sh/resource-policy says nothing about that.
std::string_view hook_kept_because(const ObjectKey& key, const Value& hook, const PruneRules& rules);
/// Whether the delete policy of a hook removes its object once all hooks of its phase have succeeded.
bool hook_goes(const PlannedAction& action, const DesiredObject& hook);
/// Whether that policy, or the one for failed hooks, may remove the object at all.
bool hook_may_go(const PlannedAction& action, const DesiredObject& hook);

}  // namespace mist::apply
