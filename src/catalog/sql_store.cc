#include "catalog/sql_store.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/text.h"
#include "catalog/sql_store_class.h"
#include "catalog/sql_withheld.h"
#include "encoding/json.h"
#include "encoding/semver.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using sql::Database;
using sql::Row;

constexpr std::string_view kProject =
    "SELECT p.id, p.name, a.name, p.url, p.path, p.webhook_secret, p.created, p.polled, p.problem, "
    "p.hidden "
    "FROM projects p JOIN accounts a ON a.id = p.account ";

Project project_in(const Row& row) {
  Project project{.id = row.integer(0),
                  .name = row.text(1),
                  .owner = row.text(2),
                  .url = row.text(3),
                  .path = row.text(4),
                  .webhook_secret = SecretString(row.text(5)),
                  .created = time_of(row.integer(6)),
                  .problem = row.text(8)};
  if (!row.is_null(7)) project.polled = time_of(row.integer(7));
  if (!row.is_null(9)) project.hidden = row.text(9);
  return project;
}

constexpr int kBriefColumns = 16;
constexpr std::string_view kBrief =
    "v.id, p.name, v.version, v.tag, v.\"commit\", v.digest, v.state, v.yanked, v.created, v.downloads, "
    "p.hidden, v.hidden, v.review, v.rejected, (SELECT CASE WHEN o.holder IS NULL THEN 0 ELSE 1 END FROM "
    "jobs o "
    "WHERE o.version = v.id AND o.open = 1 AND v.state IN (2, 3)), v.yanked_by_moderator";
constexpr std::string_view kVersionsOf =
    "FROM versions v JOIN projects p ON p.id = v.project WHERE p.name = ?";

// Of versions whose review isn't over: one that failed is its author's to correct first.
constexpr std::string_view kAwaitsModerators =
    "v.review = 1 AND v.state <> 3 AND v.hidden IS NULL AND p.hidden IS NULL";

VersionBrief brief_in(const Row& row) {
  VersionBrief version{.id = row.integer(0),
                       .package = row.text(1),
                       .version = row.text(2),
                       .tag = row.text(3),
                       .commit = row.text(4),
                       .digest = row.text(5),
                       .state = static_cast<VersionState>(row.integer(6)),
                       .review = static_cast<Review>(row.integer(12)),
                       .rejected_because = row.text(13),
                       .created = time_of(row.integer(8)),
                       .downloads = row.integer(9)};
  if (!row.is_null(7)) version.yanked = row.text(7);
  version.is_yanked_by_moderator = version.yanked && row.integer(15) != 0;
  if (!row.is_null(14)) version.new_test = static_cast<VersionState>(row.integer(14));
  version.is_package_hidden = !row.is_null(10);
  if (version.is_package_hidden || !row.is_null(11))
    version.hidden = row.text(version.is_package_hidden ? 10 : 11);
  return version;
}

Version version_in(const Row& row) {
  Version version{brief_in(row)};
  version.readme = row.text(17);
  // Our own text; a damaged one shows as a package that says nothing.
  if (const auto facts = encoding::parse_json(row.text(16)); facts.ok())
    version.facts = PackageFacts::from_value(*facts);
  return version;
}

// A gap has room for 40 versions of which each comes right after the last, as patches of an old minor version
// do. SQLite writes all of a row that moves, its large texts too.
constexpr std::int64_t kBetweenPlaces = std::int64_t{1} << 40;

struct Placed {
  encoding::SemVer version;
  std::int64_t id = 0, place = 0;
};

encoding::SemVer semver_of(const std::string& text) {
  auto version = encoding::SemVer::parse(text);
  return version.ok() ? *std::move(version) : encoding::SemVer();
}

}  // namespace

Status SqlStore::create(Random& random) {
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(
        db.run("INSERT INTO settings VALUES ('instance', ?) ON CONFLICT DO NOTHING", {random.token(4)}));
    MIST_TRY_VOID(list_past_yanked(db));
    return end_tests_of_deleted(db, now());
  });
}

Result<std::string> SqlStore::instance() {
  std::string name;
  MIST_TRY_VOID(read("SELECT value FROM settings WHERE name = 'instance'", {},
                     [&](const Row& row) { name = row.text(0); }));
  return name;
}

