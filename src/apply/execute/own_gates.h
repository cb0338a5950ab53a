#pragma once
// Refusals in the middle of a run by what the run itself changes: a server judges by the policy that an
// earlier run wrote a moment after it was written, and another server later still, so whoever asked before
// was told that nothing refuses. Then the change of that policy has to come first after all. Blocking; any
// thread.

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "apply/plan/admission_gates.h"
#include "kube/client.h"

namespace mist::apply {

class OwnGates {
 public:
  /// All must outlive it.
  OwnGates(kube::Client& client, const Plan& plan, const Context& context)
      : client_(client), plan_(plan), context_(context), finder_(client, plan, live_, context) {}

  /// The plan's changes to the admission that refused plan.writes[write], as far as the declared order lets
  /// them come before it. Empty: the refusal stands.
  Gates gates_of(std::size_t write, const Error& refusal);
  /// The writes that must come before plan.writes[gate], although that comes first.
  std::vector<std::size_t> writes_before(std::size_t gate);

 private:
  void read_configurations();
  const Order* order_with(const std::vector<std::size_t>& first);

  kube::Client& client_;
  const Plan& plan_;
  const Context& context_;
  std::mutex mutex_;  // guards all below
  bool read_ = false;
  LiveState live_;  // the webhook configurations
  GateFinder finder_;
  std::map<std::vector<std::size_t>, std::optional<Order>> orders_;
};

}  // namespace mist::apply
