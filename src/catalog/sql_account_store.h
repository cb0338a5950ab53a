#pragma once
// The AccountStore in the database of sql_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/account_store.h"
#include "catalog/sql_connections.h"

namespace mist::catalog {

/// `clock` and `random` outlive the store.
std::unique_ptr<AccountStore> account_store_in(std::shared_ptr<SqlConnections> connections,
                                               const Clock& clock, Random& random,
                                               const SessionTimes& times = {});

}  // namespace mist::catalog
