#pragma once
// Tests that an account no longer gets, because it was disabled or deleted. A worker that has one of them
// loses it, as one whose lease ran out does. For the sources with SQL alone, inside a transaction; any
// thread.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sql/database.h"

namespace mist::catalog {

/// Of a version `v`: a test of it has ended, so that another one isn't its first.
inline constexpr std::string_view kWasTested =
    "EXISTS (SELECT 1 FROM jobs e WHERE e.version = v.id AND e.open = 0)";

/// Of an account that is disabled: what was never tested waits until it is enabled, also what a worker has
/// just now; another test of what failed the last time ends.
Status withhold_tests(sql::Database& db, std::int64_t account, std::int64_t now);

/// Of an account that is deleted: both end, since nobody enables it again.
Status end_tests(sql::Database& db, std::int64_t account, std::int64_t now);

/// First tests of accounts that earlier programs deleted, and left waiting for ever.
Status end_tests_of_deleted(sql::Database& db, std::int64_t now);

}  // namespace mist::catalog
