// Lists, searches, the index and downloads of sql_store_class.h.

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/cut_text.h"
#include "base/text.h"
#include "catalog/sql_store_class.h"
#include "encoding/json.h"

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

Listed listed_in(const Row& row) {
  return {.package = row.text(0),
          .version = row.text(1),
          .description = cut_text(row.text(2), Listed::kDescription),
          .state = static_cast<VersionState>(row.integer(3)),
          .created = time_of(row.integer(4))};
}

constexpr std::string_view kListed =
    "SELECT l.name, v.version, l.description, v.state, v.created FROM listed l "
    "JOIN versions v ON v.id = l.version ";

// ?2 the format, ?3 the number of the state.
constexpr std::string_view kNarrowed = "(?2 = '' OR l.format = ?2) AND (?3 < 0 OR l.state = ?3)";

// Of the graph of a version's objects (version_objects.h): each kind once, by name.
std::vector<std::string> kinds_in(const std::string& graph) {
  std::set<std::string> kinds;
  const auto parsed = encoding::parse_json(graph);
  const Value* const nodes = parsed.ok() ? parsed->find("nodes") : nullptr;
  if (nodes == nullptr || !nodes->is_array()) return {};
  for (const Value& each : nodes->as_array())
    if (each.string_at("role") == "object") kinds.emplace(each.string_at("kind"));
  return {kinds.begin(), kinds.end()};
}

search::Entry search_entry(std::string package, std::string version, std::string digest,
                           const std::string& facts, const std::string& graph) {
  search::Entry entry{.path = std::move(package),
                      .version = std::move(version),
                      .digest = std::move(digest),
                      .title = {},
                      .description = {},
                      .home = {},
                      .format = {},
                      .versions = {},
                      .keywords = {},
                      .maintainers = {},
                      .kinds = kinds_in(graph)};
  entry.title = entry.path;
  // Our own text; a damaged one is of a package that says nothing.
  if (const auto value = encoding::parse_json(facts); value.ok()) {
    PackageFacts said = PackageFacts::from_value(*value);
    entry.description = std::move(said.description);
    entry.home = std::move(said.home);
    entry.format = std::move(said.format);
    entry.maintainers = std::move(said.maintainers);
  }
  return entry;
}

int number_of(const std::optional<VersionState>& state) { return state ? static_cast<int>(*state) : -1; }

}  // namespace

Result<Slice<Listed>> SqlStore::search(const std::string& query, const Narrowing& narrowing,
                                       const Page& page) {
  Slice<Listed> slice;
  const std::vector<std::string> words = words_of(query);
  if (words.empty() && !query.empty()) return slice;
  const auto add = [&](const Row& row) { slice.items.push_back(listed_in(row)); };
  const int state = number_of(narrowing.state);
  if (words.empty()) {
    MIST_TRY_VOID(read(fmt::format("{}WHERE l.name > ?1 AND {} ORDER BY l.name LIMIT ?4", kListed, kNarrowed),
                       {page.after, narrowing.format, state, page.limit + 1}, add));
    cut(slice, page, [](const Listed& last) { return last.package; });
    return slice;
  }
  // A place is how many came before it.
  const std::int64_t skipped = number_in(page.after);
  MIST_TRY(const BoundedMatch match, bounded_match(words));
  // The versions' large rows are looked at only of what is shown.
  MIST_TRY_VOID(read(
      fmt::format(
          "SELECT l.name, v.version, l.description, v.state, v.created FROM (SELECT l.name, l.description, "
          "l.version, f.score FROM ({}) f JOIN listed l ON l.project = f.project WHERE {} ORDER BY "
          "f.score, "
          "l.name LIMIT ?4 OFFSET ?5) l JOIN versions v ON v.id = l.version ORDER BY l.score, l.name",
          connections_->dialect().ranked(match.where), kNarrowed),
      {match.value, narrowing.format, state, page.limit + 1, skipped, kMostRanked}, add));
  cut(slice, page, [&](const Listed&) { return std::to_string(skipped + page.limit); });
  return slice;
}

Result<Facets> SqlStore::facets(const std::string& query, const Narrowing& narrowing) {
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
                    dialect.words_key, dialect.is_found(WordsIn::Anywhere)),
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

