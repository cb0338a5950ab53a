#include "catalog/sql_account_store.h"

#include <algorithm>
#include <span>

#include "base/hex.h"
#include "base/text.h"
#include "catalog/audit_words.h"
#include "catalog/sql_connections.h"
#include "catalog/sql_rows.h"
#include "catalog/sql_withheld.h"
#include "crypto/digest.h"
#include "sql/database.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Row;

constexpr int kMostSessions = 50;  // of an account
// How far the time of the last use may be behind, so that not every request writes.
constexpr std::int64_t kUseMilliseconds = 60'000;

constexpr std::string_view kDetails =
    "SELECT id, name, role, disabled, password <> '', "
    "EXISTS (SELECT 1 FROM second_factors f WHERE f.account = accounts.id AND f.confirmed = 1), "
    "(SELECT count(*) FROM recovery_codes r WHERE r.account = accounts.id), created, "
    "(SELECT count(*) FROM passkeys k WHERE k.account = accounts.id) FROM accounts ";

AccountDetails details_in(const Row& row) {
  return {.account = {row.integer(0), row.text(1), static_cast<Role>(row.integer(2))},
          .disabled = row.integer(3) != 0,
          .has_password = row.integer(4) != 0,
          .has_second_factor = row.integer(5) != 0,
          .passkeys = row.integer(8),
          .recovery_codes = row.integer(6),
          .created = time_of(row.integer(7))};
}

constexpr std::string_view kSession =
    "SELECT s.id, a.id, a.name, a.role, s.began, s.used, s.agent, s.peer, s.awaits_code FROM sessions s "
    "JOIN accounts a ON a.id = s.account AND a.disabled = 0 ";

Session session_in(const Row& row) {
  return {.id = row.integer(0),
          .account = {row.integer(1), row.text(2), static_cast<Role>(row.integer(3))},
          .began = time_of(row.integer(4)),
          .used = time_of(row.integer(5)),
          .agent = row.text(6),
          .peer = row.text(7),
          .awaits_code = row.integer(8) != 0};
}

class SqlAccountStore final : public AccountStore {
 public:
  SqlAccountStore(std::shared_ptr<SqlConnections> connections, const Clock& clock, Random& random,
                  const SessionTimes& times, EventSink* events)
      : connections_(std::move(connections)),
        clock_(clock),
        random_(random),
        times_(times),
        events_(events) {}

  // Accounts

