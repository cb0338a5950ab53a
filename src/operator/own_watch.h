#pragma once
// An informer of one's own, and when it began; made again where the server serves its kind under another
// name. One thread.

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/event.h"
#include "kube/multi_namespace_informer.h"
#include "operator/watched_namespaces.h"

namespace mist::operator_ {

/// In its first moment an informer knows nothing, and a kind that isn't served may only not be served yet.
/// Later that is said to be the problem in the status.
inline constexpr Duration kSyncTime = std::chrono::seconds(5);

struct OwnWatch {
  std::unique_ptr<kube::MultiNamespaceInformer> informer = {};
  SteadyTime since{};

  /// Where the server no longer serves the kind, or serves it under another name, what the informer showed is
  /// gone, and so is the informer. One that just began only reports that, so that the next one isn't made at
  /// once: NotFound.
  Status leave_unserved(kube::Client& client, const Clock& clock);
  /// Makes the informer. `of`: a kind in a version. Without a namespace in `options` it is one of all watched
  /// namespaces. Errors: the kind isn't served, or is in no namespace and the operator not everywhere
  /// (Forbidden); of discovery.
  Status begin(kube::Client& client, const WatchedNamespaces& namespaces, Clock& clock, EventSink& events,
               const apimachinery::GroupVersionKind& of, const kube::ListOptions& options,
               const std::function<void(encoding::Value&)>& prune, const kube::Informer::Changed& changed,
               const Context& context);
};

}  // namespace mist::operator_
