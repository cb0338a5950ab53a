#include "search/database.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/handle.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::search {
namespace {

using encoding::Value;

/// Of the tables below; another value makes the file anew.
constexpr int kVersion = 2;
constexpr int kPatience = 5000;  // milliseconds, while another process writes

// `short`: the last segment of the path, in lower case, for the ranking. What is only shown is in a table of
// its own, so that ranking reads little. FTS5 keeps its own copy of the texts; prefix: words of the user may
// be beginnings.
constexpr const char* kTables = R"(
CREATE TABLE source(name TEXT PRIMARY KEY, state TEXT NOT NULL, checked INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE shard(source TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY(source, name))
  WITHOUT ROWID;
CREATE TABLE package(id INTEGER PRIMARY KEY, source TEXT NOT NULL, shard TEXT NOT NULL, short TEXT NOT NULL,
  path TEXT NOT NULL);
CREATE TABLE entry(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE INDEX package_shard ON package(source, shard);
CREATE INDEX package_short ON package(short, path, source);
CREATE VIRTUAL TABLE words USING fts5(name, title, keywords, description, maintainers, kinds,
  tokenize = "unicode61 remove_diacritics 2", prefix = '2 3');
)";

using Connection = Handle<sqlite3, &sqlite3_close_v2>;
using StatementHandle = Handle<sqlite3_stmt, &sqlite3_finalize>;

Error failure_of(sqlite3* connection, int code, std::string_view what) {
  const int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    return error(ErrorKind::Retryable, "the search index is used by another process, while {}", what)
        .with_hint("try again");
  Error failure = error(ErrorKind::Internal, "the search index failed, while {}", what);
  failure.because = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  failure.hint = "it is in the cache, and may be removed: mistctl config path shows where";
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT ||
      primary == SQLITE_ERROR || primary == SQLITE_SCHEMA)
    return std::move(failure).with_detail(DamagedDatabase{});
  return failure;
}

Status run_script(sqlite3* connection, const char* script, std::string_view what) {
  const int code = sqlite3_exec(connection, script, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : Status(failure_of(connection, code, what));
}

// One statement; parameters are numbered from 1.
class Prepared {
 public:
  static Result<Prepared> make(sqlite3* connection, std::string_view text) {
    sqlite3_stmt* raw = nullptr;
    const int code =
        sqlite3_prepare_v2(connection, text.data(), static_cast<int>(text.size()), &raw, nullptr);
    if (code != SQLITE_OK) return failure_of(connection, code, "reading it");
    return Prepared(connection, StatementHandle(raw));
  }

  Prepared& bind(int at, std::string_view text) {
    MIST_CHECK(sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8) == SQLITE_OK);
    return *this;
  }
  Prepared& bind(int at, std::int64_t number) {
    MIST_CHECK(sqlite3_bind_int64(statement_.get(), at, number) == SQLITE_OK);
    return *this;
  }

  // False: there is no further row.
  Result<bool> step(std::string_view what) {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return failure_of(connection_, code, what);
  }
  Status run(std::string_view what) {
    MIST_TRY([[maybe_unused]] const bool row, step(what));
    sqlite3_reset(statement_.get());
    return {};
  }

  std::string text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return bytes == nullptr
               ? std::string()
               : std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

 private:
  Prepared(sqlite3* connection, StatementHandle statement)
      : connection_(connection), statement_(std::move(statement)) {}
  sqlite3* connection_;
  StatementHandle statement_;
};

// Rolls back unless it was committed.
class Transaction {
 public:
  static Result<Transaction> begin(sqlite3* connection) {
    MIST_TRY_VOID(run_script(connection, "BEGIN IMMEDIATE", "beginning an update"));
    return Transaction(connection);
  }
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (connection_ != nullptr) sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Status commit() {
    MIST_TRY_VOID(run_script(connection_, "COMMIT", "finishing an update"));
    connection_ = nullptr;
    return {};
  }

