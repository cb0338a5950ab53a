#include "kube/multi_namespace_informer.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace mist::kube {

MultiNamespaceInformer::MultiNamespaceInformer(Client& client, const ResourceInfo& resource,
                                               const ListOptions& options,
                                               const std::vector<std::string>& namespaces,
                                               const std::function<void(Value&)>& prune,
                                               const Changed& changed, Clock& clock, EventSink& events,
                                               const std::function<void()>& unlisted)
    : resource_(resource) {
  const std::lock_guard lock(mutex_);
  if (namespaces.empty() || !options.ns.empty()) {
    informers_.try_emplace("", client, resource, options, prune, changed, clock, events, unlisted);
    return;
  }
  for (const std::string& ns : namespaces) {
    ListOptions there = options;
    there.ns = ns;
    informers_.try_emplace(ns, client, resource, std::move(there), prune, changed, clock, events, unlisted);
  }
}

// While an informer's thread is joined it may still read the others here, so none goes with the lock held,
// nor while it can be found.
MultiNamespaceInformer::~MultiNamespaceInformer() {
  for (bool is_last = false; !is_last;) {
    Informers::node_type ending;
    const std::unique_lock lock(mutex_);
    ending = informers_.extract(informers_.begin());
    is_last = informers_.empty();
  }
}

MultiNamespaceInformer::Informers::const_iterator MultiNamespaceInformer::of(std::string_view ns) const {
  const auto only = informers_.find("");
  return only != informers_.end() ? only : informers_.find(ns);
}

bool MultiNamespaceInformer::synced(std::string_view ns) const {
  const std::shared_lock lock(mutex_);
  if (!ns.empty()) {
    const auto found = of(ns);
    return found != informers_.end() && found->second.synced();
  }
  return std::ranges::all_of(informers_, [](const auto& each) { return each.second.synced(); });
}

std::optional<Error> MultiNamespaceInformer::first(std::string_view ns,
                                                   std::optional<Error> (Informer::*what)() const) const {
  const std::shared_lock lock(mutex_);
  if (!ns.empty()) {
    const auto found = of(ns);
    return found == informers_.end() ? std::nullopt : (found->second.*what)();
  }
  for (const auto& [name, informer] : informers_)
    if (auto failure = (informer.*what)()) return failure;
  return std::nullopt;
}

std::optional<Error> MultiNamespaceInformer::failure(std::string_view ns) const {
  return first(ns, &Informer::failure);
}

std::optional<Error> MultiNamespaceInformer::refusal(std::string_view ns) const {
  return first(ns, &Informer::refusal);
}

std::map<std::string, Error> MultiNamespaceInformer::list_failures() const {
  const std::shared_lock lock(mutex_);
  std::map<std::string, Error> all;
  for (const auto& [ns, informer] : informers_)
    if (auto failure = informer.list_failure()) all.emplace(ns, *std::move(failure));
  return all;
}

bool MultiNamespaceInformer::is_refused_everywhere() const {
  const std::shared_lock lock(mutex_);
  return std::ranges::all_of(informers_, [](const auto& each) {
    const auto failure = each.second.synced() ? each.second.refusal() : each.second.failure();
    return failure && failure->kind == ErrorKind::Forbidden;
  });
}

bool MultiNamespaceInformer::settled() const {
  const std::shared_lock lock(mutex_);
  return std::ranges::all_of(
      informers_, [](const auto& each) { return each.second.synced() || each.second.failure().has_value(); });
}

std::optional<Value> MultiNamespaceInformer::get(const Key& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = of(key.first);
  return found == informers_.end() ? std::nullopt : found->second.get(key);
}

std::vector<Informer::Key> MultiNamespaceInformer::keys() const {
  const std::shared_lock lock(mutex_);
  std::vector<Key> all;
  for (const auto& [ns, informer] : informers_) std::ranges::move(informer.keys(), std::back_inserter(all));
  return all;
}

std::vector<Informer::Key> MultiNamespaceInformer::keys_with(std::string_view text) const {
  const std::shared_lock lock(mutex_);
  std::vector<Key> all;
  for (const auto& [ns, informer] : informers_)
    std::ranges::move(informer.keys_with(text), std::back_inserter(all));
  return all;
}

void MultiNamespaceInformer::put(Value object, Echo echo) {
  const std::shared_lock lock(mutex_);
  const auto found = of(object.string_at({"metadata", "namespace"}));
  if (found == informers_.end()) return;
  informers_.find(found->first)->second.put(std::move(object), echo);
}

}  // namespace mist::kube
