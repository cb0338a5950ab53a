#include "catalog/sql_task_store.h"

#include <utility>

#include "sql/database.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Row;

constexpr std::string_view kTask =
    "SELECT t.job, t.token, t.request, t.ended, (SELECT count(*) FROM task_pieces p WHERE p.job = t.job) "
    "FROM "
    "tasks t JOIN jobs j ON j.id = t.job WHERE ";

Task task_in(const Row& row) {
  return {.job = row.integer(0),
          .token = row.text(1),
          .request = row.text(2),
          .pieces = row.integer(4),
          .has_ended = row.integer(3) != 0};
}

Error no_task() { return error(ErrorKind::NotFound, "the test of this token is over"); }

class SqlTaskStore final : public TaskStore {
 public:
  explicit SqlTaskStore(std::shared_ptr<SqlConnections> connections) : connections_(std::move(connections)) {}

  Status put(const Job& job, const std::string& token_digest, const std::string& request) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM tasks WHERE job = ?", {job.id}));
      MIST_TRY(const std::int64_t made,
               db.run("INSERT INTO tasks (job, token, request) SELECT id, ?, ? FROM jobs WHERE id = ? AND "
                      "attempt = ? AND holder = ? AND open = 1",
                      {token_digest, request, job.id, job.attempt, job.holder}));
      if (made == 0)
        return error(ErrorKind::Conflict, "the test of {} {} is somebody else's now", job.package,
                     job.version);
      return {};
    });
  }

  Result<std::optional<Task>> of_job(std::int64_t job) override { return task_where("t.job = ?", job); }

  Result<std::optional<Task>> of_token(const std::string& token_digest) override {
    return task_where("t.token = ? AND j.open = 1", token_digest);
  }

  Status add_piece(const std::string& token_digest, std::int64_t number, const std::string& text,
                   bool is_last) override {
    if (text.size() > kMostPieceBytes || number < 0 || number >= kMostPieces)
      return error(ErrorKind::Invalid, "a test says no more than {} pieces of {} bytes", kMostPieces,
                   kMostPieceBytes);
    return connections_->writing([&](Database& db) -> Status {
      std::optional<Task> task;
      MIST_TRY_VOID(db.query(fmt::format("{}t.token = ? AND j.open = 1", kTask), {token_digest},
                             [&](const Row& row) { task = task_in(row); }));
      if (!task) return no_task();
      if (number < task->pieces) return {};
      if (number > task->pieces || task->has_ended)
        return error(ErrorKind::Conflict, "the test has said {} pieces, and {}", task->pieces,
                     task->has_ended ? "was to end with them" : "the next one is missing");
      MIST_TRY_VOID(
          db.run("INSERT INTO task_pieces (job, number, text) VALUES (?, ?, ?)", {task->job, number, text}));
      if (!is_last) return {};
      MIST_TRY_VOID(db.run("UPDATE tasks SET ended = 1 WHERE job = ?", {task->job}));
      return {};
    });
  }

  Result<std::vector<std::string>> pieces(const std::string& token_digest, std::int64_t from) override {
    std::vector<std::string> found;
    MIST_TRY_VOID(connections_->read(
        "SELECT p.text FROM task_pieces p JOIN tasks t ON t.job = p.job WHERE t.token = ? AND p.number >= ? "
        "ORDER BY p.number",
        {token_digest, from}, [&](const Row& row) { found.push_back(row.text(0)); }));
    return found;
  }

  Status remove(std::int64_t job, const std::string& token_digest) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM tasks WHERE job = ? AND token = ?", {job, token_digest}));
      return {};
    });
  }

  Status remove_over() override {
    return connections_->writing([](Database& db) -> Status {
      MIST_TRY_VOID(db.run("DELETE FROM tasks WHERE job IN (SELECT id FROM jobs WHERE open = 0)"));
      return {};
    });
  }

 private:
  Result<std::optional<Task>> task_where(std::string_view condition, sql::Param value) {
    std::optional<Task> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}{}", kTask, condition), {value},
                                     [&](const Row& row) { found = task_in(row); }));
    return found;
  }

  const std::shared_ptr<SqlConnections> connections_;
};

}  // namespace

std::unique_ptr<TaskStore> task_store_in(std::shared_ptr<SqlConnections> connections) {
  return std::make_unique<SqlTaskStore>(std::move(connections));
}

}  // namespace mist::catalog
