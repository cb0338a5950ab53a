#pragma once
// The connections of one process to the catalog's database: one writes, a few do the rest, so that readers
// and the writer don't wait for each other. Any thread. Errors: of sql::Database; Retryable: the connections
// are in use for too long, as where the database hangs.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/sql_dialect.h"
#include "sql/database.h"

namespace mist::catalog {

class SqlConnections {
 public:
  using Connect = std::function<Result<std::unique_ptr<sql::Database>>()>;

  /// With the tables up to date.
  static Result<std::shared_ptr<SqlConnections>> open(const Dialect& dialect, Connect connect);
  SqlConnections(const Dialect& dialect, Connect connect, std::unique_ptr<sql::Database> writer);

  /// One of the few, for as long as this lives; or none, if all are in use for that long.
  class Borrowed {
   public:
    explicit Borrowed(SqlConnections& connections, std::chrono::milliseconds patience = kPatience);
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed();
    Result<sql::Database*> database() const;

   private:
    SqlConnections& connections_;
    bool is_lent_ = false;
    mutable std::unique_ptr<sql::Database> database_;
  };

  static constexpr std::size_t kMostBorrowed = 8;

  const Dialect& dialect() const { return dialect_; }
  Status read(std::string_view sql, sql::Params params, const sql::OnRow& row);
  /// One statement that changes something, without a turn among the writers.
  Status run_alone(std::string_view sql, sql::Params params);
  /// One transaction.
  Status writing(const std::function<Status(sql::Database&)>& work);
  /// `otherwise` if the statement changed no row; else, in the same transaction, what follows of it.
  Status changes_one(std::string_view sql, sql::Params params, const Error& otherwise,
                     const std::function<Status(sql::Database&)>& then = {});

 private:
  static constexpr std::chrono::milliseconds kPatience{10'000};

  const Dialect& dialect_;
  const Connect connect_;
  std::timed_mutex writer_mutex_;
  std::unique_ptr<sql::Database> writer_;  // guarded by writer_mutex_
  std::mutex idle_mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<sql::Database>> idle_;  // guarded by idle_mutex_
  std::size_t lent_ = 0;                              // guarded by idle_mutex_
};

}  // namespace mist::catalog
