#pragma once
// The PasskeyStore in the database of sql_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/passkey_store.h"
#include "catalog/sql_connections.h"

namespace mist::catalog {

/// `clock` and `random` outlive the store.
std::unique_ptr<PasskeyStore> passkey_store_in(std::shared_ptr<SqlConnections> connections,
                                               const Clock& clock, Random& random);

}  // namespace mist::catalog
