#pragma once
// Tokens: what programs of an account send in place of a password. Each has scopes; it never gives more
// rights than its account has, and may give fewer. Any thread.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"
#include "catalog/account_store.h"
#include "catalog/author_actions.h"
#include "catalog/model.h"

namespace mist::catalog {

/// Every token reads what its account may read; a scope lets it do more.
enum class Scope : std::uint8_t {
  Projects,  ///< link, unlink and poll projects, prove and remove domains
  Versions,  ///< yank versions, and test them again
  Moderate,  ///< the rights of a moderator, if the account is one
  Admin,     ///< the rights of an administrator, if the account is one
  Feedback,  ///< rate packages, comment on them, and report them
  Tokens,    ///< make tokens of its own scopes at most, and revoke tokens
};
struct ScopeWords {
  Scope scope;
  std::string_view name;     ///< "projects"
  std::string_view meaning;  ///< for people
  Role least;                ///< of the account, for which it means anything
};
std::span<const ScopeWords> scope_words();

class Scopes {
 public:
  Scopes() = default;
  Scopes(std::initializer_list<Scope> scopes) {
    for (const Scope each : scopes) add(each);
  }
  /// Names with blanks or commas between them. Invalid: there is no such scope.
  static Result<Scopes> parse(std::string_view names);
  std::vector<std::string> names() const;

  void add(const Scopes& others) { bits_ |= others.bits_; }
  void add(Scope scope) { bits_ |= bit(scope); }
  bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  bool are_within(const Scopes& others) const { return (bits_ & ~others.bits_) == 0; }

 private:
  static unsigned bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
  unsigned bits_ = 0;
};

/// Of tokens that are made at the command line without --scopes.
inline constexpr std::string_view kUsualScopes = "projects versions moderate admin feedback";

/// The account with the rights that a token with these scopes gives.
Account limited_to(Account account, const Scopes& scopes);
/// Those that a token of the account can use.
Scopes scopes_of(Role role);

/// An account's token, as its owner sees it: "mct_" and 64 digits.
inline constexpr std::string_view kTokenPrefix = "mct_";
SecretString new_token(Random& random);
/// The digest under which it is stored.
std::string token_digest(std::string_view token);

/// Making and revoking them, for the pages and the API.
class TokenActions {
 public:
  struct Dependencies {
    AccountStore& accounts;
    Clock& clock;
    Random& random;
  };
  struct Wish {
    std::string label = {};
    Scopes scopes = {};
    std::optional<WallTime> expires = {};
  };
  /// The most that the caller may give.
  struct Allowed {
    Scopes scopes = {};
    std::optional<WallTime> until = {};  ///< nullopt: for ever
  };
  explicit TokenActions(Dependencies dependencies) : dependencies_(dependencies) {}

  /// Without a time in the wish it lasts as long as allowed. Forbidden: it wishes more. Invalid: the label is
  /// too long or empty, or the time is over. Conflict: the account has very many.
  Result<SecretString> make(const Actor& actor, const Allowed& allowed, const Wish& wish);
  /// One of the actor's own. NotFound.
  Status revoke(const Actor& actor, std::int64_t id);

 private:
  Dependencies dependencies_;
};

}  // namespace mist::catalog
