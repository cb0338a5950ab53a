#include "sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

#include "base/storage_fault.h"

namespace mist::sqlite {
namespace {

ErrorKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return ErrorKind::Retryable;
    case SQLITE_CONSTRAINT:
      return ErrorKind::Conflict;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return ErrorKind::Forbidden;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::Invalid;
    default:
      return ErrorKind::Internal;
  }
}

std::string_view hint_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process is writing to it; try again";
    case SQLITE_FULL:
      return "free some disk space";
    case SQLITE_IOERR:
      return "check the disk";
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return "check who may read and write the file and its directory";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "restore it from a backup";
    default:
      return {};
  }
}

// So that nobody else can read it, whatever the umask. SQLite gives its log the same mode. A file that is
// there isn't opened: when a process closes any descriptor of a file, all its locks on it end (fcntl(2)),
// also those of SQLite's other connections, and another process that then closes its own would delete the
// log.
Status make_private(const Path& file) {
  const UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made || errno == EEXIST) return {};
  return errno_error("create", file, errno);
}

void ignore_row(const Row&) {}

class RowOfStatement final : public Row {
 public:
  explicit RowOfStatement(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const override { return ::sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const override { return ::sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return ::sqlite3_column_double(statement_, column); }
  std::string text(int column) const override {
    const auto* const bytes = static_cast<const char*>(::sqlite3_column_blob(statement_, column));
    const int size = ::sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
  }

 private:
  sqlite3_stmt* statement_;
};

}  // namespace

void Database::CloseStatement::operator()(sqlite3_stmt* statement) const noexcept {
  ::sqlite3_finalize(statement);
}
void Database::CloseDatabase::operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Error Database::failure(int code, std::string_view doing) const {
  Error failed = error(kind_of(code), "cannot {} the database {}", doing, file_.string());
  failed.because = database_ != nullptr ? ::sqlite3_errmsg(database_.get()) : ::sqlite3_errstr(code);
  failed.hint = hint_of(code);
  if (failed.kind != ErrorKind::Conflict) failed.details.set(StorageFault());
  if ((code & 0xff) == SQLITE_FULL) failed.details.set(StorageFull());
  return failed;
}

Result<Database> Database::open(const Path& file, const OpenOptions& options) {
  if (!options.read_only) MIST_TRY_VOID(of_storage(make_private(file)));
  Database database(file);
  sqlite3* raw = nullptr;
  // Each connection has one thread at a time, so it needs no lock of its own.
  const int flags = (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_EXRESCODE;
  const int code = ::sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  database.database_.reset(raw);
  if (code != SQLITE_OK) return database.failure(code, "open");
  ::sqlite3_busy_timeout(raw, static_cast<int>(options.patience.count()));
  // A schema in a file that somebody gave us isn't trusted to call functions.
  ::sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ::sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  ::sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  if (!options.read_only) {
    // Commits survive a killed process, and with FULL a machine without power, too.
    const std::string_view journal = options.journal == Journal::Log ? "WAL" : "DELETE";
    MIST_TRY_VOID(
        database.script(fmt::format("PRAGMA journal_mode = {}; PRAGMA synchronous = FULL;", journal)));
    // Bytes of what was deleted, such as an account, must not stay in the file or in its next backup.
    MIST_TRY_VOID(database.script("PRAGMA secure_delete = ON;"));
  }
  MIST_TRY_VOID(database.script("PRAGMA foreign_keys = ON;"));
  return database;
}

Status Database::script(const std::string& sql) {
  const int code = ::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, "change");
  return {};
}

Result<sqlite3_stmt*> Database::prepared(std::string_view sql) {
  if (const auto known = statements_.find(sql); known != statements_.end()) {
    MIST_CHECK(::sqlite3_stmt_busy(known->second.get()) == 0, "a query uses its own statement");
    return known->second.get();
  }
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code = ::sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, &rest);
  Statement statement(raw);
  if (code != SQLITE_OK) return failure(code, "ask");
  MIST_CHECK(raw != nullptr && rest == sql.data() + sql.size(), "not exactly one statement");
  statements_.emplace(sql, std::move(statement));
  return raw;
}

