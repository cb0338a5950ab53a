#pragma once
// One watch of a kind, in a namespace or in all, for many who each want a few of its objects: a watch for
// each of them would take a thread here and a connection there. The content is kept of objects only that
// somebody wants; of the others, which may be all Secrets of a cluster, what a selection goes by. One thread
// asks; `told` is called on the watch's own thread, without a lock held.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "kube/multi_namespace_informer.h"
#include "operator/words.h"

namespace mist::operator_ {

class SharedWatch {
 public:
  using Key = kube::Informer::Key;
  struct Told {
    kube::Informer::Changed object;               ///< as of an informer, of objects that nobody wants too
    std::function<void(const Collection&)> list;  ///< what is in it, or may have changed, is another
  };

  /// `ns`: empty for all that `namespaces` names. References outlive this.
  SharedWatch(kube::Client& client, const kube::ResourceInfo& resource, const std::string& ns,
              const std::vector<std::string>& namespaces, Told told, Clock& clock, EventSink& events);

  /// As of an informer of several namespaces.
  bool synced(std::string_view ns = {}) const { return informer_.synced(ns); }
  std::optional<Error> failure(std::string_view ns = {}) const { return informer_.failure(ns); }
  std::optional<Error> refusal(std::string_view ns = {}) const { return informer_.refusal(ns); }
  bool is_refused_everywhere() const { return informer_.is_refused_everywhere(); }
  const kube::ResourceInfo& resource() const { return informer_.resource(); }

  /// Of what is wanted, after it has synced; nullopt: it isn't there. Content that wasn't kept is asked
  /// for. Errors: that request's.
  Result<std::optional<Value>> get(const Key& key, const Context& context);
  Result<Value::Array> list(const Collection& collection, const Context& context);
  /// Wanted until leave().
  void want(const Key& key);
  void want(const Collection& collection);
  void leave(const Key& key);
  void leave(const Collection& collection);
  bool is_wanted() const;
  std::vector<Collection> collections() const;  ///< that are wanted

  /// The server's answer to a write of ours.
  void put(const Value& object) { informer_.put(object); }

 private:
  using Label = std::pair<std::string, std::string>;
  static Label first_label(std::string_view selector);
  static bool selects(const Collection& collection, const Value& object);
  // With wanted_mutex_.
  template <typename Take>
  void each_selecting(const Value& object, const Take& take) const;

  void prune(Value& object) const;
  void changed(const std::optional<Key>& key);
  std::vector<Collection> sort_in(const Key& key);
  void strip(const Key& key);

  kube::Client& client_;
  const Told told_;
  // Taken before the informer's. The members of collections:
  std::mutex members_mutex_;
  std::map<Collection, std::set<Key>> members_;
  std::map<Key, std::set<Collection>> member_of_;
  // Taken last: the informer has its own while it asks what is kept.
  mutable std::mutex wanted_mutex_;
  std::set<Key> wanted_;
  // By the label with which their selector begins; by none, those that begin with no `label=value`.
  std::map<Label, std::set<Collection>> listed_;
  kube::MultiNamespaceInformer informer_;  // last: its thread uses the others
};

}  // namespace mist::operator_
