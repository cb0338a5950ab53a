#pragma once
// The memory of accounts: passwords, sessions, tokens. Everything that lets somebody in is kept as a digest
// or as a slow hash alone. sql_account_store.h is the one implementation, in the database of store.h, so
// that several processes share it. Blocking; any thread.
//
// Every call is whole or not at all, and kept once it returns. Errors: those of the database (Retryable where
// trying again may help); others are named. Names of accounts are DNS-1123 labels.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "catalog/model.h"
#include "catalog/store.h"

namespace mist::catalog {

/// An account as its owner and administrators see it.
struct AccountDetails {
  Account account = {};
  bool disabled = false;
  bool has_password = false;
  bool has_second_factor = false;   ///< an authenticator of codes
  std::int64_t passkeys = 0;        ///< that it has (passkey_store.h)
  std::int64_t recovery_codes = 0;  ///< that are left
  WallTime created{};

  /// Something is asked for after the password, or after the issuer's word.
  bool awaits_more() const { return has_second_factor || passkeys > 0; }
};

/// An authenticator that an account has.
struct SecondFactor {
  std::string secret = {};  ///< its bytes
  bool confirmed = false;   ///< it showed that it has the secret; before that it isn't asked for
};

/// Of a token; the token itself is never stored.
struct NewToken {
  std::string account = {}, digest = {}, label = {};
  std::string scopes = {};  ///< names, with blanks between them (token.h)
  std::optional<WallTime> expires = {};
};
/// A token as its owner sees it later.
struct TokenFacts {
  std::int64_t id = 0;
  std::string label = {}, scopes = {};
  WallTime created{};
  std::optional<WallTime> used = {}, expires = {};
};
struct TokenOwner {
  Account account = {};
  std::string scopes = {};
  std::optional<WallTime> expires = {};
};

struct NewSession {
  std::string account = {}, digest = {};
  std::string agent = {};  ///< what the browser calls itself
  std::string peer = {};   ///< IP address
  bool awaits_code = false;
};
struct Session {
  std::int64_t id = 0;
  Account account = {};
  WallTime began{}, used{};
  std::string agent = {}, peer = {};
  bool awaits_code = false;  ///< the password was right, a code is needed: it gives no right yet
};

/// A sign-in by an issuer (oidc.h) that a browser is away for.
struct PendingSignIn {
  std::string state = {};    ///< digest of the state that it comes back with
  std::string browser = {};  ///< digest of the cookie of the browser that left
  std::string nonce = {}, verifier = {};
  std::string next = {};     ///< the path to go to afterwards
  std::string account = {};  ///< to which the identity is linked; empty: somebody signs in
};

/// A session ends when it wasn't used for that long, and at the latest that long after it began.
struct SessionTimes {
  Duration idle = std::chrono::hours(12);
  Duration longest = std::chrono::days(7);
  Duration code = std::chrono::minutes(10);  ///< for a session that awaits a code
};

/// A domain of the DNS that an account proved to be its own.
struct OwnDomain {
  static constexpr int kMostFailures = 3;

  std::string account = {}, domain = {};
  WallTime proved{};
  WallTime checked{};  ///< when its record was there last
  WallTime looked{};   ///< when it was looked at last, and name servers answered
  int failures = 0;    ///< looks in a row that didn't find the record

  /// Nothing is shown of it but to its account, which may prove it again.
  bool has_lapsed() const { return failures >= kMostFailures; }
};

/// An account's wish to prove a domain; its record is looked up later, by DomainActions::look_at_claims.
struct DomainClaim {
  std::string account = {}, domain = {};
  WallTime asked{};
  std::string problem = {};  ///< why it isn't proved; empty: nobody has looked yet
  std::string peer = {};     ///< the address that asked, for the audit log

  bool is_open() const { return problem.empty(); }
};

class AccountStore {
 public:
  virtual ~AccountStore() = default;

