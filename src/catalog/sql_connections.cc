#include "catalog/sql_connections.h"

#include "base/storage_fault.h"

namespace mist::catalog {

using sql::Database;

namespace {

Error all_busy() {
  return error(ErrorKind::Retryable, "the database is busy")
      .with_because("what was asked of it before takes long")
      .with_hint("try again; if it stays so, check the database's server or disk")
      .with_detail(StorageFault());
}

}  // namespace

Result<std::shared_ptr<SqlConnections>> SqlConnections::open(const Dialect& dialect, Connect connect) {
  MIST_TRY(std::unique_ptr<Database> writer, connect());
  MIST_TRY_VOID(writer->migrate(dialect.schema));
  return std::make_shared<SqlConnections>(dialect, std::move(connect), std::move(writer));
}

SqlConnections::SqlConnections(const Dialect& dialect, Connect connect, std::unique_ptr<Database> writer)
    : dialect_(dialect), connect_(std::move(connect)), writer_(std::move(writer)) {}

SqlConnections::Borrowed::Borrowed(SqlConnections& connections, std::chrono::milliseconds patience)
    : connections_(connections) {
  std::unique_lock lock(connections_.idle_mutex_);
  is_lent_ = connections_.given_back_.wait_for(
      lock, patience, [&] { return !connections_.idle_.empty() || connections_.lent_ < kMostBorrowed; });
  if (!is_lent_) return;
  ++connections_.lent_;
  if (connections_.idle_.empty()) return;
  database_ = std::move(connections_.idle_.back());
  connections_.idle_.pop_back();
}

SqlConnections::Borrowed::~Borrowed() {
  if (!is_lent_) return;
  const std::scoped_lock lock(connections_.idle_mutex_);
  --connections_.lent_;
  if (database_) connections_.idle_.push_back(std::move(database_));
  connections_.given_back_.notify_one();
}

Result<Database*> SqlConnections::Borrowed::database() const {
  if (!is_lent_) return all_busy();
  if (!database_) {
    MIST_TRY(database_, of_storage(connections_.connect_()));
  }
  return database_.get();
}

Status SqlConnections::read(std::string_view sql, sql::Params params, const sql::OnRow& row) {
  const Borrowed connection(*this);
  MIST_TRY(Database* const db, connection.database());
  return db->query(sql, params, row);
}

Status SqlConnections::run_alone(std::string_view sql, sql::Params params) {
  const Borrowed connection(*this);
  MIST_TRY(Database* const db, connection.database());
  MIST_TRY_VOID(db->run(sql, params));
  return {};
}

Status SqlConnections::writing(const std::function<Status(Database&)>& work) {
  const std::unique_lock lock(writer_mutex_, kPatience);
  if (!lock.owns_lock()) return all_busy();
  return writer_->transaction([&] { return work(*writer_); });
}

Status SqlConnections::changes_one(std::string_view sql, sql::Params params, const Error& otherwise,
                                   const std::function<Status(Database&)>& then) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const std::int64_t changed, db.run(sql, params));
    if (changed == 0) return otherwise;
    return then ? then(db) : Status();
  });
}

}  // namespace mist::catalog
