#pragma once
// The operator as a running thing: watches blueprints, their instances and the objects of those, and carries
// out what reconcile::decide() says, until it is told to stop. Watches wake it; it never polls, and where
// nothing changes it sends nothing.
//
// A record of what will be created is written to the instance, with a finalizer, before it is created, so
// that an operator that dies at any point leaves nothing that its successor doesn't know.

#include <functional>
#include <memory>
#include <string>

#include "apply/reserved_metadata.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"
#include "kube/division.h"
#include "operator/actors.h"
#include "operator/metrics.h"
#include "operator/traces.h"
#include "operator/watched_namespaces.h"
#include "package/renderer.h"

namespace mist::operator_ {

class Controller {
 public:
  struct Dependencies {
    kube::Client& client;  ///< as the operator
    ClientOf client_of;
    Account default_account;  ///< of blueprints that name none
    package::Renderer& renderer;
    Clock& clock;
    EventSink& events;
    Metrics& metrics;
    Traces* traces = nullptr;  ///< none: nobody wants them
    /// Where instances and all that they own and read have to be.
    WatchedNamespaces namespaces = {};
    ConversionWebhook* webhook = nullptr;  ///< which answers already; null: there is none
    int workers = 1;                       ///< so many instances are written to at once
    /// The share of instances that is kept. The first of several shares also sees to all that is there once:
    /// the CRDs, the reports on blueprints, and that these stay while they have instances.
    kube::Share share = kube::Share::all();
    /// reconcile::Dependencies::not_kept
    std::function<std::string(const Value& release)> not_kept;
  };
  /// `ns`: where blueprints are. All of `dependencies` outlives this.
  Controller(Dependencies dependencies, std::string ns);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Ends well when it is stopped. Errors: those of the first request (no such server, no permission).
  Status run(const Context& context);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mist::operator_
