#pragma once
// The AccountStore in the SQLite file of sqlite_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "catalog/account_store.h"

namespace mist::catalog {

/// As open_sqlite_store. `clock` outlives the store.
Result<std::unique_ptr<AccountStore>> open_sqlite_account_store(const Path& file, const Clock& clock,
                                                                const SessionTimes& times = {});

}  // namespace mist::catalog
