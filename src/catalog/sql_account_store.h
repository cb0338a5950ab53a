#pragma once
// The AccountStore in the database of sql_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "catalog/account_store.h"
#include "catalog/sql_connections.h"

namespace mist::catalog {

/// `clock` and `random` outlive the store, and so does `events`, which is told what is no reason to refuse
/// anybody; null: nobody is.
std::unique_ptr<AccountStore> account_store_in(std::shared_ptr<SqlConnections> connections,
                                               const Clock& clock, Random& random,
                                               const SessionTimes& times = {}, EventSink* events = nullptr);

}  // namespace mist::catalog