  /// Conflict: the name is taken. `password`: its hash; empty: it has none.
  virtual Result<Account> add(const std::string& name, Role role, const std::string& password,
                              const Audit& audit = {}) = 0;
  /// An author without a password whom the issuer lets in, both or neither: an account that nothing lets in
  /// would keep its name for ever. Conflict: the name is taken, or the identity is linked already.
  virtual Status add_identified(const std::string& name, const std::string& issuer,
                                const std::string& subject, const Audit& audit = {}) = 0;
  virtual Result<std::optional<AccountDetails>> find(const std::string& name) = 0;
  /// By name.
  virtual Result<Slice<AccountDetails>> list(const Page& page) = 0;
  /// Ends the account's sessions. NotFound.
  virtual Status set_role(const std::string& name, Role role, const Audit& audit = {}) = 0;
  /// Disabling ends its sessions and tokens, and tests of its versions that failed before, for ever; until it
  /// is enabled nothing lets it in, its projects get no new versions, and those that were never tested wait,
  /// also those that are being tested just now. NotFound.
  virtual Status set_disabled(const std::string& name, bool disabled, const Audit& audit = {}) = 0;
  /// Deletes its passwords, passkeys, sessions, tokens and whatever it said of packages, unlinks its
  /// projects, fails what waits for its first test or failed before, and calls it by another name, which is
  /// returned, in all that must stay: its versions and the audit log, without addresses, repositories,
  /// identities, domains and labels; so in `audit`, too. Nobody gets the old name again. NotFound. Conflict:
  /// no other administrator may sign in.
  virtual Result<std::string> remove(const std::string& name, const Audit& audit = {}) = 0;

  /// The hash of an account that may sign in; empty: there is none.
  virtual Result<std::string> password_of(const std::string& name) = 0;
  /// Ends all sessions of the account. NotFound.
  virtual Status set_password(const std::string& name, const std::string& hash, const Audit& audit = {}) = 0;
  /// Another hash of the same password; nothing if it isn't `old` any more.
  virtual Status rehash_password(const std::string& name, const std::string& old,
                                 const std::string& hash) = 0;

  /// Its authenticator; nullopt: it has none.
  virtual Result<std::optional<SecondFactor>> second_factor(const std::string& name) = 0;
  /// One that isn't confirmed. Conflict: the account has one that is. NotFound.
  virtual Status begin_second_factor(const std::string& name, const std::string& secret) = 0;
  /// Confirms it with the code of `step`, and ends the account's sessions. The recovery codes are these from
  /// now on. Conflict: there is none to confirm.
  virtual Status confirm_second_factor(const std::string& name, std::int64_t step,
                                       const std::vector<std::string>& recovery_digests,
                                       const Audit& audit = {}) = 0;
  /// Whether no code of that step, or of a later one, was used before; it counts as used now.
  virtual Result<bool> use_code(const std::string& name, std::int64_t step) = 0;
  /// Whether there is that recovery code; it is gone now.
  virtual Result<bool> use_recovery_code(const std::string& name, const std::string& digest) = 0;
  /// Ends the account's sessions, and its recovery codes if it has no passkey. NotFound: it has none.
  virtual Status end_second_factor(const std::string& name, const Audit& audit = {}) = 0;

  /// Of something that may be tried `burst` times at once, and then once in each `period`; all processes
  /// count together. 0: it may be tried now, which counts; else the seconds until then. `what` is kept as a
  /// digest. Tries that were counted while the clock was far ahead don't count.
  virtual Result<int> wait_for(const std::string& what, Duration period, int burst) = 0;

  /// Ends the oldest ones of an account that has very many. NotFound: there is no such account that may sign
  /// in.
  virtual Status add_session(const NewSession& session) = 0;
  /// The session with that digest, which counts as used now; nullopt: there is none, or not any more.
  virtual Result<std::optional<Session>> session(const std::string& digest) = 0;
  /// Those that didn't end and await no code, the last used first.
  virtual Result<std::vector<Session>> sessions(const std::string& account) = 0;
  virtual Status end_session(const std::string& digest) = 0;
  /// All of the account but that one.
  virtual Status end_other_sessions(const std::string& account, const std::string& digest,
                                    const Audit& audit = {}) = 0;