Result<std::vector<Listed>> SqlStore::newest(int limit) {
  std::vector<Listed> found;
  // CROSS: from the newest version on, by its index, and no further than needed.
  MIST_TRY_VOID(
      read("SELECT l.name, v.version, l.description, v.state, v.created FROM versions v "
           "CROSS JOIN listed l WHERE l.version = v.id ORDER BY v.created DESC, l.name LIMIT ?",
           {limit}, [&](const Row& row) { found.push_back(listed_in(row)); }));
  return found;
}

Result<SqlStore::Counts> SqlStore::counts() {
  const std::lock_guard lock(counts_mutex_);
  const SteadyTime now = clock_.steady_now();
  if (counts_ && now - counts_->first < kCountsAge) return counts_->second;
  Counts counts;
  MIST_TRY_VOID(read(
      "SELECT (SELECT count(*) FROM listed), count(*), count(*) FILTER (WHERE state = 2), "
      "(SELECT count(*) FROM jobs WHERE open = 1) FROM versions",
      {},
      [&](const Row& row) { counts = {row.integer(0), row.integer(1), row.integer(2), row.integer(3)}; }));
  counts_ = {now, counts};
  return counts;
}

Result<std::int64_t> SqlStore::index_revision() {
  std::int64_t revision = 0;
  MIST_TRY_VOID(read("SELECT value FROM counters WHERE name = 'index'", {},
                     [&](const Row& row) { revision = row.integer(0); }));
  return revision;
}

Result<std::pair<std::int64_t, std::vector<IndexEntry>>> SqlStore::index() {
  std::pair<std::int64_t, std::vector<IndexEntry>> index;
  const SqlConnections::Borrowed connection(*connections_);
  MIST_TRY(Database* const db, connection.database());
  Status done = db->reading([&]() -> Status {
    MIST_TRY_VOID(db->query("SELECT value FROM counters WHERE name = 'index'", {},
                            [&](const Row& row) { index.first = row.integer(0); }));
    return db->query(
        "SELECT p.name, v.version, v.digest, v.k3, v.yanked FROM versions v "
        "JOIN projects p ON p.id = v.project WHERE v.state = 2 AND v.k3 <> '' AND v.hidden IS NULL AND "
        "v.review = 0 AND "
        "p.hidden IS NULL ORDER BY p.name, v.place",
        {}, [&](const Row& row) {
          index.second.push_back({row.text(0), row.text(1), row.text(2), row.text(3),
                                  row.is_null(4) ? std::nullopt : std::optional(row.text(4))});
        });
  });
  if (!done.ok()) return std::move(done).error();
  return index;
}

Result<std::pair<std::int64_t, std::vector<search::Entry>>> SqlStore::search_index() {
  std::pair<std::int64_t, std::vector<search::Entry>> index;
  std::vector<search::Entry>& entries = index.second;
  const SqlConnections::Borrowed connection(*connections_);
  MIST_TRY(Database* const db, connection.database());
  Status done = db->reading([&]() -> Status {
    MIST_TRY_VOID(db->query("SELECT value FROM counters WHERE name = 'index'", {},
                            [&](const Row& row) { index.first = row.integer(0); }));
    MIST_TRY_VOID(db->query(
        "SELECT l.name, v.version, v.digest, v.facts, coalesce((SELECT r.objects FROM jobs j JOIN runs r "
        "ON r.job = j.id AND r.attempt = j.attempt WHERE j.version = v.id AND j.attempt > 0 "
        "ORDER BY j.open, j.id DESC LIMIT 1), '') FROM listed l JOIN versions v ON v.id = l.version "
        "WHERE v.state = 2 AND v.yanked IS NULL AND v.digest <> '' ORDER BY l.name",
        {}, [&](const Row& row) {
          entries.push_back(search_entry(row.text(0), row.text(1), row.text(2), row.text(3), row.text(4)));
        }));
    auto entry = entries.begin();
    return db->query(
        "SELECT l.name, v.version FROM listed l JOIN versions v ON v.project = l.project WHERE v.state = 2 "
        "AND v.yanked IS NULL AND v.hidden IS NULL AND v.review = 0 AND v.digest <> '' ORDER BY l.name, "
        "v.place DESC",
        {}, [&](const Row& row) {
          const std::string name = row.text(0);
          while (entry != entries.end() && entry->path < name) ++entry;
          if (entry == entries.end() || entry->path != name) return;
          if (entry->versions.size() < kVersionsInSearch) entry->versions.push_back(row.text(1));
        });
  });
  if (!done.ok()) return std::move(done).error();
  return index;
}

