#pragma once
// The Store in an SQLite file: all SQL of the catalog. Any thread: one connection writes, a few read.

#include <memory>
#include <set>

#include "base/clock.h"
#include "base/fs.h"
#include "base/random.h"
#include "catalog/store.h"
#include "crypto/digest.h"

namespace mist::catalog {

/// Creates the database, or brings its schema up to date. `clock` and `random` outlive the store. Errors: of
/// sqlite::Database.
Result<std::unique_ptr<Store>> open_sqlite_store(const Path& file, const Clock& clock, Random& random);

/// A consistent copy, while others use it. Conflict: `target` is there.
Status copy_sqlite_store(const Path& file, const Path& target);
/// The digests of all bytes that a store which nobody uses names. Invalid: it is damaged, or none.
Result<std::set<crypto::Digest>> check_sqlite_store(const Path& file);

}  // namespace mist::catalog
