// The catalog in SQLite: its tables, as the scripts that bring a database from one version to the next, and
// FTS5. A script that was released never changes.

#include <fmt/format.h>

#include <array>

#include "catalog/sql_dialect.h"

namespace mist::catalog {
namespace {

// Times are milliseconds since 1970. `place` orders versions by SemVer (SqlStore::place_for).
constexpr std::array<std::string_view, 21> kSchema{R"(
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO counters VALUES ('index', 1), ('served', 0);

CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role INTEGER NOT NULL,
  created INTEGER NOT NULL,
  served INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE tokens (
  id INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  digest TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER) STRICT;
CREATE INDEX tokens_of_account ON tokens (account);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  account INTEGER NOT NULL REFERENCES accounts (id),
  url TEXT NOT NULL,
  path TEXT NOT NULL,
  webhook_secret TEXT NOT NULL,
  created INTEGER NOT NULL,
  polled INTEGER,
  due INTEGER,
  problem TEXT NOT NULL DEFAULT '',
  linked INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE INDEX projects_due ON projects (due) WHERE linked = 1;

CREATE TABLE versions (
  id INTEGER PRIMARY KEY,
  project INTEGER NOT NULL REFERENCES projects (id),
  version TEXT NOT NULL,
  place INTEGER NOT NULL,
  tag TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  digest TEXT NOT NULL,
  state INTEGER NOT NULL,
  yanked TEXT,
  created INTEGER NOT NULL,
  facts TEXT NOT NULL,
  readme TEXT NOT NULL,
  UNIQUE (project, version)) STRICT;
CREATE INDEX versions_by_digest ON versions (digest);
CREATE INDEX versions_by_time ON versions (created);

CREATE TABLE listed (
  project INTEGER PRIMARY KEY REFERENCES projects (id),
  name TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL REFERENCES versions (id),
  description TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (name, description, details, tokenize = 'unicode61', prefix = '2 3');

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  version INTEGER NOT NULL REFERENCES versions (id),
  open INTEGER NOT NULL DEFAULT 1,
  attempt INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  until INTEGER,
  created INTEGER NOT NULL) STRICT;
CREATE INDEX jobs_open ON jobs (version) WHERE open = 1;
CREATE INDEX jobs_of_version ON jobs (version);
CREATE TABLE runs (
  job INTEGER NOT NULL REFERENCES jobs (id),
  attempt INTEGER NOT NULL,
  nodes TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (job, attempt)) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
  job INTEGER NOT NULL REFERENCES jobs (id),
  attempt INTEGER NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  state INTEGER NOT NULL,
  summary TEXT NOT NULL,
  log TEXT NOT NULL,
  began INTEGER NOT NULL,
  elapsed INTEGER NOT NULL,
  PRIMARY KEY (job, attempt, number)) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  subject TEXT NOT NULL,
  peer TEXT NOT NULL) STRICT;
)",
                                                   R"(
ALTER TABLE runs ADD COLUMN objects TEXT NOT NULL DEFAULT '';
ALTER TABLE listed ADD COLUMN format TEXT NOT NULL DEFAULT '';
ALTER TABLE listed ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
UPDATE listed SET
  format = coalesce((SELECT facts ->> '$.format' FROM versions WHERE id = listed.version), ''),
  state = (SELECT state FROM versions WHERE id = listed.version);
CREATE INDEX listed_facets ON listed (format, state);
CREATE INDEX listed_version ON listed (version);
CREATE INDEX versions_by_state ON versions (state);
CREATE TRIGGER listed_state AFTER UPDATE OF state ON versions BEGIN
  UPDATE listed SET state = new.state WHERE version = new.id;
END;
)",
                                                   R"(
ALTER TABLE runs ADD COLUMN security TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN text TEXT NOT NULL DEFAULT '';
)",
                                                   R"(
ALTER TABLE accounts ADD COLUMN password TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  digest TEXT NOT NULL UNIQUE,
  began INTEGER NOT NULL,
  used INTEGER NOT NULL,
  agent TEXT NOT NULL,
  peer TEXT NOT NULL) STRICT;
CREATE INDEX sessions_of_account ON sessions (account);
)",
                                                   R"(
ALTER TABLE sessions ADD COLUMN awaits_code INTEGER NOT NULL DEFAULT 0;
CREATE TABLE second_factors (
  account INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  secret TEXT NOT NULL,
  confirmed INTEGER NOT NULL DEFAULT 0,
  step INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE recovery_codes (
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  PRIMARY KEY (account, digest)) STRICT, WITHOUT ROWID;
)",
                                                   R"(
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT 'projects versions moderate admin';
ALTER TABLE tokens ADD COLUMN used INTEGER;
)",
                                                   R"(
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  PRIMARY KEY (issuer, subject)) STRICT, WITHOUT ROWID;
CREATE INDEX identities_of_account ON identities (account);
CREATE TABLE journeys (
  state TEXT PRIMARY KEY,
  browser TEXT NOT NULL,
  nonce TEXT NOT NULL,
  verifier TEXT NOT NULL,
  next TEXT NOT NULL,
  account TEXT NOT NULL,
  began INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)",
                                                   R"(
ALTER TABLE versions ADD COLUMN downloads INTEGER NOT NULL DEFAULT 0;
CREATE TABLE downloads (
  version INTEGER NOT NULL REFERENCES versions (id),
  day INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (version, day)) STRICT, WITHOUT ROWID;
)",
                                                   // The number of a comment or report never means another.
                                                   R"(