Result<bool> SqlStore::has_blob(const std::string& digest) {
  bool found = false;
  std::optional<Error> gone;
  MIST_TRY_VOID(
      read("SELECT p.name, v.version, v.hidden, p.hidden FROM versions v JOIN projects p ON p.id = v.project "
           "WHERE v.digest = ? AND v.digest <> '' AND v.review = 0 ORDER BY p.hidden IS NULL AND v.hidden IS "
           "NULL DESC, v.id "
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

Status SqlStore::add_downloads(const std::vector<DownloadCount>& counts) {
  return writing([&](Database& db) -> Status {
    for (const DownloadCount& each : counts) {
      std::optional<std::int64_t> version;
      MIST_TRY_VOID(db.query("SELECT id FROM versions WHERE digest = ? AND digest <> '' ORDER BY id LIMIT 1",
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

Result<std::vector<DownloadsOfDay>> SqlStore::downloads(const std::string& package, std::int64_t since) {
  std::vector<DownloadsOfDay> found;
  MIST_TRY_VOID(
      read("SELECT d.day, v.version, d.count FROM projects p JOIN versions v ON v.project = p.id "
           "JOIN downloads d ON d.version = v.id AND d.day >= ? WHERE p.name = ? ORDER BY d.day DESC, "
           "v.place DESC",
           {since, package},
           [&](const Row& row) { found.push_back({row.integer(0), row.text(1), row.integer(2)}); }));
  return found;
}

Status SqlStore::add_installs(const std::vector<DownloadCount>& counts) {
  return writing([&](Database& db) -> Status {
    for (const DownloadCount& each : counts)
      MIST_TRY_VOID(db.run(
          "INSERT INTO installs (version, day, count) SELECT id, ?2, ?3 FROM versions WHERE digest = ?1 "
          "AND digest <> '' ORDER BY id LIMIT 1 ON CONFLICT (version, day) DO UPDATE SET "
          "count = installs.count + excluded.count",
          {each.digest, each.day, each.count}));
    return {};
  });
}

Result<SqlStore::Installs> SqlStore::installs(const std::string& package, std::int64_t since) {
  Installs found;
  // The sums of PostgreSQL are NUMERIC.
  MIST_TRY_VOID(
      read("SELECT CAST(coalesce(sum(i.count), 0) AS BIGINT), "
           "CAST(coalesce(sum(CASE WHEN i.day >= ?1 THEN i.count ELSE 0 END), 0) AS BIGINT) "
           "FROM projects p JOIN versions v ON v.project = p.id JOIN installs i ON i.version = v.id WHERE "
           "p.name = ?2",
           {since, package},
           [&](const Row& row) { found = {.total = row.integer(0), .recent = row.integer(1)}; }));
  return found;
}

Result<SqlStore::BoundedMatch> SqlStore::bounded_match(std::span<const std::string> words) {
  const Dialect& dialect = connections_->dialect();
  BoundedMatch match;
  for (const WordsIn where : {WordsIn::Anywhere, WordsIn::NameOrDescription, WordsIn::Name}) {
    BoundedMatch narrower{dialect.match(words, where), where};
    std::int64_t count = 0;
    MIST_TRY_VOID(read(fmt::format("SELECT count(*) FROM (SELECT 1 FROM words w WHERE {} LIMIT ?2) f",
                                   dialect.is_found(where)),
                       {narrower.value, kMostRanked + 1}, [&](const Row& row) { count = row.integer(0); }));
    if (where != WordsIn::Anywhere && count < kFewFound) break;
    match = std::move(narrower);
    if (count <= kMostRanked) break;
  }
  return match;
}

}  // namespace mist::catalog
