#pragma once
// A catalog's rows from a file of SQLite into a PostgreSQL database, and back. Tables and columns are those
// of the file's schema, so that a new one isn't forgotten. The bytes of packages are copied by others. One
// thread. Errors: of sql::Database.

#include "base/context.h"
#include "sql/database.h"

namespace mist::catalog {

/// Both have the tables of this program. `server` must be within a transaction; `file` doesn't change
/// meanwhile. Conflict: the server's database has packages, accounts or anything else.
Status copy_rows_to_server(sql::Database& file, sql::Database& server, const Context& context);

/// `server` is within a transaction that sees one state, `file` within one that writes, and has no rows yet.
/// Without the words by which packages are found.
Status copy_rows_to_file(sql::Database& server, sql::Database& file, const Context& context);
/// The rest, made of those rows: it takes a while, in which the server isn't needed.
Status add_words_to_file(sql::Database& file, const Context& context);

}  // namespace mist::catalog
