#pragma once
// The FeedbackStore in the database of sql_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "catalog/feedback_store.h"
#include "catalog/sql_connections.h"

namespace mist::catalog {

/// `clock` outlives the store.
std::unique_ptr<FeedbackStore> feedback_store_in(std::shared_ptr<SqlConnections> connections,
                                                 const Clock& clock);

}  // namespace mist::catalog
