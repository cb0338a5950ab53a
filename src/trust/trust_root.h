#pragma once
// Which authorities and logs count for keyless signatures: Sigstore's trusted_root.json, as its public
// instance publishes it by TUF and private ones print it. The file is trusted as it is: whoever gave it
// vouches for it. Plain values; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "crypto/signing.h"

namespace mist::trust {

/// When something counts; both ends belong to it.
struct Period {
  std::optional<WallTime> from = {};
  std::optional<WallTime> until = {};
  bool holds(WallTime at) const { return (!from || at >= *from) && (!until || at <= *until); }
};

struct TrustedLog {
  std::string id;  ///< as entries name it
  crypto::PublicKey key;
  Period period;
};

/// Certificates in DER: the one that issues, or signs timestamps, comes first, the one that is trusted last.
struct TrustedAuthority {
  std::vector<std::string> chain;
  Period period;
};

struct TrustRoot {
  crypto::Digest digest;                      ///< of the file
  std::vector<TrustedAuthority> authorities;  ///< of certificates
  std::vector<TrustedLog> logs;               ///< of signatures (Rekor)
  std::vector<TrustedLog> certificate_logs;   ///< none: certificates need no promise of such a log
  std::vector<TrustedAuthority> timestamp_authorities;

  /// Errors: Invalid, naming the member.
  static Result<TrustRoot> parse(std::string_view text, const std::string& file);
};

inline constexpr std::uint64_t kMaxTrustRootBytes = std::uint64_t{1} << 20;

}  // namespace mist::trust
