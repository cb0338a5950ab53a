#pragma once
// The state of the cluster, as instances see it: an informer for each kind of objects that they own, and what
// they read of others. It knows which instances a change concerns, and wakes them. It stops watching what no
// instance asks for any more; else anybody who writes instances could make it watch without end. One thread
// asks; informers' threads wake.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "kube/informer.h"
#include "operator/own_watch.h"
#include "operator/reads.h"
#include "operator/words.h"

namespace mist::operator_ {

/// A blueprint (no instance named), or one of its instances.
struct Item {
  std::string blueprint;
  kube::Informer::Key instance = {};
  bool is_blueprint() const { return instance.second.empty(); }
  friend auto operator<=>(const Item&, const Item&) = default;
};

class Observer {
 public:
  using Wake = std::function<void(const Item&)>;

  Observer(kube::Client& client, WatchedNamespaces namespaces, Clock& clock, EventSink& events, Wake wake);

  /// An instance is looked at: what it asks for until finish() is what it is woken for.
  void begin(const Item& item);
  /// `known`: it was created, or was about to be. Then what the informer doesn't have is asked for: somebody
  /// may have removed the label by which informers select. Errors: the kind isn't served, a request's, or
  /// Forbidden where a watch is no longer allowed: what it has may be old; or where it is outside of the
  /// watched namespaces.
  Result<Observation> observe(const ObjectId& id, bool owned, bool known, const Context& context);
  /// The objects of these kinds that carry the mark of the instance with that uid. None of a kind that isn't
  /// served, or that the server refuses to tell of.
  std::vector<ObjectId> marked(const std::set<reconcile::ObjectKind>& kinds, std::string_view uid,
                               const Context& context);
  /// nullopt: not known yet. Errors: as above.
  Result<std::optional<Value::Array>> list(const Collection& collection, const Context& context);
  /// Something that it asked for will be known in a moment: deciding now would take it for missing.
  bool unsynced() const { return unsynced_; }
  /// Something that it asked for is there, and no informer has it: nobody will tell when that changes.
  bool unseen() const { return unseen_; }
  /// `partly`: not everything was asked for, so that what it asked for before counts too.
  void finish(bool partly);
  /// The instance is gone.
  void forget(const Item& item);

  /// Objects that changed since somebody asked, of those that the instance asks for.
  std::set<ObjectId> take_changed(const Item& item);
  /// The server's answer to a write of ours.
  void put(const ObjectId& id, const Value& answer, std::vector<apply::ServerMade> made);

  /// How many watches there are. For tests.
  std::size_t watches() const;

 private:
  using Informer = kube::Informer;

  void ask(const ObjectId& id);
  Result<OwnWatch*> watch_of(const ObjectId& id, const Context& context);
  bool is_synced(bool synced, SteadyTime since);
  void changed(const std::string& api_version, const std::string& kind,
               const std::optional<Informer::Key>& key);
  // Sorted; many instances may read one object, and each of tens of thousands of objects has an owner.
  using Items = std::vector<std::shared_ptr<const Item>>;
  static Items::iterator place_of(Items& items, const Item& item);
  void tell(const ObjectId& id, const Items& items);
  void leave(const ObjectId& id, const Item& item);
  void leave(const Collection& collection, const Item& item);
  void leave_others(const Item& item);

  kube::Client& client_;
  const WatchedNamespaces namespaces_;
  Clock& clock_;
  EventSink& events_;
  const Wake wake_;
  std::mutex mutex_;
  // Guarded by mutex_: whom a change concerns, and what has changed. An object without a name stands for all
  // of its kind.
  std::map<ObjectId, Items> owners_;
  std::map<Collection, std::set<Item>> listers_;
  std::map<Item, std::set<ObjectId>> changed_;
  // The asking thread's.
  struct Asked {
    std::shared_ptr<const Item> item;      // in owners_
    std::vector<const ObjectId*> objects;  // keys of owners_, sorted: as long as it asks, it is there too
    std::set<Collection> collections;
    void add(const ObjectId* object);
  };
  Item item_;
  Asked asking_;
  bool unsynced_ = false, unseen_ = false;
  std::map<Item, Asked> asked_;
  std::map<ObjectId, std::vector<apply::ServerMade>> server_made_;
  // Their threads use what stands above.
  std::map<std::string, OwnWatch> owned_;  // by kind, of which somebody asks for an object
  Reads reads_;
};

}  // namespace mist::operator_
