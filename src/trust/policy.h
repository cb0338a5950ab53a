#pragma once
// Which packages must be signed, and by whom: the user's trust policy, `kind: TrustPolicy` in
// <home>/trust.yaml (docs/trust.md). It is parsed strictly: a key that isn't known is an error, since a
// rule that is misspelt protects nobody. Plain values; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "crypto/signing.h"

namespace mist::trust {

enum class Mode : std::uint8_t {
  Remember,  ///< what was once signed must stay signed by the same key
  Require,   ///< the rule's keys must have signed it
  Ignore,    ///< no signatures are looked for, so they cost no request
  Known,     ///< as Remember, of packages that somebody here has verified; as Ignore of others
};

struct TrustedKey {
  std::string name;
  crypto::PublicKey key;
};

struct Rule {
  std::string match;  ///< a pattern for oci::Repository::identity, or REGISTRY/PATH; empty: the default
  Mode mode = Mode::Remember;
  std::vector<TrustedKey> keys;              ///< of Require
  std::size_t threshold = 1;                 ///< how many of them
  std::optional<Duration> minimum_age = {};  ///< since it was signed
  std::optional<Duration> maximum_age = {};
  std::vector<std::string> signed_for = {};  ///< patterns; empty: the package's own repository
  std::string place = {};                    ///< "trust.yaml:7"; empty: no file says it
};

/// Whether it holds packages against the keys that this machine remembers.
constexpr bool remembers(Mode mode) { return mode == Mode::Remember || mode == Mode::Known; }

/// Whether `text` ("oci://host/team/shop") fits: '*' stands for any characters but '/', "**" for any.
bool matches(std::string_view pattern, std::string_view text);

class Policy {
 public:
  /// Verified packages stay signed; the rest is ignored.
  Policy() = default;
  /// `read`: gives the text of a file that the policy names, relative to itself. Errors: Invalid, with line
  /// and hint; of `read`.
  static Result<Policy> parse(std::string_view text, const std::string& file,
                              const std::function<Result<std::string>(const Path&)>& read);
  /// No file: the default. Errors: as parse, and of FileSystem::read; Invalid for a link that leads nowhere.
  static Result<Policy> load(const FileSystem& files, const Path& file);

  /// The first rule that matches, else the default.
  const Rule& rule_for(std::string_view package) const;
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
  Rule default_{.match = {}, .mode = Mode::Known, .keys = {}};
};

}  // namespace mist::trust
