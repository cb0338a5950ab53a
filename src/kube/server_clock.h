#pragma once
// How far a server's clock is from ours. Any thread.

#include <optional>

#include "kube/client.h"

namespace mist::kube {

/// Of clients that notice.
class ServerClock {
 public:
  virtual ~ServerClock() = default;
  /// How far the server's clock is ahead of ours (negative: behind), to about a second, by its last answer;
  /// nullopt while it hasn't said.
  virtual std::optional<Duration> clock_skew() const = 0;
};

/// The same of any client; nullopt of those that don't notice.
std::optional<Duration> clock_skew(const Client& client);

}  // namespace mist::kube
