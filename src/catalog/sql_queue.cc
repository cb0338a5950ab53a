// The queue of tests, and the audit log, of sql_store_class.h.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "catalog/sql_store_class.h"
#include "catalog/sql_withheld.h"
#include "catalog/step_log.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using sql::Database;
using sql::Row;

// Anybody's GET loads all steps of a version, and its author has a say in their words. Cut twice, because
// escapes are longer than what they stand for.
std::string bounded_text(std::string_view text, std::size_t most) {
  return clipped(escape_controls(clipped(text, most), true), most);
}

std::string without_line_ends(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string kept_summary(std::string_view text) {
  return without_line_ends(bounded_text(text, Store::kLongestSummary));
}

std::string kept_log(std::string_view text) { return bounded_text(text, StepLog::kMost); }

constexpr std::array kTestNodes{std::pair{TestNodes::None, std::string_view("none")},
                                std::pair{TestNodes::Real, std::string_view("real")},
                                std::pair{TestNodes::Simulated, std::string_view("simulated")},
                                std::pair{TestNodes::RealAndSimulated, std::string_view("mixed")}};

std::string_view stored_form(TestNodes nodes) {
  return std::ranges::find(kTestNodes, nodes, &std::pair<TestNodes, std::string_view>::first)->second;
}

// Earlier catalogs stored the words that people see.
std::optional<TestNodes> test_nodes_of(std::string_view stored) {
  for (const auto& [nodes, form] : kTestNodes)
    if (stored == form || stored == to_string(nodes)) return nodes;
  return std::nullopt;
}

}  // namespace

Status SqlStore::check_writable() {
  return writing([](Database& db) -> Status {
    // A real change, of a value to itself: a server that can be read may take none.
    MIST_TRY_VOID(db.run("UPDATE counters SET value = value WHERE name = 'served'"));
    return {};
  });
}

Result<std::optional<Job>> SqlStore::lease(const std::string& holder, Duration term) {
  std::optional<Job> leased;
  Status done = writing([&](Database& db) -> Status {
    MIST_TRY_VOID(give_up_lost(db));
    std::int64_t version = 0;
    std::int64_t account = 0;
    // Versions of one package make the same objects of the whole cluster: one at a time. One that was given
    // back for later has none. Of a disabled account what was never tested waits (sql_withheld.h); a
    // moderator may want another test of the rest.
    MIST_TRY_VOID(db.query(
        fmt::format("SELECT j.id, j.attempt, p.name, v.version, v.digest, a.name, v.id, a.id, j.excused, "
                    // Its worker died, and its Pod has gone on (task_store.h).
                    "CASE WHEN j.holder IS NOT NULL AND j.excused < ?2 AND EXISTS (SELECT 1 FROM tasks t "
                    "WHERE t.job = j.id) THEN 1 ELSE 0 END "
                    "FROM jobs j JOIN versions v ON v.id = j.version "
                    "JOIN projects p ON p.id = v.project JOIN accounts a ON a.id = p.account "
                    "WHERE j.open = 1 AND (j.until IS NULL OR j.until <= ?1) AND v.hidden IS NULL AND "
                    "v.review <> 2 AND p.hidden IS NULL AND (a.disabled = 0 OR {}) AND "
                    "p.id NOT IN (SELECT tv.project FROM jobs t JOIN versions tv "
                    "ON tv.id = t.version WHERE t.open = 1 AND t.holder IS NOT NULL AND t.until > ?1) "
                    "ORDER BY a.served, j.id LIMIT 1",
                    kWasTested),
        {now(), kMostExcused}, [&](const Row& row) {
          leased = Job{.id = row.integer(0),
                       .attempt = static_cast<int>(row.integer(1)) + 1,
                       .excused = static_cast<int>(row.integer(8) + row.integer(9)),
                       .holder = holder,
                       .package = row.text(2),
                       .version = row.text(3),
                       .digest = row.text(4),
                       .owner = row.text(5)};
          version = row.integer(6);
          account = row.integer(7);
        }));
    if (!leased) return {};
    MIST_TRY_VOID(db.query(
        "SELECT version, digest FROM versions WHERE project = (SELECT project FROM versions WHERE id = ?1) "
        "AND place < (SELECT place FROM versions WHERE id = ?1) AND state = 2 AND yanked IS NULL AND "
        "hidden IS NULL AND review = 0 ORDER BY place DESC LIMIT 1",
        {version}, [&](const Row& row) {
          leased->previous_version = row.text(0);
          leased->previous_digest = row.text(1);
        }));
    MIST_TRY_VOID(db.run("UPDATE jobs SET attempt = ?, excused = ?, holder = ?, until = ? WHERE id = ?",
                         {leased->attempt, leased->excused, holder, now() + milliseconds(term), leased->id}));
    MIST_TRY_VOID(db.run("INSERT INTO runs (job, attempt) VALUES (?, ?) ON CONFLICT DO NOTHING",
                         {leased->id, leased->attempt}));
    MIST_TRY_VOID(db.run("UPDATE versions SET state = 1 WHERE id = ? AND state = 0", {version}));
    MIST_TRY_VOID(db.run("UPDATE counters SET value = value + 1 WHERE name = 'served'"));
    MIST_TRY_VOID(
        db.run("UPDATE accounts SET served = (SELECT value FROM counters WHERE name = 'served') WHERE id = ?",
               {account}));
    return {};
  });
  if (!done.ok()) return std::move(done).error();
  return leased;
}