 private:
  explicit Transaction(sqlite3* connection) : connection_(connection) {}
  sqlite3* connection_;
};

Result<Connection> connected(const Path& file) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                       SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
                                   nullptr);
  Connection connection(raw);
  if (code != SQLITE_OK) return failure_of(raw, code, "opening it");
  sqlite3_busy_timeout(raw, kPatience);
  // What is in the file is data, whoever wrote it.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // A lost update is fetched again, but a torn one must not be.
  MIST_TRY_VOID(run_script(raw, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL;", "opening it"));
  return connection;
}

Result<std::int64_t> version_of(sqlite3* connection) {
  MIST_TRY(Prepared version, Prepared::make(connection, "PRAGMA user_version"));
  MIST_TRY([[maybe_unused]] const bool row, version.step("reading its version"));
  return version.number(0);
}

Status make_tables(sqlite3* connection) {
  MIST_TRY(Transaction transaction, Transaction::begin(connection));
  // Another process may have been first.
  MIST_TRY(const std::int64_t version, version_of(connection));
  if (version == kVersion) return transaction.commit();
  MIST_TRY_VOID(run_script(connection, kTables, "making its tables"));
  MIST_TRY_VOID(
      run_script(connection, fmt::format("PRAGMA user_version = {}", kVersion).c_str(), "making its tables"));
  return transaction.commit();
}

Result<Connection> ready(const Path& file) {
  MIST_TRY(Connection connection, connected(file));
  MIST_TRY(const std::int64_t version, version_of(connection.get()));
  if (version == 0) {
    MIST_TRY_VOID(make_tables(connection.get()));
  } else if (version != kVersion) {
    return error(ErrorKind::Internal, "the search index is of another version of mistctl")
        .with_detail(DamagedDatabase{});
  }
  return connection;
}

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Status forget_shard(sqlite3* connection, const std::string& registry, const std::string& shard) {
  constexpr std::string_view kWhat = "removing packages";
  MIST_TRY(Prepared words,
           Prepared::make(
               connection,
               "DELETE FROM words WHERE rowid IN (SELECT id FROM package WHERE source = ?1 AND shard = ?2)"));
  MIST_TRY_VOID(words.bind(1, registry).bind(2, shard).run(kWhat));
  MIST_TRY(Prepared texts,
           Prepared::make(connection,
                          "DELETE FROM entry WHERE id IN (SELECT id FROM package WHERE source = ?1 AND "
                          "shard = ?2)"));
  MIST_TRY_VOID(texts.bind(1, registry).bind(2, shard).run(kWhat));
  MIST_TRY(Prepared packages,
           Prepared::make(connection, "DELETE FROM package WHERE source = ?1 AND shard = ?2"));
  MIST_TRY_VOID(packages.bind(1, registry).bind(2, shard).run(kWhat));
  MIST_TRY(Prepared row, Prepared::make(connection, "DELETE FROM shard WHERE source = ?1 AND name = ?2"));
  return row.bind(1, registry).bind(2, shard).run(kWhat);
}

Status add_shard(sqlite3* connection, const std::string& registry, const Shard& shard) {
  constexpr std::string_view kWhat = "storing packages";
  MIST_TRY(
      Prepared package,
      Prepared::make(connection, "INSERT INTO package(source, shard, short, path) VALUES(?1, ?2, ?3, ?4)"));
  MIST_TRY(Prepared text, Prepared::make(connection, "INSERT INTO entry(id, text) VALUES(?1, ?2)"));
  MIST_TRY(Prepared words,
           Prepared::make(connection,
                          "INSERT INTO words(rowid, name, title, keywords, description, maintainers, kinds) "
                          "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  for (const Entry& entry : shard.entries) {
    package.bind(1, registry).bind(2, shard.name).bind(3, lower_case(entry.name()));
    MIST_TRY_VOID(package.bind(4, entry.path).run(kWhat));
    const std::int64_t id = sqlite3_last_insert_rowid(connection);
    MIST_TRY_VOID(text.bind(1, id).bind(2, encoding::to_json(entry.to_value())).run(kWhat));
    words.bind(1, id).bind(2, entry.path).bind(3, entry.title);
    words.bind(4, join(entry.keywords, "\n")).bind(5, entry.description);
    words.bind(6, join(entry.maintainers, "\n")).bind(7, join(entry.kinds, "\n"));
    MIST_TRY_VOID(words.run(kWhat));
  }
  MIST_TRY(Prepared row,
           Prepared::make(connection, "INSERT INTO shard(source, name, digest) VALUES(?1, ?2, ?3)"));
  return row.bind(1, registry).bind(2, shard.name).bind(3, shard.digest).run(kWhat);
}

}  // namespace

struct Database::Open {
  Connection connection;
};

Database::Database(std::unique_ptr<Open> open) : open_(std::move(open)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Status Database::remove(FileSystem& files, const Path& file) {
  // The journal first: beside another database it would be played into that.
  for (const std::string_view ending : {"-journal", "-wal", "-shm", ""})
    MIST_TRY_VOID(files.remove(Path(file.string() + std::string(ending))));
  return {};
}

Result<Database> Database::open(FileSystem& files, const Path& file) {
  MIST_TRY_VOID(files.make_directories(file.parent_path(), 0700));
  Result<Connection> connection = ready(file);
  if (!connection && connection.error().detail<DamagedDatabase>() != nullptr) {
    MIST_TRY_VOID(remove(files, file));
    connection = ready(file);
  }
  if (!connection)
    return std::move(connection).error().with_frame(fmt::format("while opening {}", file.string()));
  return Database(std::make_unique<Open>(Open{*std::move(connection)}));
}

Result<Sources> Database::sources() {
  sqlite3* const connection = open_->connection.get();
  constexpr std::string_view kWhat = "reading its registries";
  Sources found;
  MIST_TRY(Prepared rows, Prepared::make(connection, "SELECT name, state, checked FROM source"));
  for (;;) {
    MIST_TRY(const bool more, rows.step(kWhat));
    if (!more) break;
    found.emplace(rows.text(0), Source{rows.text(1), WallTime(std::chrono::seconds(rows.number(2))), {}});
  }
  MIST_TRY(Prepared shards, Prepared::make(connection, "SELECT source, name, digest FROM shard"));
  for (;;) {
    MIST_TRY(const bool more, shards.step(kWhat));
    if (!more) return found;
    if (const auto source = found.find(shards.text(0)); source != found.end())
      source->second.shards.emplace(shards.text(1), shards.text(2));
  }
}

Status Database::store(const std::string& registry, const std::string& state, WallTime now,
                       const std::vector<Shard>& shards, const std::set<std::string>& all) {
  sqlite3* const connection = open_->connection.get();
  MIST_TRY(Transaction transaction, Transaction::begin(connection));
  MIST_TRY(Sources there, sources());
  for (const auto& [name, digest] : there[registry].shards)
    if (!all.contains(name)) MIST_TRY_VOID(forget_shard(connection, registry, name));
  for (const Shard& shard : shards) {
    MIST_TRY_VOID(forget_shard(connection, registry, shard.name));
    MIST_TRY_VOID(add_shard(connection, registry, shard));
  }
  MIST_TRY(
      Prepared row,
      Prepared::make(connection, "INSERT OR REPLACE INTO source(name, state, checked) VALUES(?1, ?2, ?3)"));
  MIST_TRY_VOID(row.bind(1, registry).bind(2, state).bind(3, seconds_of(now)).run("storing packages"));
  return transaction.commit();
}

Status Database::touch(const std::string& registry, WallTime now) {
  MIST_TRY(Prepared row,
           Prepared::make(open_->connection.get(), "UPDATE source SET checked = ?2 WHERE name = ?1"));
  return row.bind(1, registry).bind(2, seconds_of(now)).run("storing packages");
}

Status Database::forget(const std::string& registry) {
  sqlite3* const connection = open_->connection.get();
  MIST_TRY(Transaction transaction, Transaction::begin(connection));
  MIST_TRY(Sources there, sources());
  for (const auto& [name, digest] : there[registry].shards)
    MIST_TRY_VOID(forget_shard(connection, registry, name));
  MIST_TRY(Prepared row, Prepared::make(connection, "DELETE FROM source WHERE name = ?1"));
  MIST_TRY_VOID(row.bind(1, registry).run("removing packages"));
  return transaction.commit();
}

namespace {

/// Up to so many matches are ranked by BM25; of more, the order is that of the tiers below, which needs no
/// look at all of them.
constexpr std::int64_t kMostRanked = 500;

// What all statements have: ?1 the expression, ?2 the words as a name, ?3 the registries as a JSON list, ?4
// the limit.
struct Parameters {
  std::string expression, name, registries;
  std::int64_t limit = 0;
};

constexpr std::string_view kRegistries =
    " AND (?3 = '[]' OR package.source IN (SELECT value FROM json_each(?3)))";

// `chosen`: gives ids of packages, best first; adds those that aren't there yet.
Status add_ids(sqlite3* connection, std::string_view chosen, const Parameters& parameters,
               std::vector<std::int64_t>& ids) {
  MIST_TRY(Prepared rows, Prepared::make(connection, chosen));
  rows.bind(1, parameters.expression).bind(2, parameters.name).bind(3, parameters.registries);
  rows.bind(4, parameters.limit);
  while (static_cast<std::int64_t>(ids.size()) < parameters.limit) {
    MIST_TRY(const bool more, rows.step("searching"));
    if (!more) break;
    if (std::ranges::find(ids, rows.number(0)) == ids.end()) ids.push_back(rows.number(0));
  }
  return {};
}

Result<bool> are_few(sqlite3* connection, const Parameters& parameters) {
  MIST_TRY(
      Prepared count,
      Prepared::make(connection, "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)"));
  MIST_TRY([[maybe_unused]] const bool row,
           count.bind(1, parameters.expression).bind(2, kMostRanked + 1).step("searching"));
  return count.number(0) <= kMostRanked;
}

// A package of that name, then names that begin so. Weights: in the order of the columns; a word of the name
// counts ten times one of the description.
std::string ranked_statement() {
  return fmt::format(
      "SELECT package.id FROM words JOIN package ON package.id = words.rowid WHERE words MATCH ?1{} ORDER BY "
      "CASE WHEN package.short = ?2 OR lower(package.path) = ?2 THEN 0 "
      "WHEN ?2 <> '' AND substr(package.short, 1, length(?2)) = ?2 THEN 1 ELSE 2 END, "
      "bm25(words, 10.0, 8.0, 6.0, 1.0, 2.0, 1.0), package.short, package.path, package.source LIMIT ?4",
      kRegistries);
}

// The same order for what half of all packages fit, each step by an index and only as far as the limit.
Status add_tiers(sqlite3* connection, const Query& query, const Parameters& parameters,
                 std::vector<std::int64_t>& ids) {
  constexpr std::string_view kFits =
      "package.id IN (SELECT rowid FROM words WHERE words MATCH ?1 AND rowid = package.id)";
  if (!parameters.name.empty())
    MIST_TRY_VOID(
        add_ids(connection,
                fmt::format("SELECT package.id FROM package WHERE package.short >= ?2 AND package.short < ?2 "
                            "|| char(0x10ffff) AND {}{} ORDER BY package.short, package.path LIMIT ?4",
                            kFits, kRegistries),
                parameters, ids));
  const std::string any = fmt::format(
      "SELECT package.id FROM words JOIN package ON package.id = words.rowid WHERE words MATCH ?1{} LIMIT ?4",
      kRegistries);
  if (!query.words.empty()) {
    Parameters in_names = parameters;
    in_names.expression = match_expression(query, "{name title}");
    MIST_TRY_VOID(add_ids(connection, any, in_names, ids));
  }
  Parameters rest = parameters;
  rest.limit += static_cast<std::int64_t>(ids.size());  // those that are there already come again
  std::vector<std::int64_t> more;
  MIST_TRY_VOID(add_ids(connection, any, rest, more));
  for (const std::int64_t id : more)
    if (static_cast<std::int64_t>(ids.size()) < parameters.limit && std::ranges::find(ids, id) == ids.end())
      ids.push_back(id);
  return {};
}

Result<std::vector<std::int64_t>> best_ids(sqlite3* connection, const Query& query) {
  const Parameters parameters{
      .expression = match_expression(query),
      .name = name_in(query),
      .registries = encoding::to_json(Value(Value::Array(query.registries.begin(), query.registries.end()))),
      .limit = static_cast<std::int64_t>(query.limit)};
  std::vector<std::int64_t> ids;
  const bool asks =
      !(query.words.empty() && query.kinds.empty() && query.keywords.empty() && query.maintainers.empty());
  if (!asks) {
    MIST_TRY_VOID(add_ids(connection,
                          fmt::format("SELECT package.id FROM package WHERE ?1 = '' AND ?2 = ''{} ORDER BY "
                                      "package.short, package.path, package.source LIMIT ?4",
                                      kRegistries),
                          parameters, ids));
    return ids;
  }
  // Nothing but punctuation is in no package.
  if (parameters.expression.empty()) return ids;
  MIST_TRY(const bool few, are_few(connection, parameters));
  if (few)
    MIST_TRY_VOID(add_ids(connection, ranked_statement(), parameters, ids));
  else
    MIST_TRY_VOID(add_tiers(connection, query, parameters, ids));
  return ids;
}

}  // namespace

Result<std::vector<Hit>> Database::find(const Query& query) {
  sqlite3* const connection = open_->connection.get();
  MIST_TRY(const std::vector<std::int64_t> ids, best_ids(connection, query));
  std::vector<Hit> hits;
  for (const std::int64_t id : ids) {
    MIST_TRY(Prepared row,
             Prepared::make(connection,
                            "SELECT package.source, entry.text FROM package JOIN entry USING(id) WHERE "
                            "package.id = ?1"));
    MIST_TRY(const bool there, row.bind(1, id).step("reading a package"));
    const Result<Value> value = encoding::parse_json(there ? row.text(1) : std::string());
    Result<Entry> entry = value ? Entry::parse(*value) : Result<Entry>(value.error());
    if (!entry)
      return error(ErrorKind::Internal, "the search index holds a package that can't be read")
          .with_detail(DamagedDatabase{});
    hits.push_back({row.text(0), *std::move(entry)});
  }
  return hits;
}

}  // namespace mist::search
