#pragma once
// The databases that a catalog may have: a file of SQLite, or a PostgreSQL server that several instances
// share. Any thread. Errors: of sql::Database.

#include <memory>
#include <set>

#include "base/fs.h"
#include "catalog/sql_connections.h"
#include "crypto/digest.h"
#include "postgres/url.h"

namespace mist::catalog {

/// Creates the file, or brings its schema up to date.
Result<std::shared_ptr<SqlConnections>> open_sqlite(const Path& file);

/// Of a server: makes the tables in the database that the URL names, or brings them up to date.
Result<std::shared_ptr<SqlConnections>> open_postgres(const postgres::Url& url);

/// A consistent copy, while others use it. Conflict: `target` is there.
Status copy_sqlite(const Path& file, const Path& target);
/// The digests of all bytes that a database which nobody uses names. Invalid: it is damaged, or none.
Result<std::set<crypto::Digest>> check_sqlite(const Path& file);

}  // namespace mist::catalog
