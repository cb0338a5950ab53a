#pragma once
// How long certificates live that stand in a text. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace mist::crypto {

struct Certificate {
  std::string subject;  ///< RFC 4514: "CN=web,O=shop"; may hold anything
  WallTime not_before{};
  WallTime not_after{};

  /// Two thirds of its life are over: time to draw it again.
  bool is_old(WallTime now) const { return now >= not_before + (not_after - not_before) / 3 * 2; }
};

/// Every PEM block CERTIFICATE in `text` (RFC 7468) that is one; at most 100.
std::vector<Certificate> certificates_in(std::string_view text);

}  // namespace mist::crypto
