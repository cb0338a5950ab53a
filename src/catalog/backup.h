#pragma once
// A catalog's data in a directory of their own, while it runs, and back. A backup is the same whichever
// database the catalog has, so it leads from SQLite to PostgreSQL, and back, too. Blocking.

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "postgres/url.h"

namespace mist::catalog {

/// Where a catalog keeps what it has.
struct DataPlaces {
  Path root;
  Path database() const { return root / "catalog.db"; }
  Path blobs() const { return root / "blobs"; }
  Path work() const { return root / "work"; }    ///< may be deleted while nothing runs
  Path cache() const { return root / "cache"; }  ///< may be deleted at any time
};

/// Of what is committed when it begins. `target` must not be there, and no other process may be making it; it
/// is whole or not there. Errors: Conflict; of the database and the file system.
Status back_up(FileSystem& files, const DataPlaces& data, const Path& target, const Context& context);
/// Of a server's, which is only read: NotFound if it has no catalog, Invalid if its schema isn't of this
/// program's version.
Status back_up(FileSystem& files, const postgres::Url& database, const Path& target, const Context& context);

/// Two catalogs of one name would take each other's Jobs and namespaces on the clusters for dead tests, and
/// remove them.
enum class RestoredAs : std::uint8_t {
  AnotherCatalog,  ///< Store::instance() is drawn anew: the one that was backed up may still run
  TheSame,         ///< it goes on in its place
};

/// Into `data`, which must not have a database. Everything is checked first: the database, and that each
/// version has its bytes. Errors: Conflict, Invalid.
Status restore(FileSystem& files, const Path& source, const DataPlaces& data, const Context& context,
               RestoredAs as = RestoredAs::AnotherCatalog);
/// Into an empty database: all or nothing. `scratch` is a directory for what may be deleted afterwards.
/// Conflict: another process uses it.
Status restore(FileSystem& files, const Path& source, const postgres::Url& database, const Path& scratch,
               const Context& context, RestoredAs as = RestoredAs::AnotherCatalog);

}  // namespace mist::catalog
