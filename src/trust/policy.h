#pragma once
// Which packages must be signed, and by whom: the user's trust policy, `kind: TrustPolicy` in
// <home>/trust.yaml (docs/trust.md). It is parsed strictly: a key that isn't known is an error, since a
// rule that is misspelt protects nobody. Plain values; any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "trust/trust_root.h"

namespace mist::trust {

enum class Mode : std::uint8_t {
  Remember,  ///< what was once signed must stay signed by the same key or identity (registry::NewSigners)
  Require,   ///< the rule's keys and identities must have signed it
  Ignore,    ///< no signatures are looked for, so they cost no request
  Known,     ///< as Remember, of packages that somebody here has verified; as Ignore of others
};

struct TrustedKey {
  std::string name;
  crypto::PublicKey key;
};

/// Whom certificates of keyless signatures may be issued to, as patterns (matches).
struct TrustedIdentity {
  std::string issuer;
  std::string subject;
  std::string text() const;  ///< "SUBJECT (ISSUER)"
  friend bool operator==(const TrustedIdentity&, const TrustedIdentity&) = default;
};

/// OpenPGP keys that Helm's provenance files may be signed with (trust/provenance.h).
struct Keyring {
  std::string file;  ///< as the user named it
  std::string bytes;
  crypto::Digest digest;                       ///< of `bytes`
  std::vector<std::string> fingerprints = {};  ///< of the primary keys that count ("openpgp:…"); empty: all
};
inline constexpr std::string_view kOpenPgpPrefix = "openpgp:";
inline constexpr std::uint64_t kMaxKeyringBytes = std::uint64_t{16} << 20;

/// As people write them ("0x5E61 5389 …") with kOpenPgpPrefix; nothing: it is no fingerprint of a key.
std::optional<std::string> openpgp_fingerprint(std::string_view text);

/// Why it protects nothing, to follow "an identity"; empty: it does.
std::string objection_to(const TrustedIdentity& identity);

struct Rule {
  std::string match;  ///< a pattern for oci::Repository::identity, or REGISTRY/PATH; empty: the default
  Mode mode = Mode::Remember;
  std::vector<TrustedKey> keys;              ///< of Require
  std::size_t threshold = 1;                 ///< how many of them
  std::optional<Duration> minimum_age = {};  ///< since it was signed; of identities, which can't say it
  std::optional<Duration> maximum_age = {};
  std::vector<std::string> signed_for = {};      ///< patterns; empty: the package's own repository
  std::string place = {};                        ///< "trust.yaml:7"; empty: no file says it
  std::vector<TrustedIdentity> identities = {};  ///< of Require; they count as `keys` do
  /// The authorities and logs that keyless signatures are held against; null: those prove nothing.
  std::shared_ptr<const TrustRoot> root = {};
  /// Of Require; it counts as one of `keys` does. Null: none.
  std::shared_ptr<const Keyring> keyring = {};
};

/// Whether it holds packages against the keys that this machine remembers.
constexpr bool remembers(Mode mode) { return mode == Mode::Remember || mode == Mode::Known; }

/// Whether `text` ("oci://host/team/shop") fits: '*' stands for any characters but '/', "**" for any.
bool matches(std::string_view pattern, std::string_view text);

/// Whether there has to be a policy.
enum class Presence : bool { Optional, Required };

class Policy {
 public:
  /// Packages that were once signed stay signed.
  Policy() = default;
  /// `read`: gives the text of a file that the policy names, relative to itself. Errors: Invalid, with line
  /// and hint; of `read`.
  static Result<Policy> parse(std::string_view text, const std::string& file,
                              const std::function<Result<std::string>(const Path&)>& read);
  /// No file: the default, unless it is required. Errors: as parse, and of FileSystem::read; Invalid for a
  /// link that leads nowhere, and for no file where it is required.
  /// `may_read` is asked for the policy and for each file that it names, and its errors are given back.
  static Result<Policy> load(const FileSystem& files, const Path& file,
                             Presence presence = Presence::Optional,
                             const std::function<Status(const Path&)>& may_read = {});

  /// The first rule that matches, else the default.
  const Rule& rule_for(std::string_view package) const;
  const std::vector<Rule>& rules() const { return rules_; }

  /// The authorities and logs of all rules; null: none are given.
  const std::shared_ptr<const TrustRoot>& trust_root() const { return default_.root; }
  /// The file that says which services sign (sigstore/signing_config.h), which nothing here reads; empty:
  /// none is named. load() gives it from the policy's own directory on.
  const Path& signing_config() const { return signing_config_; }

 private:
  std::vector<Rule> rules_;
  Rule default_{.match = {}, .mode = Mode::Remember, .keys = {}};
  Path signing_config_;
};

}  // namespace mist::trust
