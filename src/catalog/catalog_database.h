#pragma once
// The databases that a catalog may have: a file of SQLite, or a PostgreSQL server that several instances
// share. Any thread. Errors: of sql::Database.

#include <memory>
#include <set>

#include "base/context.h"
#include "base/fs.h"
#include "catalog/blobs.h"
#include "catalog/sql_connections.h"
#include "crypto/digest.h"
#include "postgres/url.h"

namespace mist::catalog {

/// Creates the file, or brings its schema up to date.
Result<std::shared_ptr<SqlConnections>> open_sqlite(const Path& file);

/// Of a server: makes the tables in the database that the URL names, or brings them up to date.
Result<std::shared_ptr<SqlConnections>> open_postgres(const postgres::Url& url);

/// Its schema stays as it is, so this is for bytes alone (SqlBlobs), which each version keeps in one way.
Result<std::shared_ptr<SqlConnections>> open_postgres_as_it_is(const postgres::Url& url);

/// A consistent copy, while others use it. Conflict: `target` is there.
Status copy_sqlite(const Path& file, const Path& target);
/// All rows of a PostgreSQL database as a file of SQLite, while others use it. The bytes of packages aren't
/// in it. The database is only read. `target` isn't there yet. NotFound: it has no catalog. Invalid: its
/// schema is another program's, or of another version.
Status copy_from_postgres(const postgres::Url& url, const Path& target, const Context& context);
/// All rows of a file that nobody uses, which is brought up to date, and those bytes, into a PostgreSQL
/// database: all of them or none. Conflict: it has a catalog already.
Status copy_to_postgres(const Path& file, const std::set<crypto::Digest>& digests, const Blobs& blobs,
                        const postgres::Url& url, const Context& context);
/// Of a file that nobody uses, also one of an older program: the next who opens it as a catalog draws another
/// Store::instance().
Status forget_instance(const Path& file);
/// The digests of all bytes that a database which nobody uses names, also one of an older program. Invalid:
/// it is damaged, or none.
Result<std::set<crypto::Digest>> check_sqlite(const Path& file);

}  // namespace mist::catalog
