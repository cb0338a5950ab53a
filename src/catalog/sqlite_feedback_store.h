#pragma once
// The FeedbackStore in the SQLite file of sqlite_store.h. Any thread.

#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "catalog/feedback_store.h"

namespace mist::catalog {

/// Creates the database, or brings its schema up to date. `clock` outlives the store. Errors: of
/// sqlite::Database.
Result<std::unique_ptr<FeedbackStore>> open_sqlite_feedback_store(const Path& file, const Clock& clock);

}  // namespace mist::catalog
