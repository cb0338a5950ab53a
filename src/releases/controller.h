#pragma once
// Keeps the Releases of a namespace, or of all, as they are wanted: a watch wakes it, and a few threads
// reconcile one Release each at a time. A reconciliation that is overtaken by a change of its Release is
// stopped, so that nobody waits for the timeout of what isn't wanted any more.

#include <memory>
#include <string>

#include "base/context.h"
#include "kube/division.h"
#include "operator/metrics.h"
#include "operator/watched_namespaces.h"
#include "releases/reconciler.h"

namespace mist::releases {

class Controller {
 public:
  struct Scope {
    operator_::WatchedNamespaces namespaces;  ///< where Releases are
    std::string selector;  ///< of their labels; empty: all of them. Others don't exist for it
    kube::Share share =
        kube::Share::all();  ///< of several replicas: those in these namespaces are reconciled
  };
  /// Why a Release is none of those of the scope, or may be none, and what to do about it; empty: it is one.
  static std::string why_not_kept(const Scope& scope, const Value& release);
  /// `workers`: how many at once. All of `dependencies` outlives this.
  Controller(Dependencies dependencies, operator_::Metrics& metrics, Scope scope, int workers);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Ends well when it is stopped. A cluster that doesn't serve the kind yet is asked again. Errors: those of
  /// the first request.
  Status run(const Context& context);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mist::releases
