#include "operator/own_watch.h"

namespace mist::operator_ {

Status OwnWatch::leave_unserved(kube::Client& client, const Clock& clock) {
  const auto failure = informer ? informer->failure() : std::nullopt;
  if (!failure || failure->kind != ErrorKind::NotFound) return {};
  if (clock.steady_now() - since < kSyncTime) return *failure;
  client.invalidate_discovery();
  informer.reset();
  return {};
}

Status OwnWatch::begin(kube::Client& client, const WatchedNamespaces& namespaces, Clock& clock,
                       EventSink& events, const apimachinery::GroupVersionKind& of,
                       const kube::ListOptions& options, const std::function<void(encoding::Value&)>& prune,
                       const kube::Informer::Changed& changed, const Context& context) {
  auto resource = client.resource_for(of.group_kind(), of.version, context);
  if (!resource.ok()) {
    client.invalidate_discovery();
    return std::move(resource).error();
  }
  MIST_TRY_VOID(namespaces.check_kind(of.kind, resource->namespaced));
  informer = std::make_unique<kube::MultiNamespaceInformer>(
      client, *resource, options, namespaces.names(), prune, changed, clock, events,
      // An instance that waits for its objects learns why.
      [changed] { changed(std::nullopt); });
  since = clock.steady_now();
  return {};
}

}  // namespace mist::operator_
