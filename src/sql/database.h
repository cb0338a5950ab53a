#pragma once
// A connection to a database that speaks SQL, whichever it is: sqlite::Database, postgres::Database. It
// belongs to one thread at a time. SQL is always a text of ours; values of others go through `?` or `?1`
// (Param).
//
// Errors: Retryable (the database can't be reached, or is busy; no space, a failing disk), Conflict (a
// constraint of the schema), Forbidden (it lets us not in, or not do that), Invalid (no database, a damaged
// one, or one of a newer or another program), Internal (SQL that it refuses). All but Conflict and those of
// other programs are a StorageFault (base/storage_fault.h).

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace mist::sql {

/// Bytes that are no text.
struct Bytes {
  std::string_view bytes;
};

/// A value for a `?`. Texts are bound where they are: they outlive the call that they are given to.
class Param {
 public:
  Param(std::nullptr_t) {}
  Param(std::integral auto number) : value_(static_cast<std::int64_t>(number)) {}
  Param(double number) : value_(number) {}
  Param(std::string_view text) : value_(text) {}
  Param(const std::string& text) : value_(std::string_view(text)) {}
  Param(const char* text) : value_(std::string_view(text)) {}
  Param(Bytes bytes) : value_(bytes) {}
  template <typename T>
  Param(const std::optional<T>& value) {
    if (value) *this = Param(*value);
  }

  const auto& value() const { return value_; }

 private:
  std::variant<std::nullptr_t, std::int64_t, double, std::string_view, Bytes> value_ = nullptr;
};
/// The values of a statement, as a list in braces or as many as there are at run time; where they are.
class Params {
 public:
  Params(std::initializer_list<Param> list) : list_(list.begin(), list.size()) {}
  Params(std::span<const Param> list) : list_(list) {}

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }

 private:
  std::span<const Param> list_;
};

/// The current row of a query; valid only while its callback runs. Columns count from 0.
class Row {
 public:
  virtual bool is_null(int column) const = 0;
  /// Truth is 1 or 0. NULL is 0.
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  /// Of bytes, too. NULL is empty.
  virtual std::string text(int column) const = 0;

 protected:
  ~Row() = default;
};
using OnRow = std::function<void(const Row&)>;

class Database {
 public:
  virtual ~Database() = default;

  /// One statement; the number of rows that it changed.
  virtual Result<std::int64_t> run(std::string_view sql, Params params) = 0;
  Result<std::int64_t> run(std::string_view sql) { return run(sql, {}); }
  /// One statement, each of whose rows is shown. The callback may not use this statement again.
  virtual Status query(std::string_view sql, Params params, const OnRow& row) = 0;
  /// Several statements without parameters.
  virtual Status script(const std::string& sql) = 0;

  /// All or nothing: an error of `work` undoes what it did. Transactions of one database, from all
  /// connections and processes, take turns, so that none fails in its middle because somebody else wrote. Not
  /// within another transaction.
  virtual Status transaction(const std::function<Status()>& work) = 0;
  /// A transaction that only reads: all of its queries see one state.
  virtual Status reading(const std::function<Status()>& work) = 0;

  /// `scripts[i]` brings a database of version i to i + 1; a new one has version 0. Several processes may
  /// call it at once. Invalid: the database is newer than all of them, or another program's.
  virtual Status migrate(std::span<const std::string_view> scripts) = 0;

 protected:
  Database() = default;
  Database(const Database&) = default;
  Database& operator=(const Database&) = default;
  Database(Database&&) = default;
  Database& operator=(Database&&) = default;
};

/// For migrate: what to say of a database at version `there`, to which this program knows `newest` scripts.
inline Error newer_schema(std::string_view database, std::int64_t there, std::int64_t newest) {
  return error(ErrorKind::Invalid, "the database {} is of a newer version of this program", database)
      .with_because(fmt::format("its schema has version {}, this program knows {}", there, newest))
      .with_hint("use the newer program, or restore a backup that the older one made");
}

}  // namespace mist::sql