Result<Project> SqlStore::add_project(const NewProject& wanted, const Audit& audit) {
  if (!is_dns1123_label(wanted.name))
    return error(ErrorKind::Invalid, "{} can't be the name of a package", escape_controls(wanted.name))
        .with_hint("lower case letters, digits and '-'");
  std::optional<Project> added;
  Status done = writing([&](Database& db) -> Status {
    MIST_TRY(const std::int64_t account, account_id(db, wanted.owner));
    std::int64_t linked = 0;
    MIST_TRY_VOID(db.query("SELECT count(*) FROM projects WHERE account = ? AND linked = 1", {account},
                           [&](const Row& row) { linked = row.integer(0); }));
    if (linked >= kProjectsOfAnAccount)
      return error(ErrorKind::Conflict, "{} has {} projects, and an account may have no more", wanted.owner,
                   linked)
          .with_hint("unlink one, or link it with another account");
    // A name stays with the account whose versions it has: nobody else continues them. One that never had any
    // is free once it is unlinked.
    MIST_TRY(const std::int64_t made,
             db.run("INSERT INTO projects (name, account, url, path, webhook_secret, created, due) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (name) DO UPDATE SET account = ?2, "
                    "url = ?3, path = ?4, webhook_secret = ?5, due = ?6, problem = '', linked = 1 "
                    "WHERE projects.linked = 0 AND (projects.account = ?2 OR NOT EXISTS (SELECT 1 FROM "
                    "versions WHERE versions.project = projects.id))",
                    {wanted.name, account, wanted.url, wanted.path, wanted.webhook_secret.reveal(), now()}));
    if (made == 0) return error(ErrorKind::Conflict, "the name {} is taken", wanted.name);
    MIST_TRY_VOID(note(db, audit));
    // Once it is kept, nothing may stand between it and who gets its secret.
    MIST_TRY_VOID(db.query(fmt::format("{}WHERE p.name = ?", kProject), {wanted.name},
                           [&](const Row& row) { added = project_in(row); }));
    return added ? Status() : not_there("project", wanted.name);
  });
  if (!done.ok()) return std::move(done).error();
  return *std::move(added);
}

Result<std::optional<Project>> SqlStore::project(const std::string& name) {
  std::optional<Project> found;
  MIST_TRY_VOID(read(fmt::format("{}WHERE p.name = ? AND p.linked = 1", kProject), {name},
                     [&](const Row& row) { found = project_in(row); }));
  return found;
}

Result<Slice<Project>> SqlStore::projects(const std::string& owner, const Page& page) {
  Slice<Project> slice;
  MIST_TRY_VOID(read(fmt::format("{}WHERE p.linked = 1 AND (?1 = '' OR a.name = ?1) AND p.name > ?2 "
                                 "ORDER BY p.name LIMIT ?3",
                                 kProject),
                     {owner, page.after, page.limit + 1},
                     [&](const Row& row) { slice.items.push_back(project_in(row)); }));
  cut(slice, page, [](const Project& last) { return last.name; });
  return slice;
}

Status SqlStore::remove_project(const std::string& name, const Audit& audit) {
  return changes_one("UPDATE projects SET linked = 0, due = NULL WHERE name = ? AND linked = 1", {name},
                     not_there("project", name), [&](Database& db) { return note(db, audit); });
}

Result<std::optional<Project>> SqlStore::take_due_project(Duration again, const Polls& polls) {
  const Duration longest = std::max(again, polls.interval);
  std::vector<sql::Param> values{now(), now() + milliseconds(longest) + kClockSkew};
  const auto among = [&](std::string_view column, const std::vector<std::string>& names) {
    std::string list = "''";  // nobody's name: a list may not be empty
    for (const std::string& each : names) {
      values.emplace_back(each);
      list += ", ?";
    }
    return fmt::format("{} IN ({})", column, list);
  };
  std::string statement = fmt::format(
      "{}WHERE p.linked = 1 AND p.hidden IS NULL AND a.disabled = 0 AND (p.due <= ? OR p.due > ?) AND "
      "NOT {} ",
      kProject, among("p.name", polls.projects));
  const std::string busy = among("a.name", polls.owners);
  statement += polls.others_only ? fmt::format("AND NOT {} ORDER BY p.due LIMIT 1", busy)
                                 : fmt::format("ORDER BY {}, p.due LIMIT 1", busy);
  std::optional<Project> due;
  Status done = writing([&](Database& db) -> Status {
    MIST_TRY_VOID(db.query(statement, std::span<const sql::Param>(values),
                           [&](const Row& row) { due = project_in(row); }));
    if (!due) return {};
    MIST_TRY_VOID(db.run("UPDATE projects SET due = ? WHERE id = ?", {now() + milliseconds(again), due->id}));
    return {};
  });
  if (!done.ok()) return std::move(done).error();
  return due;
}

