#pragma once
// The databases in which the catalog's tests keep their stores. For tests alone: TEST_P over each_database().

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "catalog/catalog_database.h"
#include "postgres/server_fixture.h"

namespace mist::catalog {

enum class DatabaseKind : std::uint8_t { Sqlite, Postgres };

// Without PostgreSQL's server there is one kind; postgres_test says that it isn't installed.
inline auto each_database() {
  std::vector<DatabaseKind> kinds{DatabaseKind::Sqlite};
  if (!postgres::postgres_programs().empty()) kinds.push_back(DatabaseKind::Postgres);
  return ::testing::ValuesIn(kinds);
}

// None without PostgreSQL's server.
inline auto postgres_alone() {
  return ::testing::ValuesIn(postgres::postgres_programs().empty()
                                 ? std::vector<DatabaseKind>()
                                 : std::vector<DatabaseKind>{DatabaseKind::Postgres});
}

inline std::string name_of_database(const ::testing::TestParamInfo<DatabaseKind>& kind) {
  return kind.param == DatabaseKind::Sqlite ? "Sqlite" : "Postgres";
}

// A database of one test.
class TestDatabase {
 public:
  TestDatabase(DatabaseKind kind, Path file) : file_(std::move(file)) {
    if (kind == DatabaseKind::Postgres) url_.emplace(postgres::TestServer::of_program().fresh());
  }

  // As another process would.
  std::shared_ptr<SqlConnections> open() const {
    auto opened = url_ ? open_postgres(*url_) : open_sqlite(file_);
    EXPECT_TRUE(opened.ok()) << opened.error().to_line();
    return *std::move(opened);
  }
  // Of PostgreSQL.
  const postgres::Url& url() const { return *url_; }
  // All that is stored, as bytes.
  std::string content() const {
    std::string all;
    HostFileSystem files;
    if (!url_) {
      for (const char* ending : {"", "-wal"})
        if (const auto bytes = files.read(file_.string() + ending); bytes.ok()) all += *bytes;
      return all;
    }
    const auto database = open();
    std::vector<std::string> tables;
    const auto read = [&](const std::string& sql, const sql::OnRow& row) {
      const Status done = database->read(sql, {}, row);
      EXPECT_TRUE(done.ok()) << done.error().to_line();
    };
    read("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()",
         [&](const sql::Row& row) { tables.push_back(row.text(0)); });
    EXPECT_GT(tables.size(), 20U);
    for (const std::string& table : tables)
      read(fmt::format("SELECT t::text FROM {} t", table),
           [&](const sql::Row& row) { all += row.text(0) + "\n"; });
    return all;
  }

 private:
  Path file_;
  std::optional<postgres::Url> url_;
};

}  // namespace mist::catalog
