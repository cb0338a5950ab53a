#include "catalog/sql_passkey_store.h"

#include <functional>

#include "base/text.h"
#include "catalog/sql_rows.h"
#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "sql/database.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Row;

constexpr std::size_t kHandleBytes = 32;

constexpr std::string_view kPasskey =
    "SELECT p.id, p.credential, p.public_key, p.name, p.transports, p.counter, p.backup_eligible, p.created, "
    "p.used, "
    "p.suspected, a.name, a.passkey_handle FROM passkeys p JOIN accounts a ON a.id = p.account ";

// Of our own base64url; a damaged one is of no passkey.
std::string bytes_in(const std::string& text) {
  auto bytes = encoding::base64url_decode(text);
  return bytes.ok() ? *std::move(bytes) : std::string();
}

PasskeyOwner passkey_in(const Row& row) {
  const auto time = [&](int column) {
    return row.is_null(column) ? std::nullopt : std::optional(time_of(row.integer(column)));
  };
  PasskeyOwner found{.passkey = {.id = row.integer(0),
                                 .facts = {.credential = bytes_in(row.text(1)),
                                           .key = row.text(2),
                                           .name = row.text(3),
                                           .counter = static_cast<std::uint32_t>(row.integer(5)),
                                           .backup_eligible = row.integer(6) != 0},
                                 .created = time_of(row.integer(7)),
                                 .used = time(8),
                                 .suspected = time(9)},
                     .account = row.text(10),
                     .handle = bytes_in(row.text(11))};
  const std::string transports = row.text(4);
  for (const std::string_view each : split(transports, ' '))
    if (!each.empty()) found.passkey.facts.transports.emplace_back(each);
  return found;
}

class SqlPasskeyStore final : public PasskeyStore {
 public:
  SqlPasskeyStore(std::shared_ptr<SqlConnections> connections, const Clock& clock, Random& random)
      : connections_(std::move(connections)), clock_(clock), random_(random) {}

