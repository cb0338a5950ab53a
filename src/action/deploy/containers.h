#pragma once
// A container is never deleted while something in it stays, whatever flags say. A Namespace contains the
// objects in it, a CustomResourceDefinition all objects of its kind, an APIService all objects that it
// serves, and any object those that the garbage collector takes along, because it is their only owner. A
// PersistentVolume can't be deleted while a claim is bound to it, and a token or the Endpoints of a Service
// go with the ServiceAccount or the Service that their controllers make them for.
//
// Three things stay: what the release still wants or retains, with its record where that stays; other
// releases' objects and records; and objects that are annotated to be kept. An object that belongs to nobody
// goes with its container where --delete-namespaces or --delete-crds says so, and is listed then; so does
// everything that can't be looked at. Each deletion is decided twice: settle() for the plan, last_check()
// right before the DELETE, for objects that came meanwhile. Upgrade, rollback, undoing, saved plans and
// uninstalling use this one mechanism.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "action/deploy/container_contents.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// The fate of the release's own record.
enum class RecordFate : std::uint8_t { Stays, Goes };

class Containers {
 public:
  Containers() = default;
  Containers(apply::Owner id, apply::PruneRules rules, RecordFate record)
      : id_(std::move(id)), rules_(std::move(rules)), record_(record) {}

  /// Decides for all that this plan deletes: Deletes become Retains, Replaces become Conflicts. Reads the
  /// cluster only if a container is to go. The plan's list of what goes with each is in its reasons.
  static Result<Containers> of_plan(const Environment& environment, apply::Plan& plan,
                                    const apply::LiveState& live, const apply::PruneRules& rules,
                                    const Context& context);
  /// The same for removals alone; again when more of them turn out to stay.
  Status settle(const Environment& environment, std::vector<apply::PlannedAction>& removals,
                const apply::LiveState& live, const Context& context);

  /// Right before it is deleted: why it stays after all, in one sentence; empty: it goes. Any thread.
  Result<std::string> last_check(const Environment& environment, const apimachinery::ObjectKey& key,
                                 const Context& context) const;

  /// Of an object that is deleted and recreated although nobody was asked: which claims, and which other data
  /// that is to be kept, would be lost since only it owns them, in one sentence; empty: none. Any thread.
  Result<std::string> data_lost_with(const Environment& environment, const apimachinery::ObjectKey& key,
                                     const std::string& uid, const Context& context) const;

  /// Objects that a run itself makes, and deletes later.
  void add_deletions(const std::set<std::string>& uids) { deletions_.uids.insert(uids.begin(), uids.end()); }

  /// A sentence for each container that goes although it holds what isn't the release's: what goes with it.
  std::vector<std::string> warnings(const std::vector<apply::PlannedAction>& actions) const;
  /// By container: what is in it and isn't the release's ("ConfigMap shop/theirs").
  const std::map<apimachinery::ObjectKey, std::vector<std::string>>& foreign() const { return foreign_; }

 private:
  struct Staying {
    apimachinery::ObjectKey key;
    std::string version;              // of its API
    std::string why;                  // "is still wanted"
    std::vector<std::string> owners;  // uids
    std::string made_for = {};        // the ServiceAccount of a token
    bool rewritten = false;           // created again when its CRD is replaced
    std::string uid = {};
  };
  using Views = std::map<apimachinery::ObjectKey, ContainerView>;
  using Data = std::map<std::string, ContainerView>;  // of_data(), by namespace

  void stays(const apimachinery::ObjectKey& key, std::string version, std::string why,
             const apply::LiveState& live, bool rewritten = false);
  void retain(apply::PlannedAction& removal, std::string why, const apply::LiveState& live);
  Result<const ContainerView*> view_of(const Environment& environment, const apimachinery::ObjectKey& key,
                                       Views& views, const Context& context) const;
  bool holds(const apimachinery::ObjectKey& container, const apimachinery::GroupKind& defined,
             const Staying& staying) const;
  std::string known_to_stay(const apply::PlannedAction& container, const apimachinery::GroupKind& defined,
                            bool replaced) const;
  std::string kept_by(const apimachinery::ObjectKey& container, const Contents& contents) const;
  std::string owning_what_stays(const Contents& contents) const;
  std::string bound_to_what_stays(const apply::PlannedAction& action, const apply::LiveState& live) const;
  bool allowed(const apimachinery::ObjectKey& container) const;
  Result<std::string> owning_what_is_kept(const Environment& environment, const apply::PlannedAction& action,
                                          const DeletionSet& deletions, Data& data,
                                          const Context& context) const;
  Result<DeletionSet> deletions_with_crds(const Environment& environment,
                                          const std::vector<apply::PlannedAction>& removals, Views& views,
                                          const Context& context) const;
  Result<std::string> owning_kept_data(const Environment& environment, const ContainerView& crd,
                                       const Contents& contents, const DeletionSet& deletions, Data& data,
                                       const Context& context) const;
  Result<const ContainerView*> data_of(const Environment& environment, const std::string& ns, Data& data,
                                       const Context& context) const;
  void tell_claims_that_go(std::vector<apply::PlannedAction>& actions, apply::ActionKind kind,
                           const DeletionSet& deletions, const Data& data);
  Result<bool> settle_owners(const Environment& environment, std::vector<apply::PlannedAction>& removals,
                             const apply::LiveState& live, Data& data, const Context& context);
  Status settle_replacements(const Environment& environment, apply::Plan& plan, const apply::LiveState& live,
                             const Context& context);
  void let_go(apply::PlannedAction& action, const Contents& contents);

  apply::Owner id_;
  apply::PruneRules rules_;
  RecordFate record_ = RecordFate::Stays;
  std::vector<Staying> staying_;
  std::set<std::string> freed_;  // DeletionSet::freed of the removals, which come after all writes
  DeletionSet deletions_;
  std::set<std::string> namespaces_;  // of what goes, and the release's own
  std::map<apimachinery::ObjectKey, std::vector<std::string>> foreign_;
  std::set<apimachinery::ObjectKey> unread_;  // CRDs whose objects, none of them read, were let go
};

}  // namespace mist::action
