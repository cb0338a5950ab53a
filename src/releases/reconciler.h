#pragma once
// Reconciles one Release: compares the wish in it with the record of what is deployed, and applies the
// difference, with the rights of the ServiceAccount that it names. The outcome goes to its status. Blocking;
// any thread, but for each Release one at a time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/random.h"
#include "config/paths.h"
#include "http/transport.h"
#include "kube/client.h"
#include "operator/traces.h"
#include "package/renderer.h"
#include "registry/registry.h"
#include "releases/reported_drift.h"
#include "releases/resource.h"
#include "releases/status.h"

namespace mist::releases {

struct Dependencies {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  Random& random;
  EventSink& events;
  config::Paths paths;
  registry::OciAccess oci;
  std::function<std::unique_ptr<http::Transport>()> transport;
  package::RendererOptions engines;
  std::string holder;    ///< Environment::holder
  kube::Client& client;  ///< as the operator
  std::function<Result<std::shared_ptr<kube::Client>>(const std::string& user)> client_of;  ///< as that user
  std::string ns;               ///< of the operator: only Releases there may act as the operator itself
  std::string default_account;  ///< of Releases that name none; empty: there is none
  operator_::Traces* traces = nullptr;  ///< none: nobody wants them
};

/// The other Releases, as far as they are known.
struct Others {
  std::function<std::optional<Value>(const Key&)> find;
  /// An older Release of the same release.
  std::function<std::optional<Key>(const Value&)> elder;
  /// The next change of `on` wakes `who`.
  std::function<void(const Key& on, const Key& who)> wake;
};

struct Outcome {
  std::optional<Value> status = {};    ///< to be written; nullopt: it stays, or the object may be gone
  bool failed = false;                 ///< something is to be tried again
  bool wrote = false;                  ///< and had begun to change the cluster
  std::optional<Duration> again = {};  ///< when to reconcile again if nothing happens; nullopt: never
};

class Reconciler {
 public:
  /// Writes a status while it is reconciled.
  using Tell = std::function<void(const Value& status)>;

  /// All of `dependencies` outlives this.
  explicit Reconciler(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// Errors: Cancelled, where the context was stopped; what was begun goes on with the next call.
  Result<Outcome> reconcile(const Value& object, const Others& others, const Tell& tell,
                            const Context& context) const;

 private:
  const Dependencies dependencies_;
  mutable ReportedDrift reported_drift_;
};

}  // namespace mist::releases
