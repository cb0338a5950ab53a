#include "catalog/sql_copy.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalog/model.h"
#include "catalog/sql_dialect.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Param;
using sql::Row;

struct CopiedTable {
  struct Column {
    std::string name;
    bool is_number = false;
  };
  std::string name;
  std::vector<Column> columns = {};

  // A new database has rows in them.
  bool has_own_rows() const { return name == "settings" || name == "counters"; }
  std::string column_list() const {
    std::vector<std::string> names;
    for (const Column& each : columns) names.push_back(fmt::format("\"{}\"", each.name));
    return join(names, ", ");
  }
};

// In an order in which each comes after those that it refers to: they were created so. Those of the full-text
// search are left out.
Result<std::vector<CopiedTable>> tables_of(Database& file) {
  std::vector<CopiedTable> tables;
  MIST_TRY_VOID(
      file.query("SELECT m.name FROM sqlite_master m JOIN pragma_table_list t ON t.name = m.name WHERE "
                 "t.schema = 'main' AND t.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY "
                 "m.rowid",
                 {}, [&](const Row& row) { tables.push_back({row.text(0)}); }));
  for (CopiedTable& each : tables)
    MIST_TRY_VOID(file.query("SELECT name, type FROM pragma_table_info(?)", {each.name}, [&](const Row& row) {
      each.columns.push_back({row.text(0), row.text(1) == "INTEGER"});
    }));
  return tables;
}

class RowCopy {
 public:
  RowCopy(const CopiedTable& table, Database& to, const Context& context)
      : table_(table), to_(to), context_(context), texts_(table.columns.size()) {
    insert_ = fmt::format("INSERT INTO {} ({}) VALUES (", table.name, table.column_list());
    for (std::size_t i = 0; i < table.columns.size(); ++i) insert_ += i == 0 ? "?" : ", ?";
    insert_ += ")";
  }

  // The first error ends it.
  void add(const Row& row) {
    if (!done_.ok()) return;
    done_ = context_.check();
    if (done_.ok()) done_ = insert(row);
  }
  Status done() const { return done_; }

 private:
  Status insert(const Row& row) {
    std::vector<Param> values;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const int column = static_cast<int>(i);
      if (row.is_null(column)) {
        values.emplace_back(nullptr);
      } else if (table_.columns[i].is_number) {
        values.emplace_back(row.integer(column));
      } else {
        texts_[i] = row.text(column);
        values.emplace_back(texts_[i]);
      }
    }
    MIST_TRY_VOID(
        to_.run(insert_, std::span<const Param>(values)).in(fmt::format("while copying {}", table_.name)));
    return {};
  }

  const CopiedTable& table_;
  Database& to_;
  const Context& context_;
  std::vector<std::string> texts_;
  std::string insert_;
  Status done_ = {};
};

// A new database's own rows make room for those that are copied.
Status make_room(const std::vector<CopiedTable>& tables, Database& to) {
  for (const CopiedTable& each : tables)
    if (each.has_own_rows()) MIST_TRY_VOID(to.run(fmt::format("DELETE FROM {}", each.name)));
  return {};
}

// The words by which packages are found: each database has its own form of them.
Status add_words(Database& file, Database& to, const Dialect& dialect, const Context& context) {
  Status done;
  MIST_TRY_VOID(file.query(
      "SELECT l.project, l.name, l.description, v.facts FROM listed l JOIN versions v ON v.id = l.version",
      {}, [&](const Row& row) {
        if (done.ok()) done = context.check();
        if (!done.ok()) return;
        PackageFacts facts;
        if (const auto value = encoding::parse_json(row.text(3)); value.ok())
          facts = PackageFacts::from_value(*value);
        const std::string name = row.text(1);
        const std::string description = row.text(2);
        auto added = to.run(dialect.add_words, {row.integer(0), name, description, facts.details});
        if (!added.ok())
          done = std::move(added).error().with_frame(
              fmt::format("while storing the words by which {} is found", name));
      }));
  return done;
}