Status SqlStore::note_poll(const Project& of, const std::string& problem, Duration next) {
  // A poll that was asked for meanwhile (ask_poll: due is 0) takes place.
  return writing([&](Database& db) -> Status {
    MIST_TRY_VOID(
        db.run("UPDATE projects SET polled = ?1, problem = ?2, due = CASE due WHEN 0 THEN 0 ELSE "
               "?3 END WHERE name = ?4 AND linked = 1 AND url = ?5 AND account = "
               "(SELECT id FROM accounts WHERE name = ?6)",
               {now(), problem, now() + milliseconds(next), of.name, of.url, of.owner}));
    return {};
  });
}

Status SqlStore::ask_poll(const std::string& name) {
  return changes_one("UPDATE projects SET due = 0 WHERE name = ? AND linked = 1", {name},
                     not_there("project", name));
}

Result<std::optional<SqlStore::Standing>> SqlStore::standing(const std::string& package) {
  std::optional<Standing> found;
  MIST_TRY_VOID(
      read("SELECT a.name, p.hidden, "
           "(SELECT count(*) FROM (SELECT 1 FROM versions WHERE project = p.id AND review = 0 LIMIT 1) r) "
           "FROM projects p JOIN accounts a ON a.id = p.account WHERE p.name = ? AND "
           "EXISTS (SELECT 1 FROM versions WHERE project = p.id)",
           {package}, [&](const Row& row) {
             found = Standing{.owner = row.text(0), .hidden = {}, .has_published = row.integer(2) > 0};
             if (!row.is_null(1)) found->hidden = row.text(1);
           }));
  return found;
}

Status SqlStore::hide_package(const std::string& package, const std::string& moderator,
                              const std::string& why, const Audit& audit) {
  return changing_package(
      "UPDATE projects SET hidden = ?1 WHERE name = ?2 AND EXISTS (SELECT 1 FROM versions WHERE project = "
      "projects.id) RETURNING id",
      {why, package}, not_there("package", package), audit,
      [&](Database& db, std::int64_t project) -> Status {
        MIST_TRY_VOID(
            db.run("UPDATE reports SET closed = ?, closed_by = ?, decision = ? WHERE project = ? AND "
                   "quoted = '' AND closed IS NULL",
                   {now(), moderator, "hidden: " + why, project}));
        return {};
      });
}

Status SqlStore::show_package(const std::string& package, const Audit& audit) {
  // Tags that came meanwhile are looked for now.
  return changing_package(
      "UPDATE projects SET hidden = NULL, due = CASE linked WHEN 1 THEN 0 END "
      "WHERE name = ? AND hidden IS NOT NULL RETURNING id",
      {package}, not_there("hidden package", package), audit);
}

Status SqlStore::hide_version(const std::string& package, const std::string& version, const std::string& why,
                              const Audit& audit) {
  return changing_package(
      "UPDATE versions SET hidden = ?1 "
      "WHERE version = ?3 AND project = (SELECT id FROM projects WHERE name = ?2) RETURNING project",
      {why, package, version}, not_there("version", fmt::format("{} {}", package, version)), audit);
}

Status SqlStore::show_version(const std::string& package, const std::string& version, const Audit& audit) {
  return changing_package(
      "UPDATE versions SET hidden = NULL WHERE version = ?2 AND "
      "project = (SELECT id FROM projects WHERE name = ?1) AND hidden IS NOT NULL RETURNING project",
      {package, version}, not_there("hidden version", fmt::format("{} {}", package, version)), audit);
}

