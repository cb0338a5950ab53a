#include "catalog/catalog_database.h"

#include "postgres/database.h"
#include "sqlite/database.h"

namespace mist::catalog {

Result<std::shared_ptr<SqlConnections>> open_sqlite(const Path& file) {
  return SqlConnections::open(sqlite_dialect(), [file]() -> Result<std::unique_ptr<sql::Database>> {
    MIST_TRY(sqlite::Database opened, sqlite::Database::open(file));
    return std::make_unique<sqlite::Database>(std::move(opened));
  });
}

Result<std::shared_ptr<SqlConnections>> open_postgres(const postgres::Url& url) {
  return SqlConnections::open(postgres_dialect(), [url]() -> Result<std::unique_ptr<sql::Database>> {
    MIST_TRY(std::unique_ptr<postgres::Database> opened, postgres::Database::open(url));
    return opened;
  });
}

Status copy_sqlite(const Path& file, const Path& target) {
  MIST_TRY(sqlite::Database live, sqlite::Database::open(file, {.read_only = true}));
  return live.back_up_to(target);
}

Result<std::set<crypto::Digest>> check_sqlite(const Path& file) {
  MIST_TRY(sqlite::Database copy, sqlite::Database::open(file));
  MIST_TRY_VOID(copy.check());
  std::set<crypto::Digest> digests;
  MIST_TRY_VOID(
      copy.query("SELECT DISTINCT digest FROM versions WHERE digest <> ''", {}, [&](const sql::Row& row) {
        if (const auto digest = crypto::Digest::parse(row.text(0)); digest.ok()) digests.insert(*digest);
      }));
  // One file again, without the log beside it.
  MIST_TRY_VOID(copy.script("PRAGMA journal_mode = DELETE;"));
  return digests;
}

}  // namespace mist::catalog