CREATE TABLE ratings (
  project INTEGER NOT NULL REFERENCES projects (id),
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  stars INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (project, account)) STRICT, WITHOUT ROWID;
CREATE INDEX ratings_of_account ON ratings (account);
CREATE TABLE comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project INTEGER NOT NULL REFERENCES projects (id),
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER,
  hidden TEXT) STRICT;
CREATE INDEX comments_of_project ON comments (project, account);
CREATE INDEX comments_of_account ON comments (account);
CREATE TABLE reports (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project INTEGER NOT NULL REFERENCES projects (id),
  comment INTEGER REFERENCES comments (id) ON DELETE SET NULL,
  quote TEXT NOT NULL DEFAULT '',
  quoted TEXT NOT NULL DEFAULT '',
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  reason TEXT NOT NULL,
  created INTEGER NOT NULL,
  closed INTEGER,
  closed_by TEXT NOT NULL DEFAULT '',
  decision TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX reports_open ON reports (id) WHERE closed IS NULL;
CREATE INDEX reports_of_comment ON reports (comment);
CREATE INDEX reports_of_account ON reports (account);
CREATE TABLE retired_names (digest TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
)",
                                                   R"(
CREATE TABLE domains (
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  domain TEXT NOT NULL,
  proved INTEGER NOT NULL,
  checked INTEGER NOT NULL,
  PRIMARY KEY (account, domain)) STRICT, WITHOUT ROWID;
CREATE INDEX domains_checked ON domains (checked);
)",
                                                   R"(
ALTER TABLE versions ADD COLUMN k3 TEXT NOT NULL DEFAULT '';
UPDATE versions SET k3 = coalesce(facts ->> '$.k3', '');
)",
                                                   R"(
CREATE TABLE tries (what TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX tries_until ON tries (until);
)",
                                                   R"(
ALTER TABLE projects ADD COLUMN hidden TEXT;
ALTER TABLE versions ADD COLUMN hidden TEXT;
)",
                                                   R"(
ALTER TABLE accounts ADD COLUMN passkey_handle TEXT NOT NULL DEFAULT '';
CREATE TABLE passkeys (
  id INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  credential TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  name TEXT NOT NULL,
  transports TEXT NOT NULL,
  counter INTEGER NOT NULL,
  backup_eligible INTEGER NOT NULL,
  created INTEGER NOT NULL,
  used INTEGER,
  suspected INTEGER) STRICT;
CREATE INDEX passkeys_of_account ON passkeys (account);
CREATE TABLE challenges (
  digest TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  purpose INTEGER NOT NULL,
  began INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_began ON challenges (began);
)",
                                                   // All that a list of versions shows: their rows are large.
                                                   R"(
CREATE INDEX versions_in_lists ON versions (
  project, place, version, tag, "commit", digest, state, yanked, created, downloads, hidden);
)",
                                                   R"(
ALTER TABLE versions ADD COLUMN review INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN rejected TEXT NOT NULL DEFAULT '';
CREATE INDEX versions_in_review ON versions (id) WHERE review <> 0;
DROP INDEX versions_in_lists;
CREATE INDEX versions_in_lists ON versions (
  project, place, version, tag, "commit", digest, state, yanked, created, downloads, hidden, review, rejected);
)",
                                                   R"(
ALTER TABLE domains ADD COLUMN looked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE domains ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
UPDATE domains SET looked = checked;
DROP INDEX domains_checked;
CREATE INDEX domains_looked ON domains (looked);
)",
                                                   R"(
CREATE TABLE installs (
  version INTEGER NOT NULL REFERENCES versions (id),
  day INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (version, day)) STRICT, WITHOUT ROWID;
)",
                                                   R"(
CREATE TABLE tasks (
  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  token TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE task_pieces (
  job INTEGER NOT NULL REFERENCES tasks (job) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (job, number)) STRICT, WITHOUT ROWID;
)",
                                                   R"(
CREATE TABLE domain_claims (
  account INTEGER NOT NULL REFERENCES accounts (id),
  domain TEXT NOT NULL,
  asked INTEGER NOT NULL,
  problem TEXT NOT NULL,
  peer TEXT NOT NULL,
  PRIMARY KEY (account, domain)) STRICT, WITHOUT ROWID;
CREATE INDEX domain_claims_open ON domain_claims (asked) WHERE problem = '';
)",
                                                   R"(
ALTER TABLE jobs ADD COLUMN excused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN yanked_by_moderator INTEGER NOT NULL DEFAULT 0;
)"};

// Quoted, so that no word is an operator of FTS5.
std::string fts5_match(std::span<const std::string> words, WordsIn where) {
  std::string match;
  for (const std::string& word : words) match += fmt::format("{}\"{}\"*", match.empty() ? "" : " ", word);
  if (where == WordsIn::Anywhere) return match;
  return fmt::format("{{{}}} : ({})", where == WordsIn::Name ? "name" : "name description", match);
}

// `match` says where.
std::string fts5_is_found(WordsIn /*where*/) { return "words MATCH ?1"; }

std::string fts5_ranked(WordsIn /*where*/) {
  return "SELECT rowid AS project, bm25(words, 10.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ?1 "
         "LIMIT ?6";
}

}  // namespace

const Dialect& sqlite_dialect() {
  static constexpr Dialect kDialect{
      .schema = kSchema,
      .words_key = "rowid",
      .add_words = "INSERT INTO words (rowid, name, description, details) VALUES (?1, ?2, ?3, ?4)",
      .match = fts5_match,
      .is_found = fts5_is_found,
      .ranked = fts5_ranked};
  return kDialect;
}

}  // namespace mist::catalog
