#include "search/database.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/json.h"
#include "sqlite/database.h"

namespace mist::search {
namespace {

using encoding::Value;
using sqlite::Row;

// `short`: the last segment of the path, in lower case, for the ranking. Texts that are only shown are in a
// table of their own, so that ranking reads little. FTS5 keeps its own copy of the texts; prefix: words of
// the user may be beginnings.
constexpr std::string_view kTables = R"(
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
// Versions of this program that wrote the first tables could store a part of an index under the state of the
// whole: without a state, the next run reads all that is missing.
constexpr std::string_view kForgetStates = "UPDATE source SET state = '';";
// A file of a newer mistctl is made again.
constexpr std::string_view kMigrations[] = {kTables, kForgetStates};

// A defect of the file, and not of the machine, is repaired by another file.
Error judged(Error failure) {
  if (failure.kind != ErrorKind::Invalid && failure.kind != ErrorKind::Internal) return failure;
  failure.kind = ErrorKind::Internal;
  failure.hint = "it is in the cache and may be removed";
  return std::move(failure).with_detail(DamagedDatabase{});
}
template <typename T>
Result<T> judged(Result<T> result) {
  if (result) return result;
  return judged(std::move(result).error());
}
Status judged(Status status) {
  if (status) return status;
  return judged(std::move(status).error());
}

Result<sqlite::Database> ready(const Path& file) {
  MIST_TRY(sqlite::Database database, sqlite::Database::open(file, {.journal = sqlite::Journal::Rollback}));
  MIST_TRY_VOID(database.migrate(kMigrations));
  return database;
}

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Status forget_shard(sqlite::Database& database, const std::string& registry, const std::string& shard) {
  for (const std::string_view statement :
       {"DELETE FROM words WHERE rowid IN (SELECT id FROM package WHERE source = ?1 AND shard = ?2)",
        "DELETE FROM entry WHERE id IN (SELECT id FROM package WHERE source = ?1 AND shard = ?2)",
        "DELETE FROM package WHERE source = ?1 AND shard = ?2",
        "DELETE FROM shard WHERE source = ?1 AND name = ?2"})
    MIST_TRY_VOID(database.run(statement, {registry, shard}));
  return {};
}

Status add_shard(sqlite::Database& database, const std::string& registry, const Shard& shard) {
  for (const Entry& entry : shard.entries) {
    MIST_TRY_VOID(database.run("INSERT INTO package(source, shard, short, path) VALUES(?1, ?2, ?3, ?4)",
                               {registry, shard.name, lower_case(entry.name()), entry.path}));
    const std::int64_t id = database.last_id();
    MIST_TRY_VOID(database.run("INSERT INTO entry(id, text) VALUES(?1, ?2)",
                               {id, encoding::to_json(entry.to_value())}));
    MIST_TRY_VOID(
        database.run("INSERT INTO words(rowid, name, title, keywords, description, maintainers, kinds) "
                     "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                     {id, entry.path, entry.title, join(entry.keywords, "\n"), entry.description,
                      join(entry.maintainers, "\n"), join(entry.kinds, "\n")}));
  }
  MIST_TRY_VOID(database.run("INSERT INTO shard(source, name, digest) VALUES(?1, ?2, ?3)",
                             {registry, shard.name, shard.digest}));
  return {};
}

// Within a transaction.
Result<Sources> read_sources(sqlite::Database& database) {
  Sources found;
  MIST_TRY_VOID(database.query("SELECT name, state, checked FROM source", {}, [&](const Row& row) {
    found.emplace(row.text(0), Source{row.text(1), WallTime(std::chrono::seconds(row.integer(2))), {}});
  }));
  MIST_TRY_VOID(database.query("SELECT source, name, digest FROM shard", {}, [&](const Row& row) {
    if (const auto source = found.find(row.text(0)); source != found.end())
      source->second.shards.emplace(row.text(1), row.text(2));
  }));
  return found;
}

Result<std::map<std::string, std::string>> stored_shards(sqlite::Database& database,
                                                         const std::string& registry) {
  std::map<std::string, std::string> found;
  MIST_TRY_VOID(database.query("SELECT name, digest FROM shard WHERE source = ?1", {registry},
                               [&](const Row& row) { found.emplace(row.text(0), row.text(1)); }));
  return found;
}

// An index is read shard by shard, and each of them alone may be within the bounds.
Status check_whole(sqlite::Database& database, const std::string& registry) {
  std::int64_t entries = 0, bytes = 0;
  MIST_TRY_VOID(
      database.query("SELECT count(*), coalesce(sum(length(entry.text)), 0) FROM package JOIN entry "
                     "USING(id) WHERE source = ?1",
                     {registry}, [&](const Row& row) {
                       entries = row.integer(0);
                       bytes = row.integer(1);
                     }));
  return check_size(static_cast<std::size_t>(entries), static_cast<std::uint64_t>(bytes));
}

}  // namespace

