#pragma once
// The TaskStore in the database of sql_store.h. Any thread.

#include <memory>

#include "catalog/sql_connections.h"
#include "catalog/task_store.h"

namespace mist::catalog {

std::unique_ptr<TaskStore> task_store_in(std::shared_ptr<SqlConnections> connections);

}  // namespace mist::catalog
