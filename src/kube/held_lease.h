#pragma once
// A Lease (coordination.k8s.io/v1) that this process holds and renews, as client-go's leaderelection does. No
// clocks are compared: others count its term on their own clock, from the last change that they saw, and the
// holder stops earlier than that, in boot time, which goes on while its machine sleeps.

#include <atomic>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::kube {

/// client-go's name for what it elects with.
GroupKind lease_kind();

class HeldLease {
 public:
  struct Terms {
    std::string ns, name;
    std::string identity;  ///< of this process, and of no other
    Duration term;         ///< whole seconds
    Value labels = Value::object();
  };
  /// `client` and `clock` outlive this.
  HeldLease(Client& client, Clock& clock, Terms terms)
      : client_(client), clock_(clock), terms_(std::move(terms)) {}

  /// Finds out how the server serves Leases. Errors: of resource_for().
  Status begin(const Context& context);
  const ObjectRef& ref() const { return ref_; }
  std::string display() const { return terms_.ns + "/" + terms_.name; }

  /// Creates it, or writes this process over `found`. Errors: Conflict: somebody was faster.
  Status take(const std::optional<Value>& found, const Context& context);
  /// Renews it every `pause` until `stop` is requested: nullopt. Or until it is lost, and why: somebody else
  /// holds it, it was deleted, or its time was over before a renewal succeeded.
  std::optional<std::string> keep(Duration pause, const std::stop_token& stop);
  /// Somebody may take it at once.
  Status give_back(const Context& context);
  Status remove(const Context& context);

  /// For two thirds of a term after what was renewed last. Any thread.
  bool in_force() const { return clock_.boot_now().time_since_epoch().count() < until_.load(); }

  /// How long its holder may be silent; 15 s where it doesn't say.
  static Duration term_of(const Value& lease);

 private:
  // Errors: Conflict: it is lost; others may pass.
  Status renew(const Context& context);
  Value wanted(Value lease) const;
  void renewed_at(BootTime began);

  Client& client_;
  Clock& clock_;
  const Terms terms_;
  ObjectRef ref_;
  Value lease_;  // as the server has it
  std::atomic<BootTime::rep> until_ = 0;
};

}  // namespace mist::kube