Status SqlStore::review(const std::string& package, const std::string& version,
                        const std::optional<std::string>& why_not, const Audit& audit) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const Found found, find_version(db, package, version));
    MIST_TRY(const std::int64_t changed,
             db.run(why_not ? "UPDATE versions SET review = 2, rejected = ?2 WHERE id = ?1 AND review = 1"
                            : "UPDATE versions SET review = 0, rejected = ?2 WHERE id = ?1 AND review <> 0",
                    {found.version, why_not.value_or("")}));
    if (changed == 0)
      return error(ErrorKind::Conflict, "{} {} doesn't await a review", package, version)
          .with_hint(why_not ? "one that is published can be yanked or hidden" : "it is published");
    MIST_TRY_VOID(note(db, audit));
    MIST_TRY_VOID(list_again(db, found.project));
    return index_changed(db);
  });
}

Result<Slice<ReviewedVersion>> SqlStore::reviews(const std::string& owner, const Page& page) {
  Slice<ReviewedVersion> slice;
  MIST_TRY_VOID(read(
      fmt::format("SELECT {}, a.name FROM versions v JOIN projects p ON p.id = v.project JOIN accounts a "
                  "ON a.id = p.account WHERE v.review <> 0 AND v.id > ?1 AND ((?2 = '' AND {}) OR "
                  "a.name = ?2) ORDER BY v.id LIMIT ?3",
                  kBrief, kAwaitsModerators),
      {number_in(page.after), owner, page.limit + 1}, [&](const Row& row) {
        slice.items.push_back({.version = brief_in(row), .owner = row.text(kBriefColumns)});
      }));
  cut(slice, page, [](const ReviewedVersion& last) { return std::to_string(last.version.id); });
  return slice;
}

Result<std::int64_t> SqlStore::count_reviews() {
  std::int64_t count = 0;
  MIST_TRY_VOID(read(fmt::format("SELECT count(*) FROM versions v JOIN projects p ON p.id = v.project WHERE "
                                 "v.review <> 0 AND {}",
                                 kAwaitsModerators),
                     {}, [&](const Row& row) { count = row.integer(0); }));
  return count;
}

Result<std::map<std::string, std::string>> SqlStore::commits(const std::string& package) {
  std::map<std::string, std::string> found;
  MIST_TRY_VOID(
      read("SELECT v.version, v.\"commit\" FROM versions v JOIN projects p ON p.id = v.project "
           "WHERE p.name = ?",
           {package}, [&](const Row& row) { found.emplace(row.text(0), row.text(1)); }));
  return found;
}

Result<Submitted> SqlStore::submit(const NewVersion& wanted, const Audit& audit) {
  Submitted outcome = Submitted::Taken;
  Status done = writing([&](Database& db) -> Status {
    std::optional<std::int64_t> project;
    // Somebody else may have linked the name since the version was read, or its account was disabled.
    MIST_TRY_VOID(db.query(
        "SELECT p.id FROM projects p JOIN accounts a ON a.id = p.account WHERE p.name = ?1 AND "
        "p.linked = 1 AND a.disabled = 0 AND (?2 = '' OR (a.name = ?2 AND p.url = ?3))",
        {wanted.package, wanted.owner, wanted.url}, [&](const Row& row) { project = row.integer(0); }));
    if (!project) return not_there("project", wanted.package);
    std::optional<std::string> known;
    MIST_TRY_VOID(db.query("SELECT \"commit\" FROM versions WHERE project = ? AND version = ?",
                           {*project, wanted.version}, [&](const Row& row) { known = row.text(0); }));
    if (known) {
      outcome = *known == wanted.commit ? Submitted::Known : Submitted::Changed;
      return {};
    }
    std::int64_t count = 0;
    MIST_TRY_VOID(db.query("SELECT count(*) FROM versions WHERE project = ?", {*project},
                           [&](const Row& row) { count = row.integer(0); }));
    if (count >= kVersionsOfAProject)
      return error(ErrorKind::Conflict, "{} {} isn't taken: a package may have {} versions, and it has them",
                   wanted.package, wanted.version, kVersionsOfAProject)
          .with_hint(std::string(kHintOfAFullProject));
    const bool readable = !wanted.digest.empty();
    const auto state = readable ? VersionState::Queued : VersionState::Failed;
    const std::string facts = encoding::to_json(wanted.facts.to_value());
    bool awaits_review = wanted.review == ReviewPolicy::EveryVersion;
    if (wanted.review == ReviewPolicy::FirstVersion) {
      awaits_review = true;
      MIST_TRY_VOID(db.query("SELECT 1 FROM versions WHERE project = ? AND review = 0 LIMIT 1", {*project},
                             [&](const Row&) { awaits_review = false; }));
    }
    MIST_TRY(const std::int64_t place, place_for(db, *project, wanted.version));
    MIST_TRY(
        const std::int64_t version,
        new_id(
            db,
            "INSERT INTO versions (project, version, place, tag, \"commit\", digest, state, "
            "created, facts, readme, k3, review) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            {*project, wanted.version, place, wanted.tag, wanted.commit, wanted.digest,
             static_cast<int>(state), now(), facts, wanted.readme, wanted.facts.k3, awaits_review ? 1 : 0}));
    MIST_TRY(const std::int64_t job,
             new_id(db, "INSERT INTO jobs (version, open, attempt, created) VALUES (?, ?, ?, ?) RETURNING id",
                    {version, readable ? 1 : 0, readable ? 0 : 1, now()}));
    if (wanted.why_not) MIST_TRY_VOID(insert_step(db, job, 1, *wanted.why_not));
    MIST_TRY_VOID(note(db, audit));
    return list_again(db, *project);
  });
  if (!done.ok()) return std::move(done).error();
  return outcome;
}