Status must_be_empty(const std::vector<CopiedTable>& tables, Database& server) {
  std::vector<std::string> names{"blobs"};
  for (const CopiedTable& each : tables)
    if (!each.has_own_rows()) names.push_back(each.name);
  for (const std::string& name : names) {
    bool is_empty = true;
    MIST_TRY_VOID(server.query(fmt::format("SELECT 1 FROM {} LIMIT 1", name), {},
                               [&](const Row&) { is_empty = false; }));
    if (!is_empty)
      return error(ErrorKind::Conflict, "the database has a catalog already")
          .with_because(fmt::format("there is something in its table {}", name))
          .with_hint("name an empty database");
  }
  return {};
}

// The numbers that were given and never mean something else again.
Result<std::int64_t> last_number(Database& file, const std::string& table) {
  std::int64_t last = 0;
  MIST_TRY_VOID(file.query(fmt::format("SELECT coalesce(max(id), 0) FROM {}", table), {},
                           [&](const Row& row) { last = row.integer(0); }));
  MIST_TRY_VOID(file.query("SELECT seq FROM sqlite_sequence WHERE name = ?", {table},
                           [&](const Row& row) { last = std::max(last, row.integer(0)); }));
  return last;
}

}  // namespace

Status copy_rows_to_server(Database& file, Database& server, const Context& context) {
  MIST_TRY(const std::vector<CopiedTable> tables, tables_of(file));
  MIST_TRY_VOID(must_be_empty(tables, server));
  MIST_TRY_VOID(make_room(tables, server));
  for (const CopiedTable& each : tables) {
    RowCopy copy(each, server, context);
    MIST_TRY_VOID(file.query(fmt::format("SELECT {} FROM {}", each.column_list(), each.name), {},
                             [&](const Row& row) { copy.add(row); }));
    MIST_TRY_VOID(copy.done());
  }
  std::vector<std::string> numbered;
  MIST_TRY_VOID(
      server.query("SELECT table_name::text FROM information_schema.columns WHERE table_schema = "
                   "current_schema() AND column_name = 'id' AND is_identity = 'YES'",
                   {}, [&](const Row& row) { numbered.push_back(row.text(0)); }));
  for (const std::string& table : numbered) {
    MIST_TRY(const std::int64_t last, last_number(file, table));
    if (last > 0)
      MIST_TRY_VOID(server.query("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", {table, last},
                                 [](const Row&) {}));
  }
  return add_words(file, server, postgres_dialect(), context);
}

Status copy_rows_to_file(Database& server, Database& file, const Context& context) {
  MIST_TRY(const std::vector<CopiedTable> tables, tables_of(file));
  MIST_TRY_VOID(make_room(tables, file));
  for (const CopiedTable& each : tables) {
    RowCopy copy(each, file, context);
    // A query's rows would all come at once.
    MIST_TRY_VOID(server.script(fmt::format("DECLARE copy_{0} NO SCROLL CURSOR FOR SELECT {1} FROM {0}",
                                            each.name, each.column_list())));
    for (bool more = true; more;) {
      more = false;
      MIST_TRY_VOID(server.query(fmt::format("FETCH 200 FROM copy_{}", each.name), {}, [&](const Row& row) {
        more = true;
        copy.add(row);
      }));
      MIST_TRY_VOID(copy.done());
    }
    MIST_TRY_VOID(server.script(fmt::format("CLOSE copy_{}", each.name)));
  }
  std::vector<std::string> numbered;
  MIST_TRY_VOID(
      file.query("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'", {},
                 [&](const Row& row) { numbered.push_back(row.text(0)); }));
  for (const std::string& table : numbered) {
    std::int64_t last = 0;
    MIST_TRY_VOID(server.query(
        "SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, 'id') AS regclass)), 0)",
        {table}, [&](const Row& row) { last = row.integer(0); }));
    MIST_TRY_VOID(file.run("DELETE FROM sqlite_sequence WHERE name = ?", {table}));
    MIST_TRY_VOID(file.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", {table, last}));
  }
  return {};
}

Status add_words_to_file(Database& file, const Context& context) {
  return add_words(file, file, sqlite_dialect(), context);
}

}  // namespace mist::catalog
