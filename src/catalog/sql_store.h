#pragma once
// The Store in a database: all SQL of the catalog but that of accounts and feedback. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/sql_connections.h"
#include "catalog/store.h"

namespace mist::catalog {

/// `clock` outlives the store. Errors: of sql::Database.
Result<std::unique_ptr<Store>> open_store(std::shared_ptr<SqlConnections> connections, const Clock& clock,
                                          Random& random);

}  // namespace mist::catalog
