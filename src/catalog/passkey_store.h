#pragma once
// The memory of passkeys, and of the challenges that browsers were given for them. sql_passkey_store.h is the
// one implementation, in the database of store.h. Blocking; any thread. Calls and errors are as those of
// account_store.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "catalog/model.h"

namespace mist::catalog {

struct NewPasskey {
  std::string credential = {};               ///< its identifier, bytes
  std::string key = {};                      ///< public, PEM
  std::string name = {};                     ///< that its owner gave it
  std::vector<std::string> transports = {};  ///< by which browsers reach it: "internal", "usb"
  std::uint32_t counter = 0;                 ///< of signatures
  bool backup_eligible = false;              ///< it may be on several devices
};
struct Passkey {
  std::int64_t id = 0;
  NewPasskey facts = {};
  WallTime created{};
  std::optional<WallTime> used = {};
  std::optional<WallTime> suspected = {};  ///< when it was refused last, because its counter went back
};
struct PasskeyOwner {
  Passkey passkey = {};
  std::string account = {};
  std::string handle = {};
};

/// The question that a browser answers with a passkey.
enum class ChallengeFor : std::uint8_t {
  Registration = 0,
  SignIn = 1,   ///< of somebody unknown: the passkey says who
  Confirm = 2,  ///< of an account that is known
};
struct Challenge {
  std::string digest = {};  ///< of its bytes
  std::string holder = {};  ///< digest of the cookie of the browser that was asked
  ChallengeFor purpose = ChallengeFor::SignIn;
};

class PasskeyStore {
 public:
  static constexpr int kMostPasskeys = 20;                             ///< of an account
  static constexpr Duration kChallengeTime = std::chrono::minutes(5);  ///< then it has expired

  virtual ~PasskeyStore() = default;

  // The conflicts of add.

  static Error known_already() { return error(ErrorKind::Conflict, "this passkey is registered already"); }
  static Error too_many() {
    return error(ErrorKind::Conflict, "an account has at most {} passkeys", kMostPasskeys)
        .with_hint("remove one first");
  }

  /// The bytes that mean the account to authenticators: random, and always the same. NotFound.
  virtual Result<std::string> handle(const std::string& account) = 0;
  /// Ends the account's sessions. The recovery codes are these from now on, unless the list is empty.
  /// Conflict: the passkey is known already, or the account has kMostPasskeys. NotFound.
  virtual Status add(const std::string& account, const NewPasskey& passkey,
                     const std::vector<std::string>& recovery_digests, const Audit& audit = {}) = 0;
  /// The oldest first.
  virtual Result<std::vector<Passkey>> passkeys(const std::string& account) = 0;
  /// Of an account that may sign in; nullopt: there is none.
  virtual Result<std::optional<PasskeyOwner>> find(const std::string& credential) = 0;
  /// Whether the counter grew, or is 0 as it always was: it counts as used then, and is suspected otherwise.
  virtual Result<bool> use(std::int64_t id, std::uint32_t counter) = 0;
  /// Ends the account's sessions, and its recovery codes if nothing asks for them any more. NotFound.
  virtual Status remove(const std::string& account, std::int64_t id, const Audit& audit = {}) = 0;
  /// All of an account, as remove. Their number; the audit log is told if there were any.
  virtual Result<std::int64_t> remove_all(const std::string& account, const Audit& audit = {}) = 0;

  virtual Status begin_challenge(const Challenge& challenge) = 0;
  /// Whether that challenge was given to this browser for that, a short time ago. It is over, whoever asks.
  virtual Result<bool> end_challenge(const Challenge& challenge) = 0;
};

}  // namespace mist::catalog
