#pragma once
// The keys and certificates of the operator's webhook, which it makes itself: an authority whose only purpose
// this is, and a server's certificate signed by it. Authorities follow one another with an overlap: clients
// are told of the next one long before the first certificate that it signs is used. Pure but for the random
// bytes it is given; any thread.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "crypto/certificate_authority.h"
#include "encoding/value.h"

namespace mist::operator_ {

using encoding::Value;

struct WebhookKeys {
  crypto::CertifiedKey authority;            ///< signed `server`
  std::optional<crypto::CertifiedKey> next;  ///< signs the next certificate of the server
  crypto::CertifiedKey server;
  std::string former = {};  ///< certificate of the authority before; perhaps a replica still answers with its

  /// The authorities that clients trust, in PEM.
  std::string bundle() const;
};

inline constexpr std::chrono::hours kAuthorityLife{24 * 3650}, kServerLife{24 * 90};
/// For so long clients are told of an authority before it signs.
inline constexpr std::chrono::hours kAnnounced{24};

/// The keys in a Secret. nullopt: it doesn't hold them whole, or they don't belong together.
std::optional<WebhookKeys> keys_in(const Value& secret);
/// Of a Secret that holds them.
Value data_of(const WebhookKeys& keys);

/// The keys from `now` on in place of `held`, where two thirds of a certificate's life are over, or
/// it isn't for all of `names` (crypto::is_server_name). nullopt: `held` stays.
std::optional<WebhookKeys> renewed(const std::optional<WebhookKeys>& held,
                                   const std::vector<std::string>& names, WallTime now, Random& random);

}  // namespace mist::operator_
