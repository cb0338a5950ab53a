#include "catalog/catalog_database.h"

#include "catalog/sql_copy.h"
#include "http/resolve.h"
#include "postgres/database.h"
#include "sqlite/database.h"

namespace mist::catalog {
namespace {

postgres::OpenOptions options_of_server() {
  return {.resolve = http::resolve_host, .own_tables = {"settings", "counters"}};
}

Result<std::unique_ptr<postgres::Database>> connect_to_server(const postgres::Url& url) {
  return postgres::Database::open(url, options_of_server());
}

SqlConnections::Connect connects_to(const postgres::Url& url) {
  return [url, options = options_of_server()]() -> Result<std::unique_ptr<sql::Database>> {
    MIST_TRY(std::unique_ptr<postgres::Database> opened, postgres::Database::open(url, options));
    return opened;
  };
}

// A backup never brings the schema up to date: older programs may be running with it.
Status must_have_our_schema(postgres::Database& server, const postgres::Url& url) {
  MIST_TRY(const std::int64_t there, server.version());
  const auto ours = static_cast<std::int64_t>(postgres_dialect().schema.size());
  if (there == ours) return {};
  if (there == 0) return error(ErrorKind::NotFound, "the database {} has no catalog", url.shown());
  return error(ErrorKind::Invalid, "the database {} is of another version of this program", url.shown())
      .with_because(fmt::format("its schema has version {}, this program's is {}", there, ours))
      .with_hint("make the backup with the program that the catalog runs");
}

// Before there are tables: a search in a database with the locale C would find "ДАННЫХ", and not "данных".
// The text search asks LC_CTYPE, whichever the provider of the locale is.
Status must_know_letters(postgres::Database& server, const postgres::Url& url) {
  MIST_TRY(const std::int64_t there, server.version());
  if (there != 0) return {};
  bool knows = false;
  MIST_TRY_VOID(server.query("SELECT to_tsvector('simple', 'Д')::text = to_tsvector('simple', 'д')::text", {},
                             [&](const sql::Row& row) { knows = row.integer(0) != 0; }));
  if (knows) return {};
  return error(ErrorKind::Invalid, "the database {} knows no letters but those of ASCII", url.shown())
      .with_because(
          "its LC_CTYPE is that of the locale C, so searches would tell capital letters from others")
      .with_hint(fmt::format("create one that does: {}", postgres::kCreateDatabase));
}

}  // namespace

Result<std::shared_ptr<SqlConnections>> open_sqlite(const Path& file) {
  return SqlConnections::open(sqlite_dialect(), [file]() -> Result<std::unique_ptr<sql::Database>> {
    MIST_TRY(sqlite::Database opened, sqlite::Database::open(file));
    return std::make_unique<sqlite::Database>(std::move(opened));
  });
}

Result<std::shared_ptr<SqlConnections>> open_postgres(const postgres::Url& url) {
  {
    MIST_TRY(const std::unique_ptr<postgres::Database> first, connect_to_server(url));
    MIST_TRY_VOID(must_know_letters(*first, url));
  }
  return SqlConnections::open(postgres_dialect(), connects_to(url));
}

Result<std::shared_ptr<SqlConnections>> open_postgres_as_it_is(const postgres::Url& url) {
  SqlConnections::Connect connect = connects_to(url);
  MIST_TRY(std::unique_ptr<sql::Database> first, connect());
  return std::make_shared<SqlConnections>(postgres_dialect(), std::move(connect), std::move(first));
}

Status copy_sqlite(const Path& file, const Path& target) {
  MIST_TRY(sqlite::Database live, sqlite::Database::open(file, {.read_only = true}));
  return live.back_up_to(target);
}

Status copy_from_postgres(const postgres::Url& url, const Path& target, const Context& context) {
  MIST_TRY(const std::unique_ptr<postgres::Database> server, connect_to_server(url));
  MIST_TRY(sqlite::Database file, sqlite::Database::open(target));
  MIST_TRY_VOID(file.migrate(sqlite_dialect().schema));
  const auto copy_rows = [&]() -> Status {
    MIST_TRY_VOID(must_have_our_schema(*server, url));
    return copy_rows_to_file(*server, file, context);
  };
  // The server's transaction ends before the file's: it would be idle while words are made and the file is
  // written, and the server ends one that is idle for a minute.
  return file.transaction([&]() -> Status {
    MIST_TRY_VOID(server->reading(copy_rows));
    return add_words_to_file(file, context);
  });
}

namespace {

// Until the server's own vacuum comes by, it would plan queries as if the tables were empty. The catalog is
// whole without this, too: errors are left alone.
void measure_tables(sql::Database& server) {
  std::vector<std::string> tables;
  (void)server.query("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()", {},
                     [&](const sql::Row& row) { tables.push_back(row.text(0)); });
  for (const std::string& each : tables) (void)server.script(fmt::format("VACUUM (ANALYZE) \"{}\"", each));
}

}  // namespace

Status copy_to_postgres(const Path& file, const std::set<crypto::Digest>& digests, const Blobs& blobs,
                        const postgres::Url& url, const Context& context) {
  MIST_TRY(sqlite::Database from, sqlite::Database::open(file));
  MIST_TRY_VOID(from.migrate(sqlite_dialect().schema));
  MIST_TRY(const std::unique_ptr<postgres::Database> server, connect_to_server(url));
  MIST_TRY_VOID(must_know_letters(*server, url));
  MIST_TRY_VOID(server->migrate(postgres_dialect().schema));
  const auto copy_all = [&]() -> Status {
    MIST_TRY_VOID(
        copy_rows_to_server(from, *server, context).in(fmt::format("while restoring into {}", url.shown())));
    for (const crypto::Digest& each : digests) {
      MIST_TRY_VOID(context.check());
      MIST_TRY(const std::string bytes, blobs.get(each));
      MIST_TRY_VOID(server->run("INSERT INTO blobs VALUES (?, ?)", {each.str(), sql::Bytes{bytes}}));
    }
    return {};
  };
  MIST_TRY_VOID(server->transaction(copy_all));
  measure_tables(*server);
  return {};
}

Status forget_instance(const Path& file) {
  MIST_TRY(sqlite::Database copy, sqlite::Database::open(file));
  MIST_TRY_VOID(copy.run("DELETE FROM settings WHERE name = 'instance'"));
  // One file again, without the log beside it.
  return copy.script("PRAGMA journal_mode = DELETE;");
}

Result<std::set<crypto::Digest>> check_sqlite(const Path& file) {
  MIST_TRY(sqlite::Database copy, sqlite::Database::open(file));
  MIST_TRY_VOID(copy.check());
  // It isn't brought up to date: the program that the catalog has may be an older one, and restore it. Runs
  // have texts since version 3 of the schema.
  bool has_texts = false;
  MIST_TRY_VOID(copy.query("SELECT 1 FROM pragma_table_info('runs') WHERE name = 'text'", {},
                           [&](const sql::Row&) { has_texts = true; }));
  std::set<crypto::Digest> digests;
  const auto note = [&](const sql::Row& row) {
    if (const auto digest = crypto::Digest::parse(row.text(0)); digest.ok()) digests.insert(*digest);
  };
  MIST_TRY_VOID(copy.query("SELECT digest FROM versions", {}, note));
  if (has_texts) MIST_TRY_VOID(copy.query("SELECT text FROM runs", {}, note));
  // One file again, without the log beside it.
  MIST_TRY_VOID(copy.script("PRAGMA journal_mode = DELETE;"));
  return digests;
}

}  // namespace mist::catalog