Status SqlStore::renew(const Job& job, Duration term) {
  return changes_one("UPDATE jobs SET until = ? WHERE id = ? AND attempt = ? AND holder = ? AND open = 1",
                     {now() + milliseconds(term), job.id, job.attempt, job.holder}, lost(job));
}

Status SqlStore::add_step(const Job& job, const Step& step) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    return insert_step(db, job.id, job.attempt, step);
  });
}

Status SqlStore::note_nodes(const Job& job, TestNodes nodes) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    MIST_TRY_VOID(db.run("UPDATE runs SET nodes = ? WHERE job = ? AND attempt = ?",
                         {stored_form(nodes), job.id, job.attempt}));
    return {};
  });
}

Status SqlStore::note_objects(const Job& job, const Value& graph, const Value& security,
                              const std::string& text) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    MIST_TRY_VOID(db.run("UPDATE runs SET objects = ?, security = ?, text = ? WHERE job = ? AND attempt = ?",
                         {encoding::to_json(graph), encoding::to_json(security), text, job.id, job.attempt}));
    return {};
  });
}

Status SqlStore::finish(const Job& job, bool passed) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    return end_job(db, job.id, passed ? VersionState::Passed : VersionState::Failed);
  });
}

Status SqlStore::give_up(const Job& job, const Step& why) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    MIST_TRY_VOID(insert_step(db, job.id, job.attempt, why));
    return end_job(db, job.id, VersionState::Failed);
  });
}

Status SqlStore::give_back(const Job& job, Duration rest) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    MIST_TRY_VOID(db.run("DELETE FROM steps WHERE job = ? AND attempt = ?", {job.id, job.attempt}));
    MIST_TRY_VOID(db.run("DELETE FROM runs WHERE job = ? AND attempt = ?", {job.id, job.attempt}));
    std::optional<std::int64_t> until;
    if (rest > Duration::zero()) until = now() + milliseconds(rest);
    MIST_TRY_VOID(db.run("UPDATE jobs SET attempt = attempt - 1, holder = NULL, until = ? WHERE id = ?",
                         {until, job.id}));
    MIST_TRY_VOID(db.run(
        "UPDATE versions SET state = 0 WHERE id = (SELECT version FROM jobs WHERE id = ?) AND state = 1",
        {job.id}));
    return {};
  });
}

Status SqlStore::retry_after(const Job& job, Duration rest) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(still_ours(db, job));
    MIST_TRY_VOID(db.run("UPDATE jobs SET holder = NULL, until = ? WHERE id = ?",
                         {now() + milliseconds(rest), job.id}));
    MIST_TRY_VOID(db.run(
        "UPDATE versions SET state = 0 WHERE id = (SELECT version FROM jobs WHERE id = ?) AND state = 1",
        {job.id}));
    return {};
  });
}