Status Database::bind(sqlite3_stmt* statement, Params params) const {
  MIST_CHECK(::sqlite3_bind_parameter_count(statement) == static_cast<int>(params.size()),
             "as many values as parameters");
  int at = 0;
  for (const Param& param : params) {
    ++at;
    int code = SQLITE_OK;
    if (const auto* const number = std::get_if<std::int64_t>(&param.value()))
      code = ::sqlite3_bind_int64(statement, at, *number);
    else if (const auto* const real = std::get_if<double>(&param.value()))
      code = ::sqlite3_bind_double(statement, at, *real);
    else if (const auto* const text = std::get_if<std::string_view>(&param.value()))
      code = ::sqlite3_bind_text64(statement, at, text->data() == nullptr ? "" : text->data(), text->size(),
                                   SQLITE_STATIC, SQLITE_UTF8);
    else if (const auto* const bytes = std::get_if<Bytes>(&param.value()))
      code = ::sqlite3_bind_blob64(statement, at, bytes->bytes.empty() ? "" : bytes->bytes.data(),
                                   bytes->bytes.size(), SQLITE_STATIC);
    else
      code = ::sqlite3_bind_null(statement, at);
    if (code != SQLITE_OK) return failure(code, "ask");
  }
  return {};
}

Status Database::query(std::string_view sql, Params params, const OnRow& row) {
  MIST_TRY(sqlite3_stmt* const statement, prepared(sql));
  struct Reset {
    sqlite3_stmt* statement;
    ~Reset() {
      ::sqlite3_reset(statement);
      ::sqlite3_clear_bindings(statement);
    }
  } const reset{statement};
  MIST_TRY_VOID(bind(statement, params));
  while (true) {
    const int code = ::sqlite3_step(statement);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return failure(code, ::sqlite3_stmt_readonly(statement) != 0 ? "read" : "write");
    row(RowOfStatement(statement));
  }
}

Result<std::int64_t> Database::run(std::string_view sql, Params params) {
  MIST_TRY_VOID(query(sql, params, ignore_row));
  return static_cast<std::int64_t>(::sqlite3_changes64(database_.get()));
}

std::int64_t Database::last_id() const { return ::sqlite3_last_insert_rowid(database_.get()); }

Status Database::enclosed(const char* begin, const std::function<Status()>& work) {
  MIST_CHECK(::sqlite3_get_autocommit(database_.get()) != 0, "a transaction within a transaction");
  MIST_TRY_VOID(run(begin));
  Status done = work();
  if (done.ok()) {
    const auto committed = run("COMMIT");
    if (committed.ok()) return {};
    done = committed.error();
  }
  // Some errors have ended it already.
  if (::sqlite3_get_autocommit(database_.get()) == 0) [[maybe_unused]]
    const auto undone = run("ROLLBACK");
  return done;
}

Status Database::transaction(const std::function<Status()>& work) {
  return enclosed("BEGIN IMMEDIATE", work);
}
Status Database::reading(const std::function<Status()>& work) { return enclosed("BEGIN", work); }

Result<std::int64_t> Database::version() {
  std::int64_t version = 0;
  MIST_TRY_VOID(query("PRAGMA user_version", {}, [&](const Row& row) { version = row.integer(0); }));
  return version;
}

Status Database::migrate(std::span<const std::string_view> scripts) {
  const auto newest = static_cast<std::int64_t>(scripts.size());
  return transaction([&]() -> Status {
    MIST_TRY(const std::int64_t there, version());
    if (there > newest) return sql::newer_schema(file_.string(), there, newest);
    for (std::int64_t at = there; at < newest; ++at)
      MIST_TRY_VOID(
          script(fmt::format("{}\nPRAGMA user_version = {};", scripts[static_cast<std::size_t>(at)], at + 1))
              .in(fmt::format("while bringing its schema to version {}", at + 1)));
    return {};
  });
}

Status Database::back_up_to(const Path& file) {
  {
    const UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!made && errno == EEXIST) return error(ErrorKind::Conflict, "{} is there already", file.string());
    if (!made) return errno_error("create", file, errno);
  }
  const auto copy = [&]() -> Status {
    sqlite3* raw = nullptr;
    int code = ::sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
    const std::unique_ptr<sqlite3, CloseDatabase> target(raw);
    if (code != SQLITE_OK) return failure(code, "copy");
    sqlite3_backup* const backup = ::sqlite3_backup_init(raw, "main", database_.get(), "main");
    if (backup == nullptr) return failure(::sqlite3_errcode(raw), "copy");
    ::sqlite3_backup_step(backup, -1);
    code = ::sqlite3_backup_finish(backup);
    if (code != SQLITE_OK) return failure(code, "copy");
    return {};
  };
  Status copied = copy();
  if (!copied.ok()) ::unlink(file.c_str());
  return copied;
}

Status Database::check() {
  std::string words;
  MIST_TRY_VOID(query("PRAGMA quick_check(1)", {}, [&](const Row& row) { words = row.text(0); }));
  if (words == "ok") return {};
  return error(ErrorKind::Invalid, "the database {} is damaged", file_.string())
      .with_because(words)
      .with_hint("restore it from a backup")
      .with_detail(StorageFault());
}

}  // namespace mist::sqlite
