#pragma once
// The present content of a collection in several namespaces: an Informer in each of them, for an account
// that may list there and not in all namespaces of the cluster. With no namespaces named it is one Informer
// of whatever the options select. Threads as of Informer; `changed` is called on those of the informers.

#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kube/informer.h"

namespace mist::kube {

class MultiNamespaceInformer {
 public:
  using Key = Informer::Key;
  using Changed = Informer::Changed;
  using Echo = Informer::Echo;

  /// `namespaces`: where, if `options` names no namespace; empty: everywhere. The others are as those of
  /// Informer; `changed` is told nullopt by each informer, so whoever waits for all of them asks synced().
  MultiNamespaceInformer(Client& client, const ResourceInfo& resource, const ListOptions& options,
                         const std::vector<std::string>& namespaces, const std::function<void(Value&)>& prune,
                         const Changed& changed, Clock& clock, EventSink& events,
                         const std::function<void()>& unlisted = {});
  ~MultiNamespaceInformer();
  MultiNamespaceInformer(const MultiNamespaceInformer&) = delete;
  MultiNamespaceInformer& operator=(const MultiNamespaceInformer&) = delete;

  const ResourceInfo& resource() const { return resource_; }
  /// Whether what is in none of the stores isn't there; with `ns`, whether that is so of objects in that
  /// namespace, however it is in the others. Empty: all of them.
  bool synced(std::string_view ns = {}) const;
  /// Of the informer of `ns`; without a namespace, of the first one that has any. See Informer.
  std::optional<Error> failure(std::string_view ns = {}) const;
  std::optional<Error> refusal(std::string_view ns = {}) const;
  /// Informer::list_failure() of each informer that has one, by namespace; "": of the only informer.
  std::map<std::string, Error> list_failures() const;
  /// Whether the server allows the list in none of the namespaces.
  bool is_refused_everywhere() const;
  /// Whether each informer has synced, or has failed to: more is known only once somebody changes something.
  bool settled() const;
  /// nullopt also where the namespace is none of these.
  std::optional<Value> get(const Key& key) const;
  std::vector<Key> keys() const;
  std::vector<Key> keys_with(std::string_view text) const;
  /// Nothing happens where the object's namespace is none of these.
  void put(Value object, Echo echo = Echo::Told);

 private:
  using Informers = std::map<std::string, Informer, std::less<>>;
  Informers::const_iterator of(std::string_view ns) const;
  std::optional<Error> first(std::string_view ns, std::optional<Error> (Informer::*what)() const) const;

  const ResourceInfo resource_;
  // Alone while informers come and go: the threads of the others may read meanwhile.
  mutable std::shared_mutex mutex_;
  Informers informers_;  // by namespace; "": the only one
};

}  // namespace mist::kube