  Result<std::string> handle(const std::string& account) override {
    std::string bytes(kHandleBytes, '\0');
    random_.fill(std::as_writable_bytes(std::span(bytes)));
    std::string kept;
    Status done = of_account(account, [&](Database& db, std::int64_t id) -> Status {
      MIST_TRY_VOID(db.run("UPDATE accounts SET passkey_handle = ? WHERE id = ? AND passkey_handle = ''",
                           {encoding::base64url_encode(bytes), id}));
      MIST_TRY_VOID(db.query("SELECT passkey_handle FROM accounts WHERE id = ?", {id},
                             [&](const Row& row) { kept = bytes_in(row.text(0)); }));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return kept;
  }

  Status add(const std::string& account, const NewPasskey& passkey,
             const std::vector<std::string>& recovery_digests, const Audit& audit) override {
    return of_account(account, [&](Database& db, std::int64_t id) -> Status {
      std::int64_t count = 0;
      MIST_TRY_VOID(db.query("SELECT count(*) FROM passkeys WHERE account = ?", {id},
                             [&](const Row& row) { count = row.integer(0); }));
      if (count >= kMostPasskeys) return too_many();
      MIST_TRY(const std::int64_t made,
               db.run("INSERT INTO passkeys (account, credential, public_key, name, transports, counter, "
                      "backup_eligible, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                      {id, encoding::base64url_encode(passkey.credential), passkey.key, passkey.name,
                       join(passkey.transports, " "), static_cast<std::int64_t>(passkey.counter),
                       passkey.backup_eligible ? 1 : 0, now()}));
      if (made == 0) return known_already();
      if (!recovery_digests.empty())
        MIST_TRY_VOID(db.run("DELETE FROM recovery_codes WHERE account = ?", {id}));
      for (const std::string& digest : recovery_digests)
        MIST_TRY_VOID(db.run("INSERT INTO recovery_codes (account, digest) VALUES (?, ?)", {id, digest}));
      MIST_TRY_VOID(db.run("DELETE FROM sessions WHERE account = ?", {id}));
      return insert_audit(db, now(), audit);
    });
  }

  Result<std::vector<Passkey>> passkeys(const std::string& account) override {
    std::vector<Passkey> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE a.name = ? ORDER BY p.id", kPasskey), {account},
                                     [&](const Row& row) { found.push_back(passkey_in(row).passkey); }));
    return found;
  }

  Result<std::optional<PasskeyOwner>> find(const std::string& credential) override {
    std::optional<PasskeyOwner> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE p.credential = ? AND a.disabled = 0", kPasskey),
                                     {encoding::base64url_encode(credential)},
                                     [&](const Row& row) { found = passkey_in(row); }));
    return found;
  }

  Result<bool> use(std::int64_t id, std::uint32_t counter) override {
    bool good = false;
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t used,
               db.run("UPDATE passkeys SET counter = ?1, used = ?2 WHERE id = ?3 AND (counter < ?1 OR "
                      "(counter = 0 AND ?1 = 0))",
                      {static_cast<std::int64_t>(counter), now(), id}));
      good = used > 0;
      if (!good) MIST_TRY_VOID(db.run("UPDATE passkeys SET suspected = ? WHERE id = ?", {now(), id}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return good;
  }

  Status remove(const std::string& account, std::int64_t id, const Audit& audit) override {
    return of_account(account, [&](Database& db, std::int64_t owner) -> Status {
      MIST_TRY(const std::int64_t ended,
               db.run("DELETE FROM passkeys WHERE account = ? AND id = ?", {owner, id}));
      if (ended == 0) return not_there("passkey", std::to_string(id));
      MIST_TRY_VOID(insert_audit(db, now(), audit));
      return end_what_asked(db, owner);
    });
  }

  Result<std::int64_t> remove_all(const std::string& account, const Audit& audit) override {
    std::int64_t ended = 0;
    Status done = of_account(account, [&](Database& db, std::int64_t owner) -> Status {
      MIST_TRY(ended, db.run("DELETE FROM passkeys WHERE account = ?", {owner}));
      if (ended == 0) return {};
      MIST_TRY_VOID(insert_audit(db, now(), audit));
      return end_what_asked(db, owner);
    });
    if (!done.ok()) return std::move(done).error();
    return ended;
  }

  Status begin_challenge(const Challenge& challenge) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM challenges WHERE began <= ?", {oldest()}));
      MIST_TRY_VOID(db.run("INSERT INTO challenges (digest, holder, purpose, began) VALUES (?, ?, ?, ?)",
                           {challenge.digest, challenge.holder, static_cast<int>(challenge.purpose), now()}));
      return {};
    });
  }

  Result<bool> end_challenge(const Challenge& challenge) override {
    bool good = false;
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(
          db.query("SELECT 1 FROM challenges WHERE digest = ? AND holder = ? AND purpose = ? AND began > ?",
                   {challenge.digest, challenge.holder, static_cast<int>(challenge.purpose), oldest()},
                   [&](const Row&) { good = true; }));
      MIST_TRY_VOID(db.run("DELETE FROM challenges WHERE digest = ?", {challenge.digest}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return good;
  }

 private:
  std::int64_t now() const { return stamp(clock_.now()); }
  std::int64_t oldest() const { return now() - milliseconds(kChallengeTime); }

  static Status end_what_asked(Database& db, std::int64_t account) {
    MIST_TRY_VOID(db.run(
        "DELETE FROM recovery_codes WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM passkeys WHERE "
        "account = ?1) AND NOT EXISTS (SELECT 1 FROM second_factors WHERE account = ?1 AND confirmed = "
        "1)",
        {account}));
    MIST_TRY_VOID(db.run("DELETE FROM sessions WHERE account = ?", {account}));
    return {};
  }

  // A transaction about one account, which NotFound says isn't there.
  Status of_account(const std::string& name, const std::function<Status(Database&, std::int64_t)>& work) {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t id, account_id(db, name));
      return work(db, id);
    });
  }

  const std::shared_ptr<SqlConnections> connections_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace

std::unique_ptr<PasskeyStore> passkey_store_in(std::shared_ptr<SqlConnections> connections,
                                               const Clock& clock, Random& random) {
  return std::make_unique<SqlPasskeyStore>(std::move(connections), clock, random);
}

}  // namespace mist::catalog