Result<bool> SqlStore::is_being_tested(std::int64_t job, int attempt) {
  bool found = false;
  MIST_TRY_VOID(read("SELECT 1 FROM jobs WHERE id = ? AND attempt = ? AND open = 1 AND holder IS NOT NULL",
                     {job, attempt}, [&](const Row&) { found = true; }));
  return found;
}

Status SqlStore::test_again(const std::string& package, const std::string& version, const Audit& audit) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const Found found, find_version(db, package, version));
    if (found.digest.empty())
      return error(ErrorKind::Conflict, "{} {} can't be read, so it can't be tested", package, version)
          .with_hint("correct it and push another tag");
    // The queue passes it over, so it would wait for ever.
    if (found.review == Review::Rejected)
      return error(ErrorKind::Conflict, "{} {} was rejected by a moderator, so it isn't tested", package,
                   version)
          .with_hint("push a corrected version with another tag; a moderator can still publish this one");
    MIST_TRY(const std::int64_t made,
             db.run("INSERT INTO jobs (version, created) SELECT ?1, ?2 WHERE NOT EXISTS "
                    "(SELECT 1 FROM jobs WHERE version = ?1 AND open = 1)",
                    {found.version, now()}));
    if (made == 0)
      return error(ErrorKind::Conflict, "{} {} is waiting for its test, or being tested", package, version);
    // Its last result holds until there is another one: users install it meanwhile.
    return note(db, audit);
  });
}

Result<std::optional<Run>> SqlStore::last_run(const std::string& package, const std::string& version) {
  std::optional<Run> run;
  const SqlConnections::Borrowed connection(*connections_);
  MIST_TRY(Database* const db, connection.database());
  Status done = db->reading([&]() -> Status {
    std::int64_t job = 0;
    MIST_TRY_VOID(db->query(
        "SELECT j.id, j.attempt, coalesce(r.nodes, ''), coalesce(r.objects, ''), coalesce(r.security, ''), "
        "coalesce(r.text, '') FROM jobs j "
        "JOIN versions v ON v.id = j.version "
        "JOIN projects p ON p.id = v.project LEFT JOIN runs r ON r.job = j.id AND r.attempt = j.attempt "
        "WHERE p.name = ? AND v.version = ? AND j.attempt > 0 ORDER BY j.open, j.id DESC LIMIT 1",
        {package, version}, [&](const Row& row) {
          job = row.integer(0);
          run = Run{.attempt = static_cast<int>(row.integer(1)), .nodes = test_nodes_of(row.text(2))};
          if (auto graph = encoding::parse_json(row.text(3)); graph.ok()) run->objects = *std::move(graph);
          if (auto report = encoding::parse_json(row.text(4)); report.ok())
            run->security = *std::move(report);
          run->text = row.text(5);
        }));
    if (!run) return {};
    // Earlier catalogs bounded nothing when they wrote them. One character more shows that they are cut.
    return db->query(
        fmt::format(
            "SELECT name, state, substr(summary, 1, {}), substr(log, 1, {}), began, elapsed FROM steps "
            "WHERE job = ? AND attempt = ? ORDER BY number",
            kLongestSummary + 1, StepLog::kMost + 1),
        {job, run->attempt}, [&](const Row& row) {
          run->steps.push_back({.name = row.text(0),
                                .state = static_cast<StepState>(row.integer(1)),
                                .summary = kept_summary(row.text(2)),
                                .log = kept_log(row.text(3)),
                                .began = time_of(row.integer(4)),
                                .elapsed = std::chrono::milliseconds(row.integer(5))});
        });
  });
  if (!done.ok()) return std::move(done).error();
  return run;
}

Status SqlStore::audit(const AuditEntry& entry) {
  return writing([&](Database& db) { return note(db, entry); });
}

