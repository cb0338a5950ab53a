#pragma once
// The present content of a collection, kept up by one LIST and one WATCH for as long as the informer lives:
// the reflector and store of client-go in one. It survives cuts, expired versions and outages of the server,
// also one that comes back with an earlier state (etcd was restored from a snapshot).
// Objects are kept as JSON text, which takes about a sixth of a Value's memory: there may be tens of
// thousands, and few are read at a time. Their managed fields, which can be half of that text, are kept once
// for all objects that have the same. Any thread may read; `changed` is called on the informer's own
// thread, without a lock held.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/event.h"
#include "kube/client.h"
#include "kube/shared_texts.h"

namespace mist::kube {

class Informer {
 public:
  /// Namespace (empty: cluster-scoped) and name.
  using Key = std::pair<std::string, std::string>;
  /// Which object changed, appeared or went; nullopt: everything that is there has been seen; or that was so,
  /// and now failure() is NotFound, as the server doesn't serve the kind there any more, or there is a
  /// refusal().
  using Changed = std::function<void(const std::optional<Key>&)>;

  /// `client`, `clock` and `events` outlive this. `prune` takes out of an object what nobody reads; may be
  /// empty. A watch that the server refuses (no permission, or the kind isn't served yet) is begun again with
  /// back-off: at most 15 seconds, a minute where the kind isn't served. `unlisted` is called, as `changed`
  /// is, when list_failure() becomes another error; that there is none any more is told by `changed`. May be
  /// empty.
  Informer(Client& client, ResourceInfo resource, ListOptions options, std::function<void(Value&)> prune,
           Changed changed, Clock& clock, EventSink& events, std::function<void()> unlisted = {});
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  const ResourceInfo& resource() const { return resource_; }
  /// Whether what isn't in the store isn't there.
  bool synced() const;
  /// Why its last watch ended; nullopt: it hasn't, or it has begun again.
  std::optional<Error> failure() const;
  /// Why nobody tells any more what changes, after it has synced: the server no longer allows the list
  /// (Forbidden). nullopt: it does.
  std::optional<Error> refusal() const;
  /// Why the server could not list the collection when it was last asked to, before or after it has synced:
  /// what changes there isn't seen. nullopt: it could, or it didn't answer at all.
  std::optional<Error> list_failure() const;
  std::optional<Value> get(const Key& key) const;
  std::vector<Key> keys() const;
  /// Of the objects in whose JSON that text stands, managed fields apart. Reads all of them.
  std::vector<Key> keys_with(std::string_view text) const;
  /// The server's answer to a write of ours counts as if the watch had told it already; not one of an object
  /// that has lost the labels by which the watch selects. Silent: when the
  /// watch tells it, or what came before it, nobody is told; so the caller looks at what the answer has.
  enum class Echo : std::uint8_t { Told, Silent };
  void put(Value object, Echo echo = Echo::Told);

 private:
  void run(const std::stop_token& stop);
  void take(const WatchEvent& event);
  bool ended(const Error& failure, bool was_listed);
  void cannot_list(const Error& failure);
  struct Item {
    std::string text;          // JSON, without managed fields
    SharedTexts::Text fields;  // the managed fields, as JSON; null: there are none
    std::string version;       // resourceVersion
    bool told = false;         // the present watch told of it
  };
  // With the lock.
  void fill(Item& item, Value object);
  void take_object(const Key& key, Value object, WatchEventType type);
  std::vector<Key> end_list(std::string_view version);

  Client& client_;
  const ResourceInfo resource_;
  const ListOptions options_;
  const std::function<void(Value&)> prune_;
  const Changed changed_;
  const std::function<void()> unlisted_;
  Clock& clock_;
  EventSink& events_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  bool synced_ = false;
  std::optional<Error> failure_, refusal_, list_failure_;
  SharedTexts fields_;
  std::map<Key, Item> items_;
  std::map<Key, std::string> silent_;  // versions
  std::string complete_;               // the version of which is known that what isn't in items_ isn't there
  std::string latest_;                 // the highest version that the watch has told of
  std::map<Key, Item> refused_;        // as told by a list, of objects that are known in a later version

  std::jthread thread_;  // last: it uses the others
};

}  // namespace mist::kube
