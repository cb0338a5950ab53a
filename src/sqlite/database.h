#pragma once
// One connection to an SQLite database: prepared statements, transactions, migrations. The only folder that
// sees SQLite. Foreign keys are held. A Database belongs to one thread at a time; several of them, in several
// processes, share a file.
//
// Errors: Retryable (another connection holds the lock longer than the patience; no space, a failing disk),
// Conflict (a constraint of the schema), Forbidden (the file can't be opened or written), Invalid (no
// database, a damaged one, or one of a newer program), Internal (SQL that SQLite refuses).

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/fs.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mist::sqlite {

/// A value for a `?`. Texts are bound where they are: they outlive the call that they are given to.
class Param {
 public:
  Param(std::nullptr_t) {}
  Param(std::integral auto number) : value_(static_cast<std::int64_t>(number)) {}
  Param(double number) : value_(number) {}
  Param(std::string_view text) : value_(text) {}
  Param(const std::string& text) : value_(std::string_view(text)) {}
  Param(const char* text) : value_(std::string_view(text)) {}
  template <typename T>
  Param(const std::optional<T>& value) {
    if (value) *this = Param(*value);
  }

  const auto& value() const { return value_; }

 private:
  std::variant<std::nullptr_t, std::int64_t, double, std::string_view> value_ = nullptr;
};
using Params = std::initializer_list<Param>;

/// The current row of a query; valid only while its callback runs. Columns count from 0.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  sqlite3_stmt* statement_;
};
using OnRow = std::function<void(const Row&)>;

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

class Database {
 public:
  /// Creates the file, for its owner alone, unless it is there.
  static Result<Database> open(const Path& file, const OpenOptions& options = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// One statement; the number of rows that it changed.
  Result<std::int64_t> run(std::string_view sql, Params params = {});
  /// One statement, each of whose rows is shown. The callback may not use this statement again.
  Status query(std::string_view sql, Params params, const OnRow& row);
  /// Of the last INSERT.
  std::int64_t last_id() const;

  /// Several statements without parameters.
  Status script(const std::string& sql);

  /// All or nothing: an error of `work` undoes what it did. Takes the write lock at once, so that it doesn't
  /// fail in its middle because somebody else wrote. Not within another transaction.
  Status transaction(const std::function<Status()>& work);
  /// A transaction that only reads: all of its queries see one state.
  Status reading(const std::function<Status()>& work);

  /// `scripts[i]` brings a database of version i to i + 1; a new one has version 0. Several processes may
  /// call it at once. Invalid: the database is newer than all of them.
  Status migrate(std::span<const std::string_view> scripts);

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