struct Database::Open {
  sqlite::Database connection;
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
  Result<sqlite::Database> connection = judged(ready(file));
  if (!connection && connection.error().detail<DamagedDatabase>() != nullptr) {
    MIST_TRY_VOID(remove(files, file));
    connection = judged(ready(file));
  }
  if (!connection) return std::move(connection).error().with_frame("while opening the search index");
  return Database(std::make_unique<Open>(Open{*std::move(connection)}));
}

Result<Sources> Database::sources() {
  Sources found;
  const auto read = [&]() -> Status {
    MIST_TRY(found, read_sources(open_->connection));
    return {};
  };
  MIST_TRY_VOID(judged(open_->connection.reading(read)));
  return found;
}

Status Database::store(const std::string& registry, const std::string& state, WallTime now,
                       const std::vector<Shard>& shards, const std::map<std::string, std::string>& all) {
  sqlite::Database& connection = open_->connection;
  Status within_bounds;
  Status stored_all = judged(connection.transaction([&]() -> Status {
    MIST_TRY(const auto there, stored_shards(connection, registry));
    auto stored = there;
    for (const auto& [name, digest] : there) {
      if (all.contains(name)) continue;
      MIST_TRY_VOID(forget_shard(connection, registry, name));
      stored.erase(name);
    }
    for (const Shard& shard : shards) {
      stored[shard.name] = shard.digest;
      MIST_TRY_VOID(forget_shard(connection, registry, shard.name));
      MIST_TRY_VOID(add_shard(connection, registry, shard));
    }
    MIST_TRY_VOID(connection.run("INSERT OR REPLACE INTO source(name, state, checked) VALUES(?1, ?2, ?3)",
                                 {registry, stored == all ? state : std::string(), seconds_of(now)}));
    within_bounds = check_whole(connection, registry);
    return within_bounds;
  }));
  return within_bounds ? stored_all : within_bounds;
}

Status Database::touch(const std::string& registry, WallTime now) {
  MIST_TRY_VOID(judged(
      open_->connection.run("UPDATE source SET checked = ?2 WHERE name = ?1", {registry, seconds_of(now)})));
  return {};
}

Status Database::forget(const std::string& registry) {
  sqlite::Database& connection = open_->connection;
  return judged(connection.transaction([&]() -> Status {
    MIST_TRY(const auto there, stored_shards(connection, registry));
    for (const auto& [name, digest] : there) MIST_TRY_VOID(forget_shard(connection, registry, name));
    MIST_TRY_VOID(connection.run("DELETE FROM source WHERE name = ?1", {registry}));
    return {};
  }));
}

