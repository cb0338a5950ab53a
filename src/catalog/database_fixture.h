#pragma once
// The databases in which the catalog's tests keep their stores. For tests alone: TEST_P over each_database().

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/fs.h"
#include "catalog/catalog_database.h"

namespace mist::catalog {

enum class DatabaseKind : std::uint8_t { Sqlite };

inline auto each_database() { return ::testing::Values(DatabaseKind::Sqlite); }

inline std::string name_of_database(const ::testing::TestParamInfo<DatabaseKind>&) { return "Sqlite"; }

// A database of one test.
class TestDatabase {
 public:
  TestDatabase(DatabaseKind, Path file) : file_(std::move(file)) {}

  // As another process would.
  std::shared_ptr<SqlConnections> open() const {
    auto opened = open_sqlite(file_);
    EXPECT_TRUE(opened.ok()) << opened.error().to_line();
    return *std::move(opened);
  }

 private:
  Path file_;
};

}  // namespace mist::catalog