  Result<Account> add(const std::string& name, Role role, const std::string& password,
                      const Audit& audit) override {
    Account account{.id = 0, .name = name, .role = role};
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY(account.id, insert_account(db, name, role, password));
      return insert_audit(db, now(), audit);
    });
    if (!done.ok()) return std::move(done).error();
    return account;
  }

  Status add_identified(const std::string& name, const std::string& issuer, const std::string& subject,
                        const Audit& audit) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t id, insert_account(db, name, Role::Author, ""));
      MIST_TRY_VOID(insert_audit(db, now(), audit));
      return insert_identity(db, id, issuer, subject);
    });
  }

  Result<std::optional<AccountDetails>> find(const std::string& name) override {
    std::optional<AccountDetails> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE name = ?", kDetails), {name},
                                     [&](const Row& row) { found = details_in(row); }));
    return found;
  }

  Result<Slice<AccountDetails>> list(const Page& page) override {
    Slice<AccountDetails> slice;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE name > ? ORDER BY name LIMIT ?", kDetails),
                                     {page.after, page.limit + 1},
                                     [&](const Row& row) { slice.items.push_back(details_in(row)); }));
    cut(slice, page, [](const AccountDetails& last) { return last.account.name; });
    return slice;
  }

  Status set_role(const std::string& name, Role role, const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("UPDATE accounts SET role = ? WHERE id = ?", {static_cast<int>(role), id}));
      return end_sessions(db, id);
    });
  }

  Status set_disabled(const std::string& name, bool disabled, const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("UPDATE accounts SET disabled = ? WHERE id = ?", {disabled ? 1 : 0, id}));
      if (!disabled) return {};
      MIST_TRY_VOID(withhold_tests(db, id, now()));
      MIST_TRY_VOID(db.run("DELETE FROM tokens WHERE account = ?", {id}));
      return end_sessions(db, id);
    });
  }

  Result<std::string> remove(const std::string& name, const Audit& audit) override {
    std::string gone = "deleted-" + random_.token(6);
    Status done = changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      bool is_last = false;
      MIST_TRY_VOID(db.query(
          "SELECT 1 FROM accounts WHERE id = ?1 AND role = ?2 AND disabled = 0 AND NOT EXISTS (SELECT 1 "
          "FROM accounts WHERE role = ?2 AND disabled = 0 AND id <> ?1)",
          {id, static_cast<int>(Role::Administrator)}, [&](const Row&) { is_last = true; }));
      if (is_last)
        return error(ErrorKind::Conflict, "{} is the last administrator", name)
            .with_hint("make another account one first");
      MIST_TRY_VOID(
          db.run("INSERT INTO retired_names VALUES (?) ON CONFLICT DO NOTHING", {retired_digest(name)}));
      // Others' reports about this account stay, without its words.
      MIST_TRY_VOID(db.run("UPDATE reports SET quote = '', quoted = ? WHERE quoted = ?", {gone, name}));
      MIST_TRY_VOID(db.run("UPDATE reports SET closed_by = ? WHERE closed_by = ?", {gone, name}));
      for (const std::string_view table :
           {"tokens", "sessions", "second_factors", "recovery_codes", "passkeys", "domains", "domain_claims",
            "identities", "ratings", "comments", "reports"})
        MIST_TRY_VOID(db.run(fmt::format("DELETE FROM {} WHERE account = ?", table), {id}));
      MIST_TRY_VOID(db.run("DELETE FROM journeys WHERE account = ?", {name}));
      MIST_TRY_VOID(db.run(
          "UPDATE projects SET linked = 0, due = NULL, url = '', path = '', webhook_secret = '', problem = "
          "'' WHERE account = ?",
          {id}));
      MIST_TRY_VOID(end_tests(db, id, now()));
      MIST_TRY_VOID(forget_subjects(db, name));
      MIST_TRY_VOID(db.run("UPDATE audit SET peer = '' WHERE who = ?", {name}));
      MIST_TRY_VOID(db.run("UPDATE audit SET who = ? WHERE who = ?", {gone, name}));
      MIST_TRY_VOID(db.run("UPDATE audit SET subject = ? WHERE subject = ?", {gone, name}));
      MIST_TRY_VOID(
          db.run("UPDATE audit SET subject = ?1 || substr(subject, length(?2) + 1) WHERE what = ?3 AND "
                 "substr(subject, 1, length(?2)) = ?2",
                 {role_subject_start(gone), role_subject_start(name), kAuditSetRole}));
      MIST_TRY_VOID(
          db.run("UPDATE accounts SET name = ?, role = ?, password = '', passkey_handle = '', disabled = "
                 "1 WHERE id = ?",
                 {gone, static_cast<int>(Role::Author), id}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return gone;
  }

  // Passwords

  Result<std::string> password_of(const std::string& name) override {
    std::string hash;
    MIST_TRY_VOID(connections_->read("SELECT password FROM accounts WHERE name = ? AND disabled = 0", {name},
                                     [&](const Row& row) { hash = row.text(0); }));
    return hash;
  }

  Status set_password(const std::string& name, const std::string& hash, const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("UPDATE accounts SET password = ? WHERE id = ?", {hash, id}));
      return end_sessions(db, id);
    });
  }

  Status rehash_password(const std::string& name, const std::string& old, const std::string& hash) override {
    return changing(name, {}, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(
          db.run("UPDATE accounts SET password = ? WHERE id = ? AND password = ?", {hash, id, old}));
      return {};
    });
  }

  // Second factors

  Result<std::optional<SecondFactor>> second_factor(const std::string& name) override {
    std::optional<SecondFactor> found;
    MIST_TRY_VOID(connections_->read(
        "SELECT f.secret, f.confirmed FROM second_factors f JOIN accounts a ON a.id = f.account "
        "WHERE a.name = ?",
        {name}, [&](const Row& row) {
          found = SecondFactor{.secret = std::string(row.text(0)), .confirmed = row.integer(1) != 0};
        }));
    if (!found) return found;
    std::optional<std::string> secret = bytes_of_hex(found->secret);
    if (!secret) return error(ErrorKind::Internal, "the authenticator of {} can't be read", name);
    found->secret = *std::move(secret);
    return found;
  }

  Status begin_second_factor(const std::string& name, const std::string& secret) override {
    return changing(name, {}, [&](Database& db, std::int64_t id) -> Status {
      const std::string kept = hex(std::as_bytes(std::span(secret)));
      MIST_TRY(const std::int64_t made,
               db.run("INSERT INTO second_factors (account, secret) VALUES (?1, ?2) ON CONFLICT (account) "
                      "DO UPDATE SET secret = ?2, step = 0 WHERE second_factors.confirmed = 0",
                      {id, kept}));
      if (made == 0) return error(ErrorKind::Conflict, "{} has an authenticator already", name);
      return {};
    });
  }

  Status confirm_second_factor(const std::string& name, std::int64_t step,
                               const std::vector<std::string>& recovery_digests,
                               const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t made, db.run("UPDATE second_factors SET confirmed = 1, step = ? "
                                               "WHERE account = ? AND confirmed = 0",
                                               {step, id}));
      if (made == 0) return error(ErrorKind::Conflict, "{} has no authenticator to confirm", name);
      MIST_TRY_VOID(db.run("DELETE FROM recovery_codes WHERE account = ?", {id}));
      for (const std::string& digest : recovery_digests)
        MIST_TRY_VOID(db.run("INSERT INTO recovery_codes (account, digest) VALUES (?, ?)", {id, digest}));
      return end_sessions(db, id);
    });
  }

  Result<bool> use_code(const std::string& name, std::int64_t step) override {
    return uses(
        "UPDATE second_factors SET step = ?2 WHERE step < ?2 AND confirmed = 1 AND "
        "account = (SELECT id FROM accounts WHERE name = ?1)",
        {name, step});
  }

  Result<bool> use_recovery_code(const std::string& name, const std::string& digest) override {
    return uses(
        "DELETE FROM recovery_codes WHERE digest = ?2 AND account = (SELECT id FROM accounts WHERE name = "
        "?1)",
        {name, digest});
  }

  Status end_second_factor(const std::string& name, const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended, db.run("DELETE FROM second_factors WHERE account = ?", {id}));
      if (ended == 0) return not_there("authenticator of", name);
      MIST_TRY_VOID(
          db.run("DELETE FROM recovery_codes WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM passkeys WHERE "
                 "account = ?1)",
                 {id}));
      return end_sessions(db, id);
    });
  }

  // Tries

  Result<int> wait_for(const std::string& what, Duration period, int burst) override {
    // Of each the time at which all of its tries are there again (GCRA, ITU-T I.371).
    const std::string digest = crypto::sha256(fmt::format("try {}", what)).str();
    const std::int64_t one = milliseconds(period);
    const std::int64_t latest = now() + burst * one + kClockSkew;
    std::int64_t wait = 0;
    Status done = connections_->writing([&](Database& db) -> Status {
      std::int64_t until = now();
      MIST_TRY_VOID(db.query("SELECT until FROM tries WHERE what = ? AND until <= ?", {digest, latest},
                             [&](const Row& row) { until = std::max(until, row.integer(0)); }));
      wait = until + one - burst * one - now();
      if (wait > 0) return {};
      MIST_TRY_VOID(db.run("DELETE FROM tries WHERE until <= ?", {now()}));
      MIST_TRY_VOID(
          db.run("INSERT INTO tries VALUES (?1, ?2) ON CONFLICT (what) DO UPDATE SET until = excluded.until",
                 {digest, until + one}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return wait <= 0 ? 0 : static_cast<int>((wait + 999) / 1000);
  }

  // Sessions

  Status add_session(const NewSession& session) override {
    return changing(session.account, {}, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(
          db.run("DELETE FROM sessions WHERE began <= ? OR used <= ? OR (awaits_code = 1 AND began <= ?)",
                 {oldest_begin(), oldest_use(), oldest_wait()}));
      MIST_TRY(const std::int64_t made,
               db.run("INSERT INTO sessions (account, digest, began, used, agent, peer, awaits_code) "
                      "SELECT id, ?2, ?3, ?3, ?4, ?5, ?6 FROM accounts WHERE id = ?1 AND disabled = 0",
                      {id, session.digest, now(), session.agent, session.peer, session.awaits_code ? 1 : 0}));
      if (made == 0) return not_there("account that may sign in", session.account);
      MIST_TRY_VOID(
          db.run("DELETE FROM sessions WHERE account = ?1 AND id NOT IN (SELECT id FROM sessions "
                 "WHERE account = ?1 ORDER BY id DESC LIMIT ?2)",
                 {id, kMostSessions}));
      return {};
    });
  }

  Result<std::optional<Session>> session(const std::string& digest) override {
    std::optional<Session> found;
    MIST_TRY_VOID(connections_->read(
        fmt::format(
            "{}WHERE s.digest = ? AND s.began > ? AND s.used > ? AND (s.awaits_code = 0 OR s.began > ?)",
            kSession),
        {digest, oldest_begin(), oldest_use(), oldest_wait()},
        [&](const Row& row) { found = session_in(row); }));
    if (found && stamp(found->used) <= now() - kUseMilliseconds)
      note_use("UPDATE sessions SET used = ? WHERE id = ?", found->id);
    return found;
  }

  Result<std::vector<Session>> sessions(const std::string& account) override {
    std::vector<Session> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE a.name = ? AND s.began > ? AND s.used > ? AND "
                                                 "s.awaits_code = 0 ORDER BY s.used DESC, s.id DESC",
                                                 kSession),
                                     {account, oldest_begin(), oldest_use()},
                                     [&](const Row& row) { found.push_back(session_in(row)); }));
    return found;
  }

  Status end_session(const std::string& digest) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM sessions WHERE digest = ?", {digest}));
      return {};
    });
  }

  Status end_other_sessions(const std::string& account, const std::string& digest,
                            const Audit& audit) override {
    return changing(account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM sessions WHERE account = ? AND digest <> ?", {id, digest}));
      return {};
    });
  }

  // Identities

  Result<std::string> account_of_identity(const std::string& issuer, const std::string& subject) override {
    std::string name;
    MIST_TRY_VOID(
        connections_->read("SELECT a.name FROM identities i JOIN accounts a ON a.id = i.account WHERE "
                           "i.issuer = ? AND i.subject = ?",
                           {issuer, subject}, [&](const Row& row) { name = row.text(0); }));
    return name;
  }

  Status link_identity(const std::string& name, const std::string& issuer, const std::string& subject,
                       const Audit& audit) override {
    return changing(name, audit,
                    [&](Database& db, std::int64_t id) { return insert_identity(db, id, issuer, subject); });
  }

  Result<std::vector<LinkedIdentity>> identities(const std::string& name) override {
    std::vector<LinkedIdentity> found;
    MIST_TRY_VOID(connections_->read(
        "SELECT i.issuer, i.subject FROM identities i JOIN accounts a ON a.id = i.account WHERE a.name = ? "
        "ORDER BY i.issuer, i.subject",
        {name}, [&](const Row& row) { found.push_back({.issuer = row.text(0), .subject = row.text(1)}); }));
    return found;
  }

  Status unlink_identity(const std::string& name, const std::string& issuer, const std::string& subject,
                         const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM identities WHERE account = ? AND issuer = ? AND subject = ?",
                      {id, issuer, subject}));
      if (ended == 0) return not_there("identity", subject);
      bool has_other = false;
      MIST_TRY_VOID(db.query(
          "SELECT 1 FROM accounts WHERE id = ?1 AND (password <> '' OR EXISTS (SELECT 1 FROM identities "
          "WHERE account = ?1))",
          {id}, [&](const Row&) { has_other = true; }));
      if (!has_other)
        return error(ErrorKind::Conflict, "nothing else lets {} in", name).with_hint("set a password first");
      return end_sessions(db, id);
    });
  }

  Result<std::vector<OwnDomain>> domains(const std::string& name) override {
    return domains_where("a.name = ? AND a.disabled = 0 ORDER BY d.domain", {name});
  }

  Status keep_domain(const std::string& name, const std::string& domain, const Audit& audit) override {
    return changing(name, audit,
                    [&](Database& db, std::int64_t id) -> Status { return prove(db, id, domain); });
  }

  Status note_domain(const std::string& name, const std::string& domain) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(
          db.run("UPDATE domains SET checked = ?1, looked = ?1, failures = 0 WHERE domain = ?2 AND account = "
                 "(SELECT id FROM accounts WHERE name = ?3)",
                 {now(), domain, name}));
      MIST_TRY_VOID(
          db.run("DELETE FROM domain_claims WHERE problem <> '' AND domain = ?1 AND account = (SELECT "
                 "d.account FROM "
                 "domains d JOIN accounts a ON a.id = d.account WHERE d.domain = ?1 AND a.name = ?2)",
                 {domain, name}));
      return {};
    });
  }

  Status note_missing_domain(const OwnDomain& due, int failures, const Audit& audit) override {
    return changing(due.account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t noted,
               db.run("UPDATE domains SET looked = ?, failures = ? WHERE account = ? AND domain = ? AND "
                      "checked = ? AND failures = ?",
                      {now(), failures, id, due.domain, stamp(due.checked), due.failures}));
      if (noted == 0) return not_there("domain of yours", due.domain);
      return {};
    });
  }

  Status remove_domain(const std::string& name, const std::string& domain, const Audit& audit) override {
    return changing(name, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM domains WHERE account = ? AND domain = ?", {id, domain}));
      if (ended == 0) return not_there("domain of yours", domain);
      return {};
    });
  }

  Result<std::vector<OwnDomain>> due_domains(WallTime before, const OwnDomain& after, int limit) override {
    return domains_where(
        "a.disabled = 0 AND d.failures < ? AND d.looked < ? AND (d.looked, a.name, d.domain) > (?, ?, ?) "
        "ORDER BY d.looked, a.name, d.domain LIMIT ?",
        {OwnDomain::kMostFailures, stamp(before), stamp(after.looked), after.account, after.domain, limit});
  }

  Status claim_domain(const std::string& name, const std::string& domain, const std::string& peer) override {
    return changing(name, {}, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run(
          "INSERT INTO domain_claims (account, domain, asked, problem, peer) VALUES (?1, ?2, ?3, '', ?4) "
          "ON CONFLICT (account, domain) DO UPDATE SET asked = ?3, problem = '', peer = ?4",
          {id, domain, now(), peer}));
      return {};
    });
  }

  Result<std::vector<DomainClaim>> domain_claims(const std::string& name) override {
    return claims_where("a.name = ? AND a.disabled = 0 ORDER BY c.domain", {name});
  }

  Result<std::vector<DomainClaim>> open_domain_claims(int limit) override {
    return claims_where("c.problem = '' AND a.disabled = 0 ORDER BY c.asked, a.name, c.domain LIMIT ?",
                        {limit});
  }

  Status grant_domain(const DomainClaim& claim, const Audit& audit) override {
    return changing(claim.account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM domain_claims WHERE account = ? AND domain = ? AND problem = ''",
                      {id, claim.domain}));
      if (ended == 0) return not_there("open claim of the domain", claim.domain);
      return prove(db, id, claim.domain);
    });
  }

  Status refuse_domain(const DomainClaim& claim, const std::string& problem) override {
    return changing(claim.account, {}, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("UPDATE domain_claims SET problem = ?, peer = '' WHERE account = ? AND domain = ? AND "
                      "problem = ''",
                      {problem, id, claim.domain}));
      if (ended == 0) return not_there("open claim of the domain", claim.domain);
      return {};
    });
  }

  Status take_back_claim(const std::string& name, const std::string& domain) override {
    return changing(name, {}, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM domain_claims WHERE account = ? AND domain = ?", {id, domain}));
      if (ended == 0) return not_there("claim of the domain", domain);
      return {};
    });
  }

  Status add_pending_sign_in(const PendingSignIn& pending) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM journeys WHERE began <= ?", {oldest_wait()}));
      MIST_TRY_VOID(
          db.run("INSERT INTO journeys (state, browser, nonce, verifier, next, account, began) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?)",
                 {pending.state, pending.browser, pending.nonce, pending.verifier, pending.next,
                  pending.account, now()}));
      return {};
    });
  }

  Result<std::optional<PendingSignIn>> take_pending_sign_in(const std::string& state,
                                                            const std::string& browser) override {
    std::optional<PendingSignIn> found;
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(
          db.query("SELECT state, browser, nonce, verifier, next, account FROM journeys WHERE state = ? AND "
                   "browser = ? AND began > ?",
                   {state, browser, oldest_wait()}, [&](const Row& row) {
                     found = PendingSignIn{.state = row.text(0),
                                           .browser = row.text(1),
                                           .nonce = row.text(2),
                                           .verifier = row.text(3),
                                           .next = row.text(4),
                                           .account = row.text(5)};
                   }));
      MIST_TRY_VOID(db.run("DELETE FROM journeys WHERE state = ?", {state}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return found;
  }

  // Tokens

  Status add_token(const NewToken& token, const Audit& audit) override {
    return changing(token.account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run(
          "INSERT INTO tokens (account, digest, label, scopes, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
          {id, token.digest, token.label, token.scopes, now(), stamp(token.expires)}));
      return {};
    });
  }

  Result<std::optional<TokenOwner>> owner_of_token(const std::string& digest) override {
    std::optional<TokenOwner> found;
    std::int64_t id = 0;
    std::int64_t used = 0;
    MIST_TRY_VOID(connections_->read(
        "SELECT a.id, a.name, a.role, t.scopes, t.id, coalesce(t.used, 0), t.expires FROM tokens t "
        "JOIN accounts a ON a.id = t.account "
        "WHERE t.digest = ? AND a.disabled = 0 AND (t.expires IS NULL OR t.expires > ?)",
        {digest, now()}, [&](const Row& row) {
          found = TokenOwner{.account = {row.integer(0), row.text(1), static_cast<Role>(row.integer(2))},
                             .scopes = row.text(3)};
          if (!row.is_null(6)) found->expires = time_of(row.integer(6));
          id = row.integer(4);
          used = row.integer(5);
        }));
    if (found && used <= now() - kUseMilliseconds) note_use("UPDATE tokens SET used = ? WHERE id = ?", id);
    return found;
  }

  Result<std::vector<TokenFacts>> tokens(const std::string& account) override {
    std::vector<TokenFacts> found;
    const auto time = [](const Row& row, int column) {
      return row.is_null(column) ? std::nullopt : std::optional(time_of(row.integer(column)));
    };
    MIST_TRY_VOID(
        connections_->read("SELECT t.id, t.label, t.scopes, t.created, t.used, t.expires FROM tokens t "
                           "JOIN accounts a ON a.id = t.account WHERE a.name = ? ORDER BY t.id DESC",
                           {account}, [&](const Row& row) {
                             found.push_back({.id = row.integer(0),
                                              .label = row.text(1),
                                              .scopes = row.text(2),
                                              .created = time_of(row.integer(3)),
                                              .used = time(row, 4),
                                              .expires = time(row, 5)});
                           }));
    return found;
  }

  Status revoke_token(const std::string& account, std::int64_t token, const Audit& audit) override {
    return changing(account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM tokens WHERE account = ? AND id = ?", {id, token}));
      if (ended == 0) return not_there("token", std::to_string(token));
      return {};
    });
  }

  Status revoke_tokens(const std::string& account, const Audit& audit) override {
    return changing(account, audit, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM tokens WHERE account = ?", {id}));
      return {};
    });
  }

 private:
  std::int64_t now() const { return stamp(clock_.now()); }
  std::int64_t oldest_begin() const { return now() - milliseconds(times_.longest); }
  std::int64_t oldest_use() const { return now() - milliseconds(times_.idle); }

  // The name itself is not kept.
  static std::string retired_digest(std::string_view name) {
    return crypto::sha256(fmt::format("account {}", name)).str();
  }

  std::int64_t oldest_wait() const { return now() - milliseconds(times_.code); }

  Result<std::int64_t> insert_account(Database& db, const std::string& name, Role role,
                                      const std::string& password) const {
    if (!is_dns1123_label(name))
      return error(ErrorKind::Invalid, "{} can't be the name of an account", escape_controls(name))
          .with_hint("lower case letters, digits and '-'");
    MIST_TRY(const std::int64_t id,
             new_id(db,
                    "INSERT INTO accounts (name, role, created, password) SELECT ?1, ?2, ?3, ?4 WHERE NOT "
                    "EXISTS (SELECT 1 FROM retired_names WHERE digest = ?5) ON CONFLICT DO NOTHING "
                    "RETURNING id",
                    {name, static_cast<int>(role), now(), password, retired_digest(name)}));
    if (id == 0) return error(ErrorKind::Conflict, "there is an account {} already", name);
    return id;
  }

  static Status insert_identity(Database& db, std::int64_t account, const std::string& issuer,
                                const std::string& subject) {
    MIST_TRY(const std::int64_t made,
             db.run("INSERT INTO identities (issuer, subject, account) VALUES (?1, ?2, ?3) "
                    "ON CONFLICT (issuer, subject) DO UPDATE SET account = ?3 WHERE identities.account = ?3",
                    {issuer, subject, account}));
    if (made == 0) return error(ErrorKind::Conflict, "that identity is linked to another account");
    return {};
  }

  // Whether the statement changed a row.
  Result<bool> uses(std::string_view sql, sql::Params params) {
    bool used = false;
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t changed, db.run(sql, params));
      used = changed > 0;
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return used;
  }

  // Whether somebody may come in was read: a database that takes no writes now is no reason to refuse them.
  void note_use(std::string_view sql, std::int64_t id) {
    const Status done = connections_->run_alone(sql, {now(), id});
    if (!done.ok() && events_ != nullptr)
      events_->warn(fmt::format("a sign-in's last use isn't kept: {}", done.error().to_line()));
  }

  Status prove(Database& db, std::int64_t account, const std::string& domain) const {
    MIST_TRY_VOID(
        db.run("INSERT INTO domains (account, domain, proved, checked, looked, failures) VALUES (?1, ?2, "
               "?3, ?3, ?3, 0) ON CONFLICT (account, domain) DO UPDATE SET proved = CASE WHEN "
               "domains.failures >= ?4 THEN ?3 ELSE domains.proved END, checked = ?3, looked = ?3, "
               "failures = 0",
               {account, domain, now(), OwnDomain::kMostFailures}));
    return {};
  }

  Result<std::vector<DomainClaim>> claims_where(std::string_view condition, sql::Params params) {
    std::vector<DomainClaim> found;
    MIST_TRY_VOID(connections_->read(
        fmt::format(
            "SELECT a.name, c.domain, c.asked, c.problem, c.peer FROM domain_claims c JOIN accounts a "
            "ON a.id = c.account WHERE {}",
            condition),
        params, [&](const Row& row) {
          found.push_back({.account = row.text(0),
                           .domain = row.text(1),
                           .asked = time_of(row.integer(2)),
                           .problem = row.text(3),
                           .peer = row.text(4)});
        }));
    return found;
  }

  Result<std::vector<OwnDomain>> domains_where(std::string_view condition, sql::Params params) {
    std::vector<OwnDomain> found;
    MIST_TRY_VOID(connections_->read(
        fmt::format("SELECT a.name, d.domain, d.proved, d.checked, d.looked, d.failures FROM domains d JOIN "
                    "accounts a ON a.id = d.account WHERE {}",
                    condition),
        params, [&](const Row& row) {
          found.push_back({.account = row.text(0),
                           .domain = row.text(1),
                           .proved = time_of(row.integer(2)),
                           .checked = time_of(row.integer(3)),
                           .looked = time_of(row.integer(4)),
                           .failures = static_cast<int>(row.integer(5))});
        }));
    return found;
  }

  // Repositories, identities, domains and labels of tokens in the audit log name a person as well.
  static Status forget_subjects(Database& db, const std::string& name) {
    for (const std::string_view what : kAuditOfPersons)
      MIST_TRY_VOID(db.run("UPDATE audit SET subject = '' WHERE who = ? AND what = ?", {name, what}));
    std::vector<std::pair<std::int64_t, std::string>> links;
    MIST_TRY_VOID(db.query("SELECT id, subject FROM audit WHERE who = ? AND what = ?", {name, kAuditLink},
                           [&](const Row& row) { links.emplace_back(row.integer(0), row.text(1)); }));
    for (const auto& [id, subject] : links)
      MIST_TRY_VOID(
          db.run("UPDATE audit SET subject = ? WHERE id = ?", {link_subject_without_url(subject), id}));
    return {};
  }

  static Status end_sessions(Database& db, std::int64_t account) {
    MIST_TRY_VOID(db.run("DELETE FROM sessions WHERE account = ?", {account}));
    return {};
  }

  // A transaction about one account, which NotFound says isn't there. Its entry in the audit log comes
  // first: where the account goes, its name goes there, too.
  Status changing(const std::string& name, const Audit& audit,
                  const std::function<Status(Database&, std::int64_t)>& work) {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t id, account_id(db, name));
      MIST_TRY_VOID(insert_audit(db, now(), audit));
      return work(db, id);
    });
  }

  const std::shared_ptr<SqlConnections> connections_;
  const Clock& clock_;
  Random& random_;
  const SessionTimes times_;
  EventSink* const events_;
};

}  // namespace

std::unique_ptr<AccountStore> account_store_in(std::shared_ptr<SqlConnections> connections,
                                               const Clock& clock, Random& random, const SessionTimes& times,
                                               EventSink* events) {
  return std::make_unique<SqlAccountStore>(std::move(connections), clock, random, times, events);
}

}  // namespace mist::catalog
