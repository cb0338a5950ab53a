#include "catalog/sql_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.h"
#include "catalog/sql_connections.h"
#include "catalog/sql_rows.h"
#include "encoding/json.h"
#include "encoding/semver.h"
#include "sql/database.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using sql::Database;
using sql::Row;

// Of a query: of letters and digits, and of all that isn't ASCII.
std::vector<std::string> words_of(std::string_view query) {
  std::vector<std::string> words;
  std::string word;
  const auto add = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : query) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0)
      word += c;
    else
      add();
  }
  add();
  return words;
}

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

constexpr std::string_view kVersion =
    "SELECT v.id, p.name, v.version, v.tag, v.\"commit\", v.digest, v.state, v.yanked, v.created, v.facts, "
    "v.readme, v.downloads, p.hidden, v.hidden FROM versions v JOIN projects p ON p.id = v.project ";

Version version_in(const Row& row) {
  Version version{.id = row.integer(0),
                  .package = row.text(1),
                  .version = row.text(2),
                  .tag = row.text(3),
                  .commit = row.text(4),
                  .digest = row.text(5),
                  .state = static_cast<VersionState>(row.integer(6)),
                  .created = time_of(row.integer(8)),
                  .readme = row.text(10),
                  .downloads = row.integer(11)};
  if (!row.is_null(7)) version.yanked = row.text(7);
  version.is_package_hidden = !row.is_null(12);
  if (version.is_package_hidden || !row.is_null(13))
    version.hidden = row.text(version.is_package_hidden ? 12 : 13);
  // Our own text; a damaged one shows as a package that says nothing.
  if (const auto facts = encoding::parse_json(row.text(9)); facts.ok())
    version.facts = PackageFacts::from_value(*facts);
  return version;
}

Listed listed_in(const Row& row) {
  return {.package = row.text(0),
          .version = row.text(1),
          .description = row.text(2),
          .state = static_cast<VersionState>(row.integer(3)),
          .created = time_of(row.integer(4))};
}

constexpr std::string_view kListed =
    "SELECT l.name, v.version, l.description, v.state, v.created FROM listed l "
    "JOIN versions v ON v.id = l.version ";

// ?2 the format, ?3 the number of the state.
constexpr std::string_view kNarrowed = "(?2 = '' OR l.format = ?2) AND (?3 < 0 OR l.state = ?3)";

int number_of(const std::optional<VersionState>& state) { return state ? static_cast<int>(*state) : -1; }

class SqlStore final : public Store {
 public:
  SqlStore(std::shared_ptr<SqlConnections> connections, const Clock& clock)
      : connections_(std::move(connections)), clock_(clock) {}

