#include "kube/server_clock.h"

namespace mist::kube {

std::optional<Duration> clock_skew(const Client& client) {
  const auto* clock = dynamic_cast<const ServerClock*>(&client);
  return clock == nullptr ? std::nullopt : clock->clock_skew();
}

}  // namespace mist::kube
