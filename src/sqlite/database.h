#pragma once
// One connection to an SQLite database: prepared statements, transactions, migrations. The only folder that
// sees SQLite. Foreign keys are held. A Database belongs to one thread at a time; several of them, in several
// processes, share a file.
//
// Errors: as sql::Database has them. Retryable: another connection holds the lock longer than the patience;
// Forbidden: the file can't be opened or written.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "sql/database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mist::sqlite {

using sql::Bytes;
using sql::OnRow;
using sql::Param;
using sql::Params;
using sql::Row;

/// How a commit survives a process that is killed.
enum class Journal : std::uint8_t {
  Log,       ///< a write-ahead log: readers and the writer don't wait for each other; needs a local disk
  Rollback,  ///< they wait for each other; works on network file systems, too
};

struct OpenOptions {
  /// How long a call waits for the lock of another connection.
  std::chrono::milliseconds patience{5000};
  bool read_only = false;  ///< the file must be there
  Journal journal = Journal::Log;
};

class Database final : public sql::Database {
 public:
  /// Creates the file, for its owner alone, unless it is there.
  static Result<Database> open(const Path& file, const OpenOptions& options = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database() override;

  using sql::Database::run;
  Result<std::int64_t> run(std::string_view sql, Params params) override;
  Status query(std::string_view sql, Params params, const OnRow& row) override;
  /// Of the last INSERT.
  std::int64_t last_id() const;
  Status script(const std::string& sql) override;

  /// Takes the write lock at once.
  Status transaction(const std::function<Status()>& work) override;
  Status reading(const std::function<Status()>& work) override;
  Status migrate(std::span<const std::string_view> scripts) override;

  /// A consistent copy of all that is committed now, while others write. The copy is whole or not there;
  /// Conflict if the file exists.
  Status back_up_to(const Path& file);
  /// Checks the file; Invalid with SQLite's own words.
  Status check();

 private:
  struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  struct CloseDatabase {
    void operator()(sqlite3* database) const noexcept;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

  explicit Database(Path file) : file_(std::move(file)) {}
  Error failure(int code, std::string_view doing) const;
  Result<sqlite3_stmt*> prepared(std::string_view sql);
  Status bind(sqlite3_stmt* statement, Params params) const;
  Result<std::int64_t> version();
  Status enclosed(const char* begin, const std::function<Status()>& work);

  Path file_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::map<std::string, Statement, std::less<>> statements_;  // closed before the database
};

}  // namespace mist::sqlite