Result<std::vector<VersionBrief>> SqlStore::versions(const std::string& package) {
  std::vector<VersionBrief> found;
  MIST_TRY_VOID(read(fmt::format("SELECT {} {} ORDER BY v.place DESC", kBrief, kVersionsOf), {package},
                     [&](const Row& row) { found.push_back(brief_in(row)); }));
  return found;
}

Result<std::optional<Version>> SqlStore::version(const std::string& package, const std::string& version) {
  std::optional<Version> found;
  MIST_TRY_VOID(read(fmt::format("SELECT {}, v.facts, v.readme {} AND v.version = ?", kBrief, kVersionsOf),
                     {package, version}, [&](const Row& row) { found = version_in(row); }));
  return found;
}

Status SqlStore::yank(const std::string& package, const std::string& version,
                      const std::optional<std::string>& why, const Audit& audit, YankedBy by) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const Found found, find_version(db, package, version));
    std::optional<std::string> by_moderator;
    MIST_TRY_VOID(db.query(
        "SELECT yanked FROM versions WHERE id = ? AND yanked IS NOT NULL AND yanked_by_moderator = 1",
        {found.version}, [&](const Row& row) { by_moderator = row.text(0); }));
    if (by_moderator && by == YankedBy::Author)
      return error(ErrorKind::Forbidden, "a moderator yanked {} {}, so only a moderator changes that",
                   package, version)
          .with_because(*by_moderator)
          .with_hint("ask the moderators of this catalog");
    MIST_TRY_VOID(note(db, audit));
    MIST_TRY_VOID(db.run("UPDATE versions SET yanked = ?, yanked_by_moderator = ? WHERE id = ?",
                         {why, why && by == YankedBy::Moderator ? 1 : 0, found.version}));
    MIST_TRY_VOID(list_again(db, found.project));
    return index_changed(db);
  });
}

Result<SqlStore::Found> SqlStore::find_version(Database& db, const std::string& package,
                                               const std::string& version) {
  std::optional<Found> found;
  MIST_TRY_VOID(db.query(
      "SELECT v.id, v.project, v.digest, v.review FROM versions v JOIN projects p ON p.id = "
      "v.project WHERE p.name = ? AND v.version = ?",
      {package, version}, [&](const Row& row) {
        found = Found{row.integer(0), row.integer(1), row.text(2), static_cast<Review>(row.integer(3))};
      }));
  if (!found) return not_there("version", fmt::format("{} {}", package, version));
  return *std::move(found);
}

Status SqlStore::index_changed(Database& db) {
  MIST_TRY_VOID(db.run("UPDATE counters SET value = value + 1 WHERE name = 'index'"));
  return {};
}

Status SqlStore::changing_package(std::string_view sql, sql::Params params, const Error& otherwise,
                                  const Audit& audit,
                                  const std::function<Status(Database&, std::int64_t)>& then) {
  return writing([&](Database& db) -> Status {
    MIST_TRY(const std::int64_t project, new_id(db, sql, params));
    if (project == 0) return otherwise;
    if (then) MIST_TRY_VOID(then(db, project));
    MIST_TRY_VOID(note(db, audit));
    MIST_TRY_VOID(list_again(db, project));
    return index_changed(db);
  });
}

