#pragma once
// The objects and collections that instances read and don't own. A few of a kind are watched one by
// one, which takes the right to those names only. Many are watched together, in their namespace or in all,
// where the account may do that: else each keeps its watch, and a thread with it. One thread asks; `told` is
// called on the watches' threads, without a lock held.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "operator/own_watch.h"
#include "operator/shared_watch.h"

namespace mist::operator_ {

class Reads {
 public:
  struct Told {
    /// As Informer::Changed, of that kind.
    std::function<void(const reconcile::ObjectKind&, const std::optional<kube::Informer::Key>&)> object;
    std::function<void(const Collection&)> list;
  };
  /// References outlive this.
  Reads(kube::Client& client, WatchedNamespaces namespaces, Clock& clock, EventSink& events, Told told);

  /// The knowledge of one thing that was asked for.
  template <typename T>
  struct Sight {
    bool synced = false;  ///< else nothing is known of it
    SteadyTime since{};   ///< when somebody began to look
    /// Not synced: why the last attempt to look ended. Synced: why nobody tells any more what changes.
    std::optional<Error> failure = {};
    T found = {};
    const kube::ResourceInfo* resource = nullptr;
  };
  /// Of an informer, or of another watch that can say as much, without `found`: of objects in the namespace
  /// `ns`, however it is in others; empty: in all.
  template <typename T, typename Watch>
  static Sight<T> sight_of(const Watch& watch, const std::string& ns, SteadyTime since) {
    Sight<T> sight{.synced = watch.synced(ns), .since = since, .resource = &watch.resource()};
    sight.failure = sight.synced ? watch.refusal(ns) : watch.failure(ns);
    return sight;
  }
  /// Both watch it until leave(). Without a namespace, a list is one of all
  /// watched namespaces. Errors: the kind isn't served, it is outside of these namespaces (Forbidden), or a
  /// request's.
  Result<Sight<std::optional<Value>>> read(const ObjectId& id, const Context& context);
  Result<Sight<Value::Array>> list(const Collection& collection, const Context& context);
  void leave(const ObjectId& id);
  void leave(const Collection& collection);
  /// The server's answer to a write of ours.
  void put(const ObjectId& id, const Value& answer);

  /// How many watches there are. For tests.
  std::size_t watches() const;

 private:
  struct Shared {
    std::unique_ptr<SharedWatch> watch;
    SteadyTime since{};
    std::map<std::string, SteadyTime> refused_since = {};  // after it has synced; by namespace, "": in any
  };
  struct Kind {
    std::map<ObjectId, OwnWatch> objects;
    std::map<Collection, OwnWatch> collections;
    std::map<std::string, Shared> shared;  // by namespace; "": all
    std::map<std::string, SteadyTime> refused_until;
    bool empty() const {
      return objects.empty() && collections.empty() && shared.empty() && refused_until.empty();
    }
  };
  // The watch of many that has what is in that namespace, or will have it; null: there is none.
  Result<Shared*> shared_for(Kind& kind, const reconcile::ObjectKind& of, const std::string& ns);
  // Whether it is to be asked for there; else in a watch of its own.
  template <typename What, typename Singles>
  Result<Shared*> taken_on(Kind& kind, const reconcile::ObjectKind& of, const What& what, Singles& singles);
  void share_if_many(Kind& kind, const reconcile::ObjectKind& of, const std::string& ns,
                     const kube::ResourceInfo& resource);
  void share(Kind& kind, const reconcile::ObjectKind& of, const std::string& ns,
             const kube::ResourceInfo& resource);
  bool is_refused(Shared& shared, const std::string& ns) const;
  void refuse(Kind& kind, const reconcile::ObjectKind& of, const std::string& place);
  template <typename What>
  static void leave_shared(Kind& kind, const What& what, const Shared* but = nullptr);

  kube::Client& client_;
  const WatchedNamespaces namespaces_;
  Clock& clock_;
  EventSink& events_;
  const Told told_;
  std::map<reconcile::ObjectKind, Kind> kinds_;
};

}  // namespace mist::operator_