  Status create(Random& random) {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(
          db.run("INSERT INTO settings VALUES ('instance', ?) ON CONFLICT DO NOTHING", {random.token(4)}));
      return {};
    });
  }

  Result<std::string> instance() override {
    std::string name;
    MIST_TRY_VOID(read("SELECT value FROM settings WHERE name = 'instance'", {},
                       [&](const Row& row) { name = row.text(0); }));
    return name;
  }

  // Projects

  Result<Project> add_project(const NewProject& wanted) override {
    if (!is_dns1123_label(wanted.name))
      return error(ErrorKind::Invalid, "{} can't be the name of a package", escape_controls(wanted.name))
          .with_hint("lower case letters, digits and '-'");
    Status done = writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t account, account_id(db, wanted.owner));
      // A name stays with the account whose versions it has: nobody else continues them.
      MIST_TRY(
          const std::int64_t made,
          db.run("INSERT INTO projects (name, account, url, path, webhook_secret, created, due) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (name) DO UPDATE SET url = ?3, "
                 "path = ?4, webhook_secret = ?5, due = ?6, problem = '', linked = 1 "
                 "WHERE projects.linked = 0 AND projects.account = ?2",
                 {wanted.name, account, wanted.url, wanted.path, wanted.webhook_secret.reveal(), now()}));
      if (made == 0) return error(ErrorKind::Conflict, "the name {} is taken", wanted.name);
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    MIST_TRY(std::optional<Project> made, project(wanted.name));
    if (!made) return not_there("project", wanted.name);
    return *std::move(made);
  }

  Result<std::optional<Project>> project(const std::string& name) override {
    std::optional<Project> found;
    MIST_TRY_VOID(read(fmt::format("{}WHERE p.name = ? AND p.linked = 1", kProject), {name},
                       [&](const Row& row) { found = project_in(row); }));
    return found;
  }

  Result<Slice<Project>> projects(const std::string& owner, const Page& page) override {
    Slice<Project> slice;
    MIST_TRY_VOID(read(fmt::format("{}WHERE p.linked = 1 AND (?1 = '' OR a.name = ?1) AND p.name > ?2 "
                                   "ORDER BY p.name LIMIT ?3",
                                   kProject),
                       {owner, page.after, page.limit + 1},
                       [&](const Row& row) { slice.items.push_back(project_in(row)); }));
    cut(slice, page, [](const Project& last) { return last.name; });
    return slice;
  }

  Status remove_project(const std::string& name) override {
    return changes_one("UPDATE projects SET linked = 0, due = NULL WHERE name = ? AND linked = 1", {name},
                       not_there("project", name));
  }

  Result<std::vector<Project>> take_due_projects(Duration again, int limit) override {
    std::vector<Project> due;
    Status done = writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.query(
          fmt::format("{}WHERE p.linked = 1 AND p.hidden IS NULL AND p.due <= ? ORDER BY p.due LIMIT ?",
                      kProject),
          {now(), limit}, [&](const Row& row) { due.push_back(project_in(row)); }));
      for (const Project& each : due)
        MIST_TRY_VOID(
            db.run("UPDATE projects SET due = ? WHERE id = ?", {now() + milliseconds(again), each.id}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return due;
  }

  Status note_poll(const std::string& name, const std::string& problem, Duration next) override {
    // A poll that was asked for meanwhile (ask_poll: due is 0) takes place.
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(
          db.run("UPDATE projects SET polled = ?1, problem = ?2, due = CASE due WHEN 0 THEN 0 ELSE "
                 "?3 END WHERE name = ?4 AND linked = 1",
                 {now(), problem, now() + milliseconds(next), name}));
      return {};
    });
  }

  Status ask_poll(const std::string& name) override {
    return changes_one("UPDATE projects SET due = 0 WHERE name = ? AND linked = 1", {name},
                       not_there("project", name));
  }

  // Versions

  Result<std::optional<Standing>> standing(const std::string& package) override {
    std::optional<Standing> found;
    MIST_TRY_VOID(read(
        "SELECT a.name, p.hidden FROM projects p JOIN accounts a ON a.id = p.account WHERE p.name = ? AND "
        "EXISTS (SELECT 1 FROM versions WHERE project = p.id)",
        {package}, [&](const Row& row) {
          found = Standing{.owner = row.text(0)};
          if (!row.is_null(1)) found->hidden = row.text(1);
        }));
    return found;
  }

  Status hide_package(const std::string& package, const std::string& moderator,
                      const std::string& why) override {
    return changing_package(
        "UPDATE projects SET hidden = ?1 WHERE name = ?2 AND EXISTS (SELECT 1 FROM versions WHERE project = "
        "projects.id) RETURNING id",
        {why, package}, not_there("package", package), [&](Database& db, std::int64_t project) -> Status {
          MIST_TRY_VOID(
              db.run("UPDATE reports SET closed = ?, closed_by = ?, decision = ? WHERE project = ? AND "
                     "quoted = '' AND closed IS NULL",
                     {now(), moderator, "hidden: " + why, project}));
          return {};
        });
  }

  Status show_package(const std::string& package) override {
    // Tags that came meanwhile are looked for now.
    return changing_package(
        "UPDATE projects SET hidden = NULL, due = CASE linked WHEN 1 THEN 0 END "
        "WHERE name = ? AND hidden IS NOT NULL RETURNING id",
        {package}, not_there("hidden package", package));
  }

  Status hide_version(const std::string& package, const std::string& version,
                      const std::string& why) override {
    return changing_package(
        "UPDATE versions SET hidden = ?1 "
        "WHERE version = ?3 AND project = (SELECT id FROM projects WHERE name = ?2) RETURNING project",
        {why, package, version}, not_there("version", fmt::format("{} {}", package, version)));
  }

  Status show_version(const std::string& package, const std::string& version) override {
    return changing_package(
        "UPDATE versions SET hidden = NULL WHERE version = ?2 AND "
        "project = (SELECT id FROM projects WHERE name = ?1) AND hidden IS NOT NULL RETURNING project",
        {package, version}, not_there("hidden version", fmt::format("{} {}", package, version)));
  }

  Result<bool> has_tag(const std::string& package, const std::string& tag,
                       const std::string& commit) override {
    bool found = false;
    MIST_TRY_VOID(
        read("SELECT 1 FROM versions v JOIN projects p ON p.id = v.project WHERE p.name = ? AND "
             "v.tag = ? AND v.\"commit\" = ?",
             {package, tag, commit}, [&](const Row&) { found = true; }));
    return found;
  }

  Result<Submitted> submit(const NewVersion& wanted) override {
    Submitted outcome = Submitted::Taken;
    Status done = writing([&](Database& db) -> Status {
      std::optional<std::int64_t> project;
      MIST_TRY_VOID(db.query("SELECT id FROM projects WHERE name = ? AND linked = 1", {wanted.package},
                             [&](const Row& row) { project = row.integer(0); }));
      if (!project) return not_there("project", wanted.package);
      std::optional<std::string> known;
      MIST_TRY_VOID(db.query("SELECT \"commit\" FROM versions WHERE project = ? AND version = ?",
                             {*project, wanted.version}, [&](const Row& row) { known = row.text(0); }));
      if (known) {
        outcome = *known == wanted.commit ? Submitted::Known : Submitted::Changed;
        return {};
      }
      const bool readable = !wanted.digest.empty();
      const auto state = readable ? VersionState::Queued : VersionState::Failed;
      const std::string facts = encoding::to_json(wanted.facts.to_value());
      MIST_TRY(const std::int64_t version,
               new_id(db,
                      "INSERT INTO versions (project, version, place, tag, \"commit\", digest, state, "
                      "created, facts, readme, k3) VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                      {*project, wanted.version, wanted.tag, wanted.commit, wanted.digest,
                       static_cast<int>(state), now(), facts, wanted.readme, wanted.facts.k3}));
      MIST_TRY_VOID(give_places(db, *project));
      MIST_TRY(
          const std::int64_t job,
          new_id(db, "INSERT INTO jobs (version, open, attempt, created) VALUES (?, ?, ?, ?) RETURNING id",
                 {version, readable ? 1 : 0, readable ? 0 : 1, now()}));
      if (wanted.why_not) MIST_TRY_VOID(insert_step(db, job, 1, *wanted.why_not));
      return list_again(db, *project);
    });
    if (!done.ok()) return std::move(done).error();
    return outcome;
  }

  Result<std::vector<Version>> versions(const std::string& package) override {
    std::vector<Version> found;
    MIST_TRY_VOID(read(fmt::format("{}WHERE p.name = ? ORDER BY v.place DESC", kVersion), {package},
                       [&](const Row& row) { found.push_back(version_in(row)); }));
    return found;
  }

  Result<std::optional<Version>> version(const std::string& package, const std::string& version) override {
    std::optional<Version> found;
    MIST_TRY_VOID(read(fmt::format("{}WHERE p.name = ? AND v.version = ?", kVersion), {package, version},
                       [&](const Row& row) { found = version_in(row); }));
    return found;
  }

  Status yank(const std::string& package, const std::string& version,
              const std::optional<std::string>& why) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY(const Found found, find_version(db, package, version));
      MIST_TRY_VOID(db.run("UPDATE versions SET yanked = ? WHERE id = ?", {why, found.version}));
      MIST_TRY_VOID(list_again(db, found.project));
      return index_changed(db);
    });
  }

  Result<Slice<Listed>> search(const std::string& query, const Narrowing& narrowing,
                               const Page& page) override {
    Slice<Listed> slice;
    const std::vector<std::string> words = words_of(query);
    if (words.empty() && !query.empty()) return slice;
    const auto add = [&](const Row& row) { slice.items.push_back(listed_in(row)); };
    const int state = number_of(narrowing.state);
    if (words.empty()) {
      MIST_TRY_VOID(
          read(fmt::format("{}WHERE l.name > ?1 AND {} ORDER BY l.name LIMIT ?4", kListed, kNarrowed),
               {page.after, narrowing.format, state, page.limit + 1}, add));
      cut(slice, page, [](const Listed& last) { return last.package; });
      return slice;
    }
    // A place is how many came before it.
    const std::int64_t skipped = number_in(page.after);
    MIST_TRY(const std::string match, bounded_match(words));
    // The versions' large rows are looked at only of what is shown.
    MIST_TRY_VOID(read(
        fmt::format(
            "SELECT l.name, v.version, l.description, v.state, v.created FROM (SELECT l.name, l.description, "
            "l.version, f.score FROM ({}) f JOIN listed l ON l.project = f.project WHERE {} ORDER BY "
            "f.score, "
            "l.name LIMIT ?4 OFFSET ?5) l JOIN versions v ON v.id = l.version ORDER BY l.score, l.name",
            connections_->dialect().ranked, kNarrowed),
        {match, narrowing.format, state, page.limit + 1, skipped, kMostRanked}, add));
    cut(slice, page, [&](const Listed&) { return std::to_string(skipped + page.limit); });
    return slice;
  }

  Result<Facets> facets(const std::string& query, const Narrowing& narrowing) override {
    const std::vector<std::string> words = words_of(query);
    Facets facets;
    if (words.empty() && !query.empty()) return facets;
    std::map<std::string, std::int64_t> formats;
    std::array<std::int64_t, 4> states{};
    std::int64_t counted = 0;
    const auto add = [&](const Row& row) {
      const std::string format = row.text(0);
      const auto state = static_cast<std::size_t>(row.integer(1));
      const std::int64_t count = row.integer(2);
      counted += count;
      if (state >= states.size()) return;
      const bool has_format = narrowing.format.empty() || narrowing.format == format;
      const bool has_state = !narrowing.state || static_cast<std::size_t>(*narrowing.state) == state;
      if (has_format && has_state) facets.found += count;
      if (has_state) formats[format] += count;
      if (has_format) states.at(state) += count;
    };
    if (words.empty()) {
      MIST_TRY_VOID(read("SELECT format, state, count(*) FROM listed GROUP BY format, state", {}, add));
    } else {
      const Dialect& dialect = connections_->dialect();
      MIST_TRY_VOID(read(
          fmt::format("SELECT l.format, l.state, count(*) FROM (SELECT w.{} AS project FROM words w WHERE {} "
                      "LIMIT ?2) f JOIN listed l ON l.project = f.project GROUP BY l.format, l.state",
                      dialect.words_key, dialect.is_found),
          {dialect.match(words, WordsIn::Anywhere), kMostCounted}, add));
      facets.more = counted >= kMostCounted;
    }
    for (const auto& [format, count] : formats)
      if (!format.empty()) facets.formats.push_back({format, count});
    std::ranges::stable_sort(facets.formats, std::ranges::greater(), &Facets::Count::count);
    for (std::size_t i = 0; i < states.size(); ++i)
      if (states.at(i) > 0)
        facets.states.push_back({std::string(to_string(static_cast<VersionState>(i))), states.at(i)});
    return facets;
  }

  Result<std::vector<Listed>> newest(int limit) override {
    std::vector<Listed> found;
    // CROSS: from the newest version on, by its index, and no further than needed.
    MIST_TRY_VOID(
        read("SELECT l.name, v.version, l.description, v.state, v.created FROM versions v "
             "CROSS JOIN listed l WHERE l.version = v.id ORDER BY v.created DESC, l.name LIMIT ?",
             {limit}, [&](const Row& row) { found.push_back(listed_in(row)); }));
    return found;
  }

  Result<Counts> counts() override {
    Counts counts;
    MIST_TRY_VOID(read(
        "SELECT (SELECT count(*) FROM listed), (SELECT count(*) FROM versions), "
        "(SELECT count(*) FROM versions WHERE state = 2), (SELECT count(*) FROM jobs WHERE open = 1)",
        {},
        [&](const Row& row) { counts = {row.integer(0), row.integer(1), row.integer(2), row.integer(3)}; }));
    return counts;
  }

  Result<std::int64_t> index_revision() override {
    std::int64_t revision = 0;
    MIST_TRY_VOID(read("SELECT value FROM counters WHERE name = 'index'", {},
                       [&](const Row& row) { revision = row.integer(0); }));
    return revision;
  }

  Result<std::pair<std::int64_t, std::vector<IndexEntry>>> index() override {
    std::pair<std::int64_t, std::vector<IndexEntry>> index;
    const SqlConnections::Borrowed connection(*connections_);
    MIST_TRY(Database* const db, connection.database());
    Status done = db->reading([&]() -> Status {
      MIST_TRY_VOID(db->query("SELECT value FROM counters WHERE name = 'index'", {},
                              [&](const Row& row) { index.first = row.integer(0); }));
      return db->query(
          "SELECT p.name, v.version, v.digest, v.k3, v.yanked FROM versions v "
          "JOIN projects p ON p.id = v.project WHERE v.state = 2 AND v.k3 <> '' AND v.hidden IS NULL AND "
          "p.hidden IS NULL ORDER BY p.name, v.place",
          {}, [&](const Row& row) {
            index.second.push_back({row.text(0), row.text(1), row.text(2), row.text(3),
                                    row.is_null(4) ? std::nullopt : std::optional(row.text(4))});
          });
    });
    if (!done.ok()) return std::move(done).error();
    return index;
  }

  Result<bool> has_blob(const std::string& digest) override {
    bool found = false;
    std::optional<Error> gone;
    MIST_TRY_VOID(read(
        "SELECT p.name, v.version, v.hidden, p.hidden FROM versions v JOIN projects p ON p.id = v.project "
        "WHERE v.digest = ? AND v.digest <> '' ORDER BY p.hidden IS NULL AND v.hidden IS NULL DESC, v.id "
        "LIMIT 1",
        {digest}, [&](const Row& row) {
          found = true;
          if (!row.is_null(2) || !row.is_null(3))
            gone = hidden_by_moderators(fmt::format("{} {}", row.text(0), row.text(1)),
                                        row.text(row.is_null(3) ? 2 : 3));
        }));
    if (gone) return *std::move(gone);
    return found;
  }

  // Downloads

  Status add_downloads(const std::vector<DownloadCount>& counts) override {
    return writing([&](Database& db) -> Status {
      for (const DownloadCount& each : counts) {
        std::optional<std::int64_t> version;
        MIST_TRY_VOID(
            db.query("SELECT id FROM versions WHERE digest = ? AND digest <> '' ORDER BY id LIMIT 1",
                     {each.digest}, [&](const Row& row) { version = row.integer(0); }));
        if (!version) continue;
        MIST_TRY_VOID(
            db.run("INSERT INTO downloads VALUES (?, ?, ?) ON CONFLICT (version, day) DO UPDATE SET "
                   "count = downloads.count + excluded.count",
                   {*version, each.day, each.count}));
        MIST_TRY_VOID(
            db.run("UPDATE versions SET downloads = downloads + ? WHERE id = ?", {each.count, *version}));
      }
      return {};
    });
  }

  Result<std::vector<DownloadsOfDay>> downloads(const std::string& package, std::int64_t since) override {
    std::vector<DownloadsOfDay> found;
    MIST_TRY_VOID(
        read("SELECT d.day, v.version, d.count FROM projects p JOIN versions v ON v.project = p.id "
             "JOIN downloads d ON d.version = v.id AND d.day >= ? WHERE p.name = ? ORDER BY d.day DESC, "
             "v.place DESC",
             {since, package},
             [&](const Row& row) { found.push_back({row.integer(0), row.text(1), row.integer(2)}); }));
    return found;
  }

  // The queue

  Result<std::optional<Job>> lease(const std::string& holder, Duration term) override {
    std::optional<Job> leased;
    Status done = writing([&](Database& db) -> Status {
      MIST_TRY_VOID(give_up_lost(db));
      std::int64_t version = 0;
      std::int64_t account = 0;
      MIST_TRY_VOID(
          db.query("SELECT j.id, j.attempt, p.name, v.version, v.digest, a.name, v.id, a.id "
                   "FROM jobs j JOIN versions v ON v.id = j.version "
                   "JOIN projects p ON p.id = v.project JOIN accounts a ON a.id = p.account "
                   "WHERE j.open = 1 AND (j.until IS NULL OR j.until <= ?) AND v.hidden IS NULL AND "
                   "p.hidden IS NULL ORDER BY a.served, j.id LIMIT 1",
                   {now()}, [&](const Row& row) {
                     leased = Job{.id = row.integer(0),
                                  .attempt = static_cast<int>(row.integer(1)) + 1,
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
          "hidden IS NULL ORDER BY place DESC LIMIT 1",
          {version}, [&](const Row& row) {
            leased->previous_version = row.text(0);
            leased->previous_digest = row.text(1);
          }));
      MIST_TRY_VOID(db.run("UPDATE jobs SET attempt = ?, holder = ?, until = ? WHERE id = ?",
                           {leased->attempt, holder, now() + milliseconds(term), leased->id}));
      MIST_TRY_VOID(db.run("INSERT INTO runs (job, attempt) VALUES (?, ?) ON CONFLICT DO NOTHING",
                           {leased->id, leased->attempt}));
      MIST_TRY_VOID(db.run("UPDATE versions SET state = 1 WHERE id = ?", {version}));
      MIST_TRY_VOID(db.run("UPDATE counters SET value = value + 1 WHERE name = 'served'"));
      MIST_TRY_VOID(db.run(
          "UPDATE accounts SET served = (SELECT value FROM counters WHERE name = 'served') WHERE id = ?",
          {account}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return leased;
  }

  Status renew(const Job& job, Duration term) override {
    return changes_one("UPDATE jobs SET until = ? WHERE id = ? AND attempt = ? AND holder = ? AND open = 1",
                       {now() + milliseconds(term), job.id, job.attempt, job.holder}, lost(job));
  }

  Status add_step(const Job& job, const Step& step) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(still_ours(db, job));
      return insert_step(db, job.id, job.attempt, step);
    });
  }

  Status note_nodes(const Job& job, const std::string& nodes) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(still_ours(db, job));
      MIST_TRY_VOID(
          db.run("UPDATE runs SET nodes = ? WHERE job = ? AND attempt = ?", {nodes, job.id, job.attempt}));
      return {};
    });
  }

  Status note_objects(const Job& job, const Value& graph, const Value& security,
                      const std::string& text) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(still_ours(db, job));
      MIST_TRY_VOID(
          db.run("UPDATE runs SET objects = ?, security = ?, text = ? WHERE job = ? AND attempt = ?",
                 {encoding::to_json(graph), encoding::to_json(security), text, job.id, job.attempt}));
      return {};
    });
  }

  Status finish(const Job& job, bool passed) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(still_ours(db, job));
      return end_job(db, job.id, passed ? VersionState::Passed : VersionState::Failed);
    });
  }

  Status give_back(const Job& job) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(still_ours(db, job));
      MIST_TRY_VOID(db.run("DELETE FROM steps WHERE job = ? AND attempt = ?", {job.id, job.attempt}));
      MIST_TRY_VOID(db.run("DELETE FROM runs WHERE job = ? AND attempt = ?", {job.id, job.attempt}));
      MIST_TRY_VOID(db.run("UPDATE jobs SET attempt = attempt - 1, holder = NULL, until = NULL WHERE id = ?",
                           {job.id}));
      MIST_TRY_VOID(db.run("UPDATE versions SET state = 0 WHERE id = (SELECT version FROM jobs WHERE id = ?)",
                           {job.id}));
      return {};
    });
  }

  Status test_again(const std::string& package, const std::string& version) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY(const Found found, find_version(db, package, version));
      if (found.digest.empty())
        return error(ErrorKind::Conflict, "{} {} can't be read, so it can't be tested", package, version)
            .with_hint("correct it and push another tag");
      MIST_TRY(const std::int64_t made,
               db.run("INSERT INTO jobs (version, created) SELECT ?1, ?2 WHERE NOT EXISTS "
                      "(SELECT 1 FROM jobs WHERE version = ?1 AND open = 1)",
                      {found.version, now()}));
      if (made == 0)
        return error(ErrorKind::Conflict, "{} {} is waiting for its test, or being tested", package, version);
      MIST_TRY_VOID(db.run("UPDATE versions SET state = 0 WHERE id = ?", {found.version}));
      MIST_TRY_VOID(list_again(db, found.project));
      return index_changed(db);
    });
  }

  Result<std::optional<Run>> last_run(const std::string& package, const std::string& version) override {
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
          "WHERE p.name = ? AND v.version = ? AND j.attempt > 0 ORDER BY j.id DESC LIMIT 1",
          {package, version}, [&](const Row& row) {
            job = row.integer(0);
            run = Run{.attempt = static_cast<int>(row.integer(1)), .nodes = row.text(2)};
            if (auto graph = encoding::parse_json(row.text(3)); graph.ok()) run->objects = *std::move(graph);
            if (auto report = encoding::parse_json(row.text(4)); report.ok())
              run->security = *std::move(report);
            run->text = row.text(5);
          }));
      if (!run) return {};
      return db->query(
          "SELECT name, state, summary, log, began, elapsed FROM steps WHERE job = ? AND attempt = ? "
          "ORDER BY number",
          {job, run->attempt}, [&](const Row& row) {
            run->steps.push_back({.name = row.text(0),
                                  .state = static_cast<StepState>(row.integer(1)),
                                  .summary = row.text(2),
                                  .log = row.text(3),
                                  .began = time_of(row.integer(4)),
                                  .elapsed = std::chrono::milliseconds(row.integer(5))});
          });
    });
    if (!done.ok()) return std::move(done).error();
    return run;
  }

  // The audit log

  Status audit(const AuditEntry& entry) override {
    return writing([&](Database& db) -> Status {
      MIST_TRY_VOID(db.run("INSERT INTO audit (time, who, what, subject, peer) VALUES (?, ?, ?, ?, ?)",
                           {now(), entry.who, entry.what, entry.subject, entry.peer}));
      return {};
    });
  }

  Result<Slice<AuditEntry>> audit_log(const AuditFilter& filter, const Page& page) override {
    Slice<AuditEntry> slice;
    std::vector<std::int64_t> ids;
    MIST_TRY_VOID(
        read("SELECT id, time, who, what, subject, peer FROM audit WHERE (?1 = '' OR id < ?2) AND "
             "(?4 = '' OR who = ?4) AND (?5 = '' OR what = ?5) AND (?6 = '' OR replace(subject, ?6, '') <> "
             "subject) "
             "ORDER BY id DESC LIMIT ?3",
             {page.after, number_in(page.after), page.limit + 1, filter.who, filter.what, filter.subject},
             [&](const Row& row) {
               ids.push_back(row.integer(0));
               slice.items.push_back(
                   {time_of(row.integer(1)), row.text(2), row.text(3), row.text(4), row.text(5)});
             }));
    cut(slice, page, [&](const AuditEntry&) { return std::to_string(ids[slice.items.size() - 1]); });
    return slice;
  }

 private:
  static constexpr std::int64_t kMostRanked = kMostCounted;
  static constexpr std::int64_t kFewFound = 100;

  struct Found {
    std::int64_t version = 0, project = 0;
    std::string digest;
  };

  std::int64_t now() const { return stamp(clock_.now()); }

  Status read(std::string_view sql, sql::Params params, const sql::OnRow& row) {
    return connections_->read(sql, params, row);
  }
  Status writing(const std::function<Status(Database&)>& work) { return connections_->writing(work); }
  Status changes_one(std::string_view sql, sql::Params params, const Error& otherwise) {
    return connections_->changes_one(sql, params, otherwise);
  }

  // Ranking costs as much as there are packages with the words. Where those are very many, it is enough to
  // rank those that have them in their name, or else in their description.
  Result<std::string> bounded_match(std::span<const std::string> words) {
    const Dialect& dialect = connections_->dialect();
    std::string match;
    for (const WordsIn where : {WordsIn::Anywhere, WordsIn::NameOrDescription, WordsIn::Name}) {
      std::string narrower = dialect.match(words, where);
      std::int64_t count = 0;
      MIST_TRY_VOID(read(
          fmt::format("SELECT count(*) FROM (SELECT 1 FROM words w WHERE {} LIMIT ?2) f", dialect.is_found),
          {narrower, kMostRanked + 1}, [&](const Row& row) { count = row.integer(0); }));
      if (where != WordsIn::Anywhere && count < kFewFound) break;
      match = std::move(narrower);
      if (count <= kMostRanked) break;
    }
    return match;
  }

  static Result<Found> find_version(Database& db, const std::string& package, const std::string& version) {
    std::optional<Found> found;
    MIST_TRY_VOID(
        db.query("SELECT v.id, v.project, v.digest FROM versions v JOIN projects p ON p.id = v.project "
                 "WHERE p.name = ? AND v.version = ?",
                 {package, version},
                 [&](const Row& row) { found = Found{row.integer(0), row.integer(1), row.text(2)}; }));
    if (!found) return not_there("version", fmt::format("{} {}", package, version));
    return *std::move(found);
  }

  static Status index_changed(Database& db) {
    MIST_TRY_VOID(db.run("UPDATE counters SET value = value + 1 WHERE name = 'index'"));
    return {};
  }

  // A statement that changes a package or one of its versions and returns the number of the project, and what
  // follows of it; `otherwise` if it changed nothing.
  Status changing_package(std::string_view sql, sql::Params params, const Error& otherwise,
                          const std::function<Status(Database&, std::int64_t)>& then = {}) {
    return writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t project, new_id(db, sql, params));
      if (project == 0) return otherwise;
      if (then) MIST_TRY_VOID(then(db, project));
      MIST_TRY_VOID(list_again(db, project));
      return index_changed(db);
    });
  }

  static Status give_places(Database& db, std::int64_t project) {
    std::vector<std::pair<encoding::SemVer, std::int64_t>> order;
    MIST_TRY_VOID(
        db.query("SELECT id, version FROM versions WHERE project = ?", {project}, [&](const Row& row) {
          auto version = encoding::SemVer::parse(row.text(1));
          order.emplace_back(version.ok() ? *std::move(version) : encoding::SemVer(), row.integer(0));
        }));
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.first == b.first ? a.second < b.second : a.first < b.first;
    });
    for (std::size_t i = 0; i < order.size(); ++i)
      MIST_TRY_VOID(db.run("UPDATE versions SET place = ? WHERE id = ?",
                           {static_cast<std::int64_t>(i), order[i].second}));
    return {};
  }

  // Which version stands for the package in lists, and the words by which it is found: of the newest release
  // that passed and isn't yanked, else of the newest prerelease that did, else of the newest. Nothing where
  // all is hidden.
  Status list_again(Database& db, std::int64_t project) const {
    std::int64_t version = 0;
    std::string name;
    PackageFacts facts;
    MIST_TRY_VOID(
        db.query("SELECT v.id, p.name, v.facts FROM versions v JOIN projects p ON p.id = v.project WHERE "
                 "v.project = ? AND v.hidden IS NULL AND p.hidden IS NULL "
                 "ORDER BY v.state = 2 AND v.yanked IS NULL DESC, "
                 // A release has no "-", or only after "+".
                 "v.state = 2 AND v.version NOT LIKE '%-%+%' AND "
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

  static Error lost(const Job& job) {
    return error(ErrorKind::Conflict, "the test of {} {} is somebody else's now", job.package, job.version);
  }

  static Status still_ours(Database& db, const Job& job) {
    bool ours = false;
    MIST_TRY_VOID(db.query("SELECT 1 FROM jobs WHERE id = ? AND attempt = ? AND holder = ? AND open = 1",
                           {job.id, job.attempt, job.holder}, [&](const Row&) { ours = true; }));
    if (!ours) return lost(job);
    return {};
  }

  static Status insert_step(Database& db, std::int64_t job, int attempt, const Step& step) {
    MIST_TRY_VOID(
        db.run("INSERT INTO steps SELECT ?1, ?2, 1 + coalesce((SELECT max(number) FROM steps WHERE "
               "job = ?1 AND attempt = ?2), 0), ?3, ?4, ?5, ?6, ?7, ?8",
               {job, attempt, step.name, static_cast<int>(step.state), step.summary, step.log,
                stamp(step.began), milliseconds(step.elapsed)}));
    return {};
  }

  Status end_job(Database& db, std::int64_t job, VersionState state) const {
    std::int64_t version = 0;
    std::int64_t project = 0;
    MIST_TRY_VOID(
        db.query("SELECT v.id, v.project FROM jobs j JOIN versions v ON v.id = j.version WHERE j.id = ?",
                 {job}, [&](const Row& row) {
                   version = row.integer(0);
                   project = row.integer(1);
                 }));
    MIST_TRY_VOID(db.run("UPDATE jobs SET open = 0, holder = NULL, until = NULL WHERE id = ?", {job}));
    MIST_TRY_VOID(db.run("UPDATE versions SET state = ? WHERE id = ?", {static_cast<int>(state), version}));
    MIST_TRY_VOID(list_again(db, project));
    return index_changed(db);
  }

  // A package at which each worker dies isn't given to a fourth.
  Status give_up_lost(Database& db) const {
    struct Lost {
      std::int64_t job = 0;
      int attempt = 0;
    };
    std::vector<Lost> lost;
    MIST_TRY_VOID(db.query(
        "SELECT id, attempt FROM jobs WHERE open = 1 AND until <= ? AND attempt >= ?", {now(), kMostAttempts},
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

  const std::shared_ptr<SqlConnections> connections_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::shared_ptr<SqlConnections> connections, const Clock& clock,
                                          Random& random) {
  auto store = std::make_unique<SqlStore>(std::move(connections), clock);
  MIST_TRY_VOID(store->create(random));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace mist::catalog