Result<std::int64_t> SqlStore::place_for(Database& db, std::int64_t project, const std::string& version) {
  std::vector<Placed> order;
  MIST_TRY_VOID(
      db.query("SELECT id, version, place FROM versions WHERE project = ?", {project}, [&](const Row& row) {
        order.push_back({.version = semver_of(row.text(1)), .id = row.integer(0), .place = row.integer(2)});
      }));
  std::ranges::sort(order, [](const Placed& a, const Placed& b) {
    return a.version == b.version ? a.id < b.id : a.version < b.version;
  });
  const auto next = std::ranges::upper_bound(order, semver_of(version), {}, &Placed::version);
  if (order.empty()) return std::int64_t{0};
  if (next == order.end()) return order.back().place + kBetweenPlaces;
  if (next == order.begin()) return next->place - kBetweenPlaces;
  const std::int64_t before = std::prev(next)->place;
  if (next->place - before > 1) return std::midpoint(before, next->place);
  const std::int64_t of_new = (next - order.begin()) * kBetweenPlaces;
  std::int64_t place = 0;
  for (const Placed& each : order) {
    if (place == of_new) place += kBetweenPlaces;
    MIST_TRY_VOID(db.run("UPDATE versions SET place = ? WHERE id = ?", {place, each.id}));
    place += kBetweenPlaces;
  }
  return of_new;
}

Status SqlStore::list_again(Database& db, std::int64_t project) const {
  std::int64_t version = 0;
  std::string name;
  PackageFacts facts;
  MIST_TRY_VOID(
      db.query("SELECT v.id, p.name, v.facts FROM versions v JOIN projects p ON p.id = v.project WHERE "
               "v.project = ? AND v.hidden IS NULL AND v.review = 0 AND p.hidden IS NULL "
               "ORDER BY v.state = 2 AND v.yanked IS NULL DESC, "
               // A release has no "-", or only after "+".
               "v.state = 2 AND v.yanked IS NULL AND v.version NOT LIKE '%-%+%' AND "
               "(v.version NOT LIKE '%-%' OR v.version LIKE '%+%-%') DESC, "
               "v.place DESC LIMIT 1",
               {project}, [&](const Row& row) {
                 version = row.integer(0);
                 name = row.text(1);
                 if (const auto value = encoding::parse_json(row.text(2)); value.ok())
                   facts = PackageFacts::from_value(*value);
               }));
  const Dialect& dialect = connections_->dialect();
  MIST_TRY_VOID(db.run(fmt::format("DELETE FROM words WHERE {} = ?", dialect.words_key), {project}));
  if (version == 0) {
    MIST_TRY_VOID(db.run("DELETE FROM listed WHERE project = ?", {project}));
    return {};
  }
  MIST_TRY_VOID(
      db.run("INSERT INTO listed (project, name, version, description, format, state) "
             "SELECT ?1, ?2, ?3, ?4, ?5, state FROM versions WHERE id = ?3 "
             "ON CONFLICT (project) DO UPDATE SET version = excluded.version, "
             "description = excluded.description, format = excluded.format, state = excluded.state",
             {project, name, version, facts.description, facts.format}));
  MIST_TRY_VOID(db.run(dialect.add_words, {project, name, facts.description, facts.details}));
  return {};
}

Status SqlStore::list_past_yanked(Database& db) const {
  MIST_TRY(const std::int64_t is_first,
           db.run("INSERT INTO settings VALUES ('listed_past_yanked', '') ON CONFLICT DO NOTHING"));
  if (is_first == 0) return {};
  std::vector<std::int64_t> projects;
  MIST_TRY_VOID(db.query(
      "SELECT l.project FROM listed l JOIN versions v ON v.id = l.version WHERE v.yanked IS NOT NULL", {},
      [&](const Row& row) { projects.push_back(row.integer(0)); }));
  for (const std::int64_t each : projects) MIST_TRY_VOID(list_again(db, each));
  return {};
}

Result<std::unique_ptr<Store>> open_store(std::shared_ptr<SqlConnections> connections, const Clock& clock,
                                          Random& random) {
  auto store = std::make_unique<SqlStore>(std::move(connections), clock);
  MIST_TRY_VOID(store->create(random));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace mist::catalog