Result<Slice<AuditEntry>> SqlStore::audit_log(const AuditFilter& filter, const Page& page) {
  Slice<AuditEntry> slice;
  std::vector<std::int64_t> ids;
  MIST_TRY_VOID(read(
      "SELECT id, time, who, what, subject, peer FROM audit WHERE (?1 = '' OR id < ?2) AND "
      "(?4 = '' OR who = ?4) AND (?5 = '' OR what = ?5) AND (?6 = '' OR replace(subject, ?6, '') <> "
      "subject) "
      "ORDER BY id DESC LIMIT ?3",
      {page.after, number_in(page.after), page.limit + 1, filter.who, filter.what, filter.subject},
      [&](const Row& row) {
        ids.push_back(row.integer(0));
        slice.items.push_back({time_of(row.integer(1)), row.text(2), row.text(3), row.text(4), row.text(5)});
      }));
  cut(slice, page, [&](const AuditEntry&) { return std::to_string(ids[slice.items.size() - 1]); });
  return slice;
}

Error SqlStore::lost(const Job& job) {
  return error(ErrorKind::Conflict, "the test of {} {} is somebody else's now", job.package, job.version);
}

Status SqlStore::still_ours(Database& db, const Job& job) {
  bool ours = false;
  MIST_TRY_VOID(db.query("SELECT 1 FROM jobs WHERE id = ? AND attempt = ? AND holder = ? AND open = 1",
                         {job.id, job.attempt, job.holder}, [&](const Row&) { ours = true; }));
  if (!ours) return lost(job);
  return {};
}

Status SqlStore::insert_step(Database& db, std::int64_t job, int attempt, const Step& step) {
  const std::string summary = kept_summary(step.summary);
  const std::string log = kept_log(step.log);
  MIST_TRY_VOID(
      db.run("INSERT INTO steps SELECT ?1, ?2, 1 + coalesce((SELECT max(number) FROM steps WHERE "
             "job = ?1 AND attempt = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8",
             {job, attempt, step.name, static_cast<int>(step.state), summary, log, stamp(step.began),
              milliseconds(step.elapsed)}));
  return {};
}

Status SqlStore::end_job(Database& db, std::int64_t job, VersionState state) const {
  std::int64_t version = 0;
  std::int64_t project = 0;
  MIST_TRY_VOID(
      db.query("SELECT v.id, v.project FROM jobs j JOIN versions v ON v.id = j.version WHERE j.id = ?", {job},
               [&](const Row& row) {
                 version = row.integer(0);
                 project = row.integer(1);
               }));
  MIST_TRY_VOID(db.run("UPDATE jobs SET open = 0, holder = NULL, until = NULL WHERE id = ?", {job}));
  MIST_TRY_VOID(db.run("UPDATE versions SET state = ? WHERE id = ?", {static_cast<int>(state), version}));
  MIST_TRY_VOID(list_again(db, project));
  return index_changed(db);
}

Status SqlStore::give_up_lost(Database& db) const {
  struct Lost {
    std::int64_t job = 0;
    int attempt = 0;
  };
  std::vector<Lost> lost;
  MIST_TRY_VOID(
      db.query("SELECT id, attempt FROM jobs WHERE open = 1 AND holder IS NOT NULL AND until <= ? AND "
               "attempt - excused >= ? "
               "AND (excused >= ? OR NOT EXISTS (SELECT 1 FROM tasks t WHERE t.job = jobs.id))",
               {now(), kMostAttempts, kMostExcused},
               [&](const Row& row) { lost.push_back({row.integer(0), static_cast<int>(row.integer(1))}); }));
  for (const Lost& each : lost) {
    MIST_TRY_VOID(
        insert_step(db, each.job, each.attempt,
                    {.name = "worker",
                     .state = StepState::Failed,
                     .summary = fmt::format("the worker died in each of {} attempts", kMostAttempts),
                     .began = clock_.now()}));
    MIST_TRY_VOID(end_job(db, each.job, VersionState::Failed));
  }
  return {};
}

}  // namespace mist::catalog
