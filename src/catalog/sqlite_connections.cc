#include "catalog/sqlite_connections.h"

namespace mist::catalog {

using sqlite::Database;

SqliteConnections::SqliteConnections(Path file, Database writer)
    : file_(std::move(file)), writer_(std::move(writer)) {}

SqliteConnections::Reader::Reader(SqliteConnections& connections) : connections_(connections) {
  std::unique_lock lock(connections_.readers_mutex_);
  connections_.reader_free_.wait(
      lock, [&] { return !connections_.readers_.empty() || connections_.lent_ < kMostReaders; });
  ++connections_.lent_;
  if (connections_.readers_.empty()) return;
  database_ = std::move(connections_.readers_.back());
  connections_.readers_.pop_back();
}

SqliteConnections::Reader::~Reader() {
  const std::scoped_lock lock(connections_.readers_mutex_);
  --connections_.lent_;
  if (database_) connections_.readers_.push_back(std::move(database_));
  connections_.reader_free_.notify_one();
}

Result<Database*> SqliteConnections::Reader::database() const {
  if (!database_) {
    MIST_TRY(Database opened, Database::open(connections_.file_));
    database_ = std::make_unique<Database>(std::move(opened));
  }
  return database_.get();
}

Status SqliteConnections::read(std::string_view sql, sqlite::Params params, const sqlite::OnRow& row) {
  const Reader reader(*this);
  MIST_TRY(Database* const db, reader.database());
  return db->query(sql, params, row);
}

Status SqliteConnections::writing(const std::function<Status(Database&)>& work) {
  const std::scoped_lock lock(writer_mutex_);
  return writer_.transaction([&] { return work(writer_); });
}

Status SqliteConnections::changes_one(std::string_view sql, sqlite::Params params, const Error& otherwise) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const std::int64_t changed, db.run(sql, params));
    if (changed == 0) return otherwise;
    return {};
  });
}

}  // namespace mist::catalog
