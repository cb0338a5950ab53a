#pragma once
// Passkeys of accounts: what a browser is asked, and what its answer means. The ceremonies themselves are
// webauthn/ceremony.h. Any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"
#include "catalog/account_store.h"
#include "catalog/passkey_store.h"
#include "encoding/value.h"

namespace mist::catalog {

/// The relying party that a catalog at that address is. Passkeys belong to a name, and browsers have them
/// only for pages that nobody changed on the way: with https, or of this machine.
struct RelyingParty {
  std::string id = {};      ///< the host's name
  std::string origin = {};  ///< "https://catalog.example.com"

  /// nullopt: no browser has passkeys there.
  static std::optional<RelyingParty> at(std::string_view url);
};

class Passkeys {
 public:
  struct Dependencies {
    PasskeyStore& passkeys;
    AccountStore& accounts;
    Random& random;
  };
  /// `party` nullopt: passkeys are listed and removed, and no browser is asked for one.
  Passkeys(Dependencies dependencies, std::optional<RelyingParty> party)
      : dependencies_(dependencies), party_(std::move(party)) {}

  bool can_ask() const { return party_.has_value(); }

  // The question to a browser with that cookie, for navigator.credentials. NotFound: can_ask() is false.

  Result<encoding::Value> ask_to_register(const std::string& account, const SecretString& cookie);
  /// For any passkey of this catalog: it says which account it is of.
  Result<encoding::Value> ask_who(const SecretString& cookie);
  /// A passkey of that account.
  Result<encoding::Value> ask_to_confirm(const std::string& account, const SecretString& cookie);

  // Its answer. Errors: Invalid: it can't be read. Forbidden: it proves nothing.

  /// The passkey that the account may add, so that everything that can be refused is refused before a code is
  /// used up. Conflict as PasskeyStore::add.
  Result<NewPasskey> registered(const std::string& account, const SecretString& cookie,
                                std::string_view answer, std::string_view name);
  /// The new recovery codes, if nothing was asked for after the password before. Ends the account's sessions.
  /// Conflict as PasskeyStore::add: it was added meanwhile.
  Result<std::vector<SecretString>> add(const std::string& account, const NewPasskey& passkey,
                                        const Audit& audit);
  /// The account. The authenticator checked who used it, so nothing else is asked.
  Result<std::string> who(const SecretString& cookie, std::string_view answer);
  Status confirm(const std::string& account, const SecretString& cookie, std::string_view answer);

  Result<std::vector<Passkey>> of(const std::string& account) {
    return dependencies_.passkeys.passkeys(account);
  }
  Status remove(const std::string& account, std::int64_t id, const Audit& audit) {
    return dependencies_.passkeys.remove(account, id, audit);
  }

 private:
  Result<RelyingParty> party() const;
  Result<std::string> new_challenge(ChallengeFor purpose, const SecretString& cookie);
  /// Its bytes. Forbidden: it wasn't given to this browser for that, or is over.
  Result<std::string> taken_challenge(ChallengeFor purpose, const SecretString& cookie,
                                      std::string_view client_data);
  Result<PasskeyOwner> proved(ChallengeFor purpose, const SecretString& cookie, std::string_view answer);

  Dependencies dependencies_;
  const std::optional<RelyingParty> party_;
};

/// Detail of an error: the counter of an account's passkey went back.
struct CopiedPasskey {
  std::string account = {};
};

}  // namespace mist::catalog
