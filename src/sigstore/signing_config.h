#pragma once
// Which services keyless signing uses: Sigstore's signing_config.json (version 0.2), as its public instance
// publishes it by TUF and `cosign signing-config create` writes it. No service is used that it doesn't name.
// Plain values; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trust/trust_root.h"

namespace mist::sigstore {

struct Service {
  std::string url;     ///< https, or http on this machine; without a slash at its end
  int version = 0;     ///< of its API, majorApiVersion
  std::string run_by;  ///< its operator; empty: not said
  trust::Period period = {};
};

/// How many of the services that may be used are used.
enum class Selector : std::uint8_t { Any, All, Exact };
struct ServiceList {
  std::vector<Service> services = {};
  Selector selector = Selector::Any;
  std::size_t count = 0;  ///< of Exact
};

/// The services of one signature.
struct ChosenServices {
  Service authority;                   ///< of certificates (Fulcio)
  std::optional<Service> issuer = {};  ///< where people log in
  std::vector<Service> logs = {};      ///< Rekor, of version 1 or 2; at least one
  std::vector<Service> timestamps = {};
};

struct SigningConfig {
  std::vector<Service> authorities;
  std::vector<Service> issuers;
  ServiceList logs;
  ServiceList timestamps;
  std::string file;  ///< for messages

  /// Errors: Invalid, naming the member.
  static Result<SigningConfig> parse(std::string_view text, const std::string& file);

  /// By the specification's rules: of those that are in their time and of a known version, the highest
  /// versions first, one of each operator. Errors: Invalid (too few of a kind, an entry of Rekor 2 without a
  /// timestamp).
  Result<ChosenServices> choose(WallTime now) const;
};

inline constexpr std::uint64_t kMaxSigningConfigBytes = std::uint64_t{1} << 20;

/// Whether secrets may be sent there: https, or http to this machine.
bool is_safe_url(std::string_view url);

}  // namespace mist::sigstore
