#pragma once
// The connections of one process to the catalog's database: one writes, a few read, so that readers and the
// writer don't wait for each other. Any thread. Errors: of sqlite::Database.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "sqlite/database.h"

namespace mist::catalog {

class SqliteConnections {
 public:
  SqliteConnections(Path file, sqlite::Database writer);

  /// A connection that reads, for as long as this lives.
  class Reader {
   public:
    explicit Reader(SqliteConnections& connections);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    Result<sqlite::Database*> database() const;

   private:
    SqliteConnections& connections_;
    mutable std::unique_ptr<sqlite::Database> database_;
  };

  Status read(std::string_view sql, sqlite::Params params, const sqlite::OnRow& row);
  /// One transaction.
  Status writing(const std::function<Status(sqlite::Database&)>& work);
  /// `otherwise` if the statement changed no row.
  Status changes_one(std::string_view sql, sqlite::Params params, const Error& otherwise);

 private:
  static constexpr std::size_t kMostReaders = 8;

  const Path file_;
  std::mutex writer_mutex_;
  sqlite::Database writer_;  // guarded by writer_mutex_
  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  std::vector<std::unique_ptr<sqlite::Database>> readers_;  // that nobody has now; guarded by readers_mutex_
  std::size_t lent_ = 0;                                    // guarded by readers_mutex_
};

}  // namespace mist::catalog