  /// The account of an identity that an issuer vouches for; empty: none is linked.
  virtual Result<std::string> account_of_identity(const std::string& issuer, const std::string& subject) = 0;
  /// Conflict: it is linked to another account. NotFound.
  virtual Status link_identity(const std::string& name, const std::string& issuer, const std::string& subject,
                               const Audit& audit = {}) = 0;
  struct LinkedIdentity {
    std::string issuer = {}, subject = {};
  };
  virtual Result<std::vector<LinkedIdentity>> identities(const std::string& name) = 0;
  /// Ends the account's sessions. NotFound. Conflict: nothing else lets the account in.
  virtual Status unlink_identity(const std::string& name, const std::string& issuer,
                                 const std::string& subject, const Audit& audit = {}) = 0;

  /// Of an account that isn't disabled, those that lapsed, too; by name.
  virtual Result<std::vector<OwnDomain>> domains(const std::string& name) = 0;
  /// Proved, or proved again, now. NotFound: no such account.
  virtual Status keep_domain(const std::string& name, const std::string& domain, const Audit& audit = {}) = 0;
  /// NotFound.
  virtual Status remove_domain(const std::string& name, const std::string& domain,
                               const Audit& audit = {}) = 0;
  /// Its record is there now, so a claim that was refused ends, too; nothing happens if the account no longer
  /// has it.
  virtual Status note_domain(const std::string& name, const std::string& domain) = 0;
  /// Its record isn't there now, as it wasn't the last `failures` - 1 times. NotFound: the account no longer
  /// has it, or its record was looked at since it was read as `due`.
  virtual Status note_missing_domain(const OwnDomain& due, int failures, const Audit& audit = {}) = 0;
  /// Those that were last looked at before, and haven't lapsed, of accounts that aren't disabled, the longest
  /// ago first. `after`:
  /// the last of those that were given before; a default one: none were.
  virtual Result<std::vector<OwnDomain>> due_domains(WallTime before, const OwnDomain& after, int limit) = 0;

  virtual Status add_pending_sign_in(const PendingSignIn& pending) = 0;
  /// The one with that state, if this browser began it a short time ago. It is over, whoever asks.
  virtual Result<std::optional<PendingSignIn>> take_pending_sign_in(const std::string& state,
                                                                    const std::string& browser) = 0;

  /// NotFound: no such account.
  virtual Status add_token(const NewToken& token, const Audit& audit = {}) = 0;
  /// The owner of the valid token with that digest, which counts as used now; nullopt: there is none.
  virtual Result<std::optional<TokenOwner>> owner_of_token(const std::string& digest) = 0;
  /// The newest first, those that expired too.
  virtual Result<std::vector<TokenFacts>> tokens(const std::string& account) = 0;
  /// NotFound: the account has no such token.
  virtual Status revoke_token(const std::string& account, std::int64_t id, const Audit& audit = {}) = 0;
  /// All tokens of an account. NotFound.
  virtual Status revoke_tokens(const std::string& account, const Audit& audit = {}) = 0;

  /// Open from now on, in the place of an earlier claim of the same. NotFound: no such account.
  virtual Status claim_domain(const std::string& name, const std::string& domain,
                              const std::string& peer) = 0;
  /// Of an account that isn't disabled; by domain.
  virtual Result<std::vector<DomainClaim>> domain_claims(const std::string& name) = 0;
  /// Open ones of accounts that aren't disabled, the longest ago first.
  virtual Result<std::vector<DomainClaim>> open_domain_claims(int limit) = 0;
  /// Proves the domain of an open claim, as keep_domain does, and ends the claim. NotFound: it is no longer
  /// open, because its owner took it back, or another instance has looked at it.
  virtual Status grant_domain(const DomainClaim& claim, const Audit& audit) = 0;
  /// The claim stays, with `problem`. NotFound: it is no longer open.
  virtual Status refuse_domain(const DomainClaim& claim, const std::string& problem) = 0;
  /// A claim, open or not. NotFound.
  virtual Status take_back_claim(const std::string& name, const std::string& domain) = 0;
};

}  // namespace mist::catalog
