#pragma once
// Signing in with a password, and a code or a passkey where the account has one: how often somebody may try,
// what is told, and the session that comes of it. Any thread.

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"
#include "catalog/account_store.h"
#include "catalog/password.h"
#include "catalog/rate_limit.h"

namespace mist::catalog {

/// A client of rate limits: an IPv4 address, or the /64 network of an IPv6 address, of which one client has
/// all.
std::string client_of(std::string_view peer);

class SignIn {
 public:
  struct Dependencies {
    AccountStore& accounts;
    PasswordHasher& passwords;
    Clock& clock;
    Random& random;
  };
  /// A browser, as the session remembers it.
  struct From {
    std::string agent = {}, peer = {};
  };
  /// A new session.
  struct Begun {
    SecretString cookie = {};
    bool awaits_code = false;  ///< it gives no right until by_code, or until a passkey was shown
  };
  explicit SignIn(Dependencies dependencies);

  /// Before each try. 0: it may be made; else the seconds until then. Counts for the account whether there is
  /// one or not, and for the client.
  Result<int> wait_for(const std::string& name, std::string_view peer);

  /// The same for the password of an account that is signed in. Counts apart: strangers who guess at the
  /// password at /login don't keep its owner from changing it.
  Result<int> wait_for_proof(const std::string& name, std::string_view peer);

  /// The same for codes of an account.
  Result<int> wait_for_code(const std::string& name);

  /// Forbidden, in the same words and after the same time, if there is no such
  /// account, it is disabled or has no password, or this isn't it. Retryable: others are signing in.
  Result<Begun> by_password(const std::string& name, const SecretString& password, const From& from);
  /// Of somebody for whom an issuer vouches.
  Result<Begun> by_identity(const std::string& name, const From& from);
  /// The cookie of a session in place of one that awaits a code, which ends. `code`: of the authenticator, or
  /// a recovery code; each is good once. Forbidden.
  Result<SecretString> by_code(const Session& waiting, const SecretString& cookie, const std::string& code,
                               const From& from);
  /// The same of somebody who showed a passkey instead.
  Result<SecretString> confirmed(const Session& waiting, const SecretString& cookie, const From& from);
  /// A code of the account's authenticator or a recovery code, which is used up. Forbidden.
  Status check_code(const std::string& name, const std::string& code);
  /// Before something that can't be undone: the password, if the account has one. Forbidden.
  Status check_password(const std::string& name, const SecretString& password);
  /// Without a question: the caller knows who it is.
  Result<SecretString> begin(const std::string& name, const From& from);
  /// An account of somebody who registers, and the cookie of its session. Conflict: the name is taken.
  Result<SecretString> add_account(const std::string& name, const SecretString& password, const From& from,
                                   const Audit& audit);
  /// Ends all sessions of the account; the cookie of its new one. The caller knows who it is. Invalid: as
  /// check_new_password.
  Result<SecretString> change_password(const std::string& name, const SecretString& password,
                                       const From& from, const Audit& audit);

 private:
  Result<SecretString> add_session(const std::string& name, bool awaits_code, const From& from);

  Dependencies dependencies_;
  RateLimit clients_;
};

}  // namespace mist::catalog
