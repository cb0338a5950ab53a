#include "apply/execute/own_gates.h"

#include <algorithm>

#include "apply/plan/admission_change.h"
#include "apply/plan/refusal.h"
#include "kube/api_failure.h"

namespace mist::apply {

Gates OwnGates::gates_of(std::size_t write, const Error& refusal) {
  const std::vector<std::string>& names = kube::denied_by(refusal);
  if (names.empty()) return {};
  const std::scoped_lock lock(mutex_);
  read_configurations();
  Gates gates = finder_.gates_of(plan_.writes[write], names);
  if (gates.writes.empty()) return gates;
  const Order* const order = order_with(gates.writes);
  if (order == nullptr) return {};
  const std::vector<std::size_t> before = apply::writes_before(plan_, *order, write);
  std::erase_if(gates.writes,
                [&](std::size_t gate) { return std::ranges::find(before, gate) == before.end(); });
  return gates;
}

std::vector<std::size_t> OwnGates::writes_before(std::size_t gate) {
  const std::scoped_lock lock(mutex_);
  const Order* const order = order_with({gate});
  return order == nullptr ? std::vector<std::size_t>() : apply::writes_before(plan_, *order, gate);
}

// A webhook's refusal names the webhook, not its configuration.
void OwnGates::read_configurations() {
  if (read_) return;
  read_ = true;
  for (const auto* const actions : {&plan_.writes, &plan_.removals}) {
    for (const PlannedAction& action : *actions) {
      const bool changes =
          action.kind == ActionKind::Delete || (is_written(action) && action.kind != ActionKind::Create);
      if (!changes || !is_of_admission(action.key.group_kind) || action.resource.resource.empty()) continue;
      auto there = client_.get({action.resource, "", action.key.name}, context_);
      if (there.ok()) live_[action.key] = {*std::move(there), true};
    }
  }
}

// Null: there is none.
const Order* OwnGates::order_with(const std::vector<std::size_t>& first) {
  const auto [known, fresh] = orders_.try_emplace(first);
  if (fresh)
    if (auto order = order_of(plan_, first); order.ok()) known->second = *std::move(order);
  return known->second ? &*known->second : nullptr;
}

}  // namespace mist::apply