namespace {

/// Up to so many matches are ranked by BM25; of more, the order is that of the tiers below, which needs no
/// look at all of them.
constexpr std::int64_t kMostRanked = 500;

// The parameters of all statements: ?1 the expression, ?2 the words as a name, ?3 the registries as a JSON
// list, ?4 the limit.
struct Parameters {
  std::string expression, name, registries;
  std::int64_t limit = 0;
};

constexpr std::string_view kRegistries =
    " AND (?3 = '[]' OR package.source IN (SELECT value FROM json_each(?3)))";

// `chosen`: gives ids of packages, best first; adds those that aren't there yet, up to the limit.
Status add_ids(sqlite::Database& database, std::string_view chosen, const Parameters& parameters,
               std::vector<std::int64_t>& ids) {
  return database.query(chosen,
                        {parameters.expression, parameters.name, parameters.registries, parameters.limit},
                        [&](const Row& row) {
                          const std::int64_t id = row.integer(0);
                          if (static_cast<std::int64_t>(ids.size()) < parameters.limit &&
                              std::ranges::find(ids, id) == ids.end())
                            ids.push_back(id);
                        });
}

Result<bool> are_few(sqlite::Database& database, const Parameters& parameters) {
  std::int64_t count = 0;
  MIST_TRY_VOID(database.query("SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)",
                               {parameters.expression, kMostRanked + 1},
                               [&](const Row& row) { count = row.integer(0); }));
  return count <= kMostRanked;
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
Status add_tiers(sqlite::Database& database, const Query& query, const Parameters& parameters,
                 std::vector<std::int64_t>& ids) {
  constexpr std::string_view kFits =
      "package.id IN (SELECT rowid FROM words WHERE words MATCH ?1 AND rowid = package.id)";
  if (!parameters.name.empty())
    MIST_TRY_VOID(
        add_ids(database,
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
    MIST_TRY_VOID(add_ids(database, any, in_names, ids));
  }
  Parameters rest = parameters;
  rest.limit += static_cast<std::int64_t>(ids.size());  // those that are there already come again
  std::vector<std::int64_t> more;
  MIST_TRY_VOID(add_ids(database, any, rest, more));
  for (const std::int64_t id : more)
    if (static_cast<std::int64_t>(ids.size()) < parameters.limit && std::ranges::find(ids, id) == ids.end())
      ids.push_back(id);
  return {};
}

Result<std::vector<std::int64_t>> best_ids(sqlite::Database& database, const Query& query) {
  const Parameters parameters{
      .expression = match_expression(query),
      .name = name_in(query),
      .registries = encoding::to_json(Value(Value::Array(query.registries.begin(), query.registries.end()))),
      .limit = static_cast<std::int64_t>(query.limit)};
  std::vector<std::int64_t> ids;
  const bool asks =
      !(query.words.empty() && query.kinds.empty() && query.keywords.empty() && query.maintainers.empty());
  if (!asks) {
    MIST_TRY_VOID(add_ids(database,
                          fmt::format("SELECT package.id FROM package WHERE ?1 = '' AND ?2 = ''{} ORDER BY "
                                      "package.short, package.path, package.source LIMIT ?4",
                                      kRegistries),
                          parameters, ids));
    return ids;
  }
  // Nothing but punctuation is in no package.
  if (parameters.expression.empty()) return ids;
  MIST_TRY(const bool few, are_few(database, parameters));
  if (few)
    MIST_TRY_VOID(add_ids(database, ranked_statement(), parameters, ids));
  else
    MIST_TRY_VOID(add_tiers(database, query, parameters, ids));
  return ids;
}

}  // namespace

Result<std::vector<Hit>> Database::find(const Query& query) {
  sqlite::Database& connection = open_->connection;
  std::vector<Hit> hits;
  const auto read = [&]() -> Status {
    MIST_TRY(const std::vector<std::int64_t> ids, best_ids(connection, query));
    for (const std::int64_t id : ids) {
      std::string registry, text;
      MIST_TRY_VOID(connection.query(
          "SELECT package.source, entry.text FROM package JOIN entry USING(id) WHERE package.id = ?1", {id},
          [&](const Row& row) {
            registry = row.text(0);
            text = row.text(1);
          }));
      const Result<Value> value = encoding::parse_json(text);
      Result<Entry> entry = value ? Entry::parse(*value) : Result<Entry>(value.error());
      if (!entry)
        return error(ErrorKind::Internal, "the search index holds a package that can't be read")
            .with_because(entry.error().message);
      hits.push_back({std::move(registry), *std::move(entry)});
    }
    return {};
  };
  MIST_TRY_VOID(judged(connection.reading(read)));
  return hits;
}

}  // namespace mist::search
