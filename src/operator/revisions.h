#pragma once
// Which revision of each blueprint is in force: reads them from ConfigMaps, evaluates them, and keeps the
// last good one where the next can't be used. Tells their authors by annotations and Events. One thread at a
// time.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "blueprint/evaluator.h"
#include "kube/division.h"
#include "kube/informer.h"
#include "operator/actors.h"
#include "operator/answers.h"
#include "operator/metrics.h"
#include "operator/notices.h"
#include "operator/observer.h"
#include "operator/unwatched.h"

namespace mist::operator_ {

/// A blueprint, as it is in force.
struct Loaded {
  std::optional<package::Files> files;  // as they were last read
  // Of the last good revision; after a start, of the one by which instances were served before.
  std::optional<package::Files> files_in_force;
  std::vector<std::string> parts;  // the further ConfigMaps that its own names
  bool is_known = false;           // whether it was read since the start
  bool rejected = false;           // those files
  bool for_its_crd = false;        // rejected, and a change of the CRD may make it good
  Account account;                 // as which its work is done
  std::string warnings;            // about the revision in force
  // It is in force, and not said to be: whether its instances can be listed isn't known yet.
  bool is_unsaid = false;
  Unwatched unwatched = {};  // where they couldn't be, as it was said last
  std::shared_ptr<blueprint::Evaluator> evaluator;
  // The last good one, and its instances; whoever works with them keeps them meanwhile.
  std::shared_ptr<const blueprint::Blueprint> blueprint;
  std::shared_ptr<kube::MultiNamespaceInformer> instances;
  Answers answers;
  bool is_evaluating = false;  // somebody is, who will see to open questions too
  // Its status, which could not be written.
  struct Untold {
    std::string status, message;
    Error failure;
  };
  std::optional<Untold> untold;

  void forget(const kube::Informer::Key& instance);
};

class Revisions {
 public:
  struct Dependencies {
    kube::Client& client;
    package::Renderer& renderer;
    Clock& clock;
    EventSink& events;
    Notices& notices;
    Actors& actors;
    Account default_account;
    const kube::Share& share;  ///< of several replicas only the first writes to blueprints
    Metrics& metrics;
    const WatchedNamespaces& namespaces;  ///< of instances
  };
  /// `wake`: a blueprint or an instance is to be looked at.
  Revisions(Dependencies dependencies, std::string ns, Observer::Wake wake);

  /// Begins to watch, and finds blueprints that lost their label. Errors: those of the first request.
  Status start(const Context& context);
  /// The blueprint changed, or its last try failed for no fault of its own. It is evaluated without the lock.
  /// Errors: it is to be tried again; so is a status that could not be written.
  Status load(const std::string& name, std::unique_lock<std::mutex>& lock, const Context& context);
  /// All blueprints are to be looked at. After start(); any thread.
  void wake_all() const;
  /// Whether the watch shows a blueprint of that name, or one that lost its label is remembered.
  bool has(const std::string& name) const { return map_of(name).has_value(); }
  Loaded& of(const std::string& name) { return blueprints_[name]; }
  /// A blueprint stays as long as it has instances: without it an operator that starts again would not know
  /// them, and their finalizers would never go.
  Status guard(const std::string& name, bool on, const Context& context);

 private:
  using Revision = std::pair<blueprint::Evaluator, blueprint::Blueprint>;
  Result<Revision> revision_of(const std::string& name, const package::Files& files, const ObjectId& kept,
                               blueprint::Standing standing, const Context& context);
  static blueprint::Standing standing_of(Loaded& loaded, const Value& map, const package::Files& files);
  Account account_of(const Value& map) const;
  std::optional<std::string> keeper_beside(const std::string& name, const Value& map,
                                           const apimachinery::GroupKind& kind) const;
  std::optional<std::string> in_force_beside(const std::string& name,
                                             const apimachinery::GroupKind& kind) const;
  bool has_no_instances(const std::string& name, const Loaded& loaded, const Value& map) const;
  void take_instances_from_others(const std::string& name, const apimachinery::GroupKind& kind);
  void try_rejected_again();
  void leave_account(const std::string& name, Loaded& loaded);
  Status watch_instances(const std::string& name, Loaded& loaded, const apimachinery::GroupVersionKind& kind,
                         const Context& context);
  Status reject(const std::string& name, Loaded& loaded, const Value& map, const Error& failure,
                const ObjectId& kept, const Context& context);
  bool say_unwatched(const std::string& name, Loaded& loaded, const Value& map, const Context& context);
  void say_in_force(const std::string& name, Loaded& loaded, const Value& map, const Context& context);
  Status load_revision(const std::string& name, std::unique_lock<std::mutex>& lock, const Context& context);
  void say(const Value& map, std::string_view status, const std::string& message, const Context& context);
  void say_again(const Loaded& loaded, const Value& map, const Context& context);
  void find_unlabelled(const kube::ResourceInfo& maps, const Context& context);
  Status load_without(const std::string& name, Loaded& loaded, const Context& context);
  void leave_instances(const std::string& name, Loaded& loaded);
  std::optional<Value> map_of(const std::string& name) const;
  std::optional<Value> labelled(const std::string& name) const;
  bool is_part_alone(const std::string& name);
  bool knows_all_parts(const std::string& name);
  void told(const std::optional<kube::Informer::Key>& key);
  void keep(const std::string& name, Value map);
  Status restore_crd(const std::string& name, const Loaded& loaded, const Context& context);

  Dependencies dependencies_;
  const std::string ns_;
  const Observer::Wake wake_;
  std::map<std::string, Loaded> blueprints_;
  // ConfigMaps that hold a blueprint's instances and lack its label.
  struct Unlabelled {
    Value map;  // as it was last seen; of one that was just found, the metadata
    bool is_told = false;
  };
  std::map<std::string, Unlabelled> unlabelled_;
  std::set<std::string> parts_;  // ConfigMaps that were parts of blueprints when somebody looked last
  std::mutex syncing_mutex_;
  std::set<std::string> syncing_;  // blueprints whose parts may not have been listed yet; by syncing_mutex_
  std::unique_ptr<kube::Informer> config_maps_;  // last: its thread uses the others
};

}  // namespace mist::operator_
