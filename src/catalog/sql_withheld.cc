#include "catalog/sql_withheld.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "catalog/model.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Row;

struct OpenTest {
  std::int64_t job = 0, version = 0;
};

// A test that failed has a step that did.
std::string is_after_failure() {
  return fmt::format(
      "EXISTS (SELECT 1 FROM jobs e JOIN steps s ON s.job = e.id AND s.attempt = e.attempt WHERE e.id = "
      "(SELECT max(c.id) FROM jobs c WHERE c.version = v.id AND c.open = 0) AND s.state = {})",
      static_cast<int>(StepState::Failed));
}

Result<std::vector<OpenTest>> open_tests(Database& db, std::string_view condition, sql::Params params) {
  std::vector<OpenTest> found;
  MIST_TRY_VOID(
      db.query(fmt::format("SELECT j.id, v.id FROM jobs j JOIN versions v ON v.id = j.version "
                           "JOIN projects p ON p.id = v.project JOIN accounts a ON a.id = p.account "
                           "WHERE j.open = 1 AND {}",
                           condition),
               params, [&](const Row& row) { found.push_back({row.integer(0), row.integer(1)}); }));
  return found;
}

Status set_state(Database& db, const OpenTest& test, VersionState state) {
  MIST_TRY_VOID(
      db.run("UPDATE versions SET state = ? WHERE id = ?", {static_cast<int>(state), test.version}));
  return {};
}

// The attempt counts: what its worker left is removed before the next one begins.
Status take_back(Database& db, const OpenTest& test) {
  MIST_TRY(const std::int64_t held, db.run("UPDATE jobs SET holder = NULL, until = NULL WHERE id = ? AND "
                                           "holder IS NOT NULL",
                                           {test.job}));
  return held == 0 ? Status() : set_state(db, test, VersionState::Queued);  // it is a first test
}

// With a step that says why.
Status end_all(Database& db, const std::vector<OpenTest>& tests, std::string_view why, std::int64_t now) {
  for (const OpenTest& each : tests) {
    MIST_TRY_VOID(
        db.run("UPDATE jobs SET open = 0, holder = NULL, until = NULL, attempt = attempt + 1 WHERE id = ?",
               {each.job}));
    MIST_TRY_VOID(
        db.run("INSERT INTO steps SELECT id, attempt, 1, 'worker', ?2, ?3, '', ?4, 0 FROM jobs WHERE id = ?1",
               {each.job, static_cast<int>(StepState::Failed), why, now}));
    MIST_TRY_VOID(set_state(db, each, VersionState::Failed));
  }
  return {};
}

}  // namespace

Status withhold_tests(Database& db, std::int64_t account, std::int64_t now) {
  MIST_TRY(const std::vector<OpenTest> first,
           open_tests(db, fmt::format("a.id = ? AND NOT {}", kWasTested), {account}));
  for (const OpenTest& each : first) MIST_TRY_VOID(take_back(db, each));
  MIST_TRY(const std::vector<OpenTest> again,
           open_tests(db, fmt::format("a.id = ? AND {}", is_after_failure()), {account}));
  return end_all(db, again, "its account was disabled before it was tested again", now);
}

Status end_tests(Database& db, std::int64_t account, std::int64_t now) {
  MIST_TRY(
      const std::vector<OpenTest> tests,
      open_tests(db, fmt::format("a.id = ? AND (NOT {} OR {})", kWasTested, is_after_failure()), {account}));
  return end_all(db, tests, "its account was deleted before it was tested", now);
}

// Nobody links a project of such an account again, and a moderator's test isn't a version's first.
Status end_tests_of_deleted(Database& db, std::int64_t now) {
  MIST_TRY(const std::vector<OpenTest> tests,
           open_tests(db,
                      fmt::format("a.disabled = 1 AND a.name LIKE 'deleted-%' AND p.linked = 0 AND NOT {}",
                                  kWasTested),
                      {}));
  return end_all(db, tests, "its account was deleted before it was tested", now);
}

}  // namespace mist::catalog
