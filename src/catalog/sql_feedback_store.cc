#include "catalog/sql_feedback_store.h"

#include "catalog/sql_connections.h"
#include "catalog/sql_rows.h"
#include "sql/database.h"

namespace mist::catalog {
namespace {

using sql::Database;
using sql::Row;

constexpr std::string_view kComment =
    "SELECT c.id, p.name, a.name, c.account = p.account, c.text, c.created, c.changed, c.hidden "
    "FROM comments c JOIN projects p ON p.id = c.project JOIN accounts a ON a.id = c.account ";

Comment comment_in(const Row& row) {
  Comment comment{.id = row.integer(0),
                  .package = row.text(1),
                  .by = row.text(2),
                  .by_owner = row.integer(3) != 0,
                  .text = row.text(4),
                  .created = time_of(row.integer(5))};
  if (!row.is_null(6)) comment.changed = time_of(row.integer(6));
  if (!row.is_null(7)) comment.hidden = row.text(7);
  return comment;
}

constexpr std::string_view kReport =
    "SELECT r.id, p.name, coalesce(r.comment, 0), r.quote, r.quoted, a.name, r.reason, r.created "
    "FROM reports r JOIN projects p ON p.id = r.project JOIN accounts a ON a.id = r.account ";

AbuseReport report_in(const Row& row) {
  return {.id = row.integer(0),
          .package = row.text(1),
          .comment = row.integer(2),
          .quote = row.text(3),
          .quoted = row.text(4),
          .by = row.text(5),
          .reason = row.text(6),
          .created = time_of(row.integer(7))};
}

struct Package {
  std::int64_t id = 0, owner = 0;
};
Result<Package> package_named(Database& db, const std::string& name) {
  std::optional<Package> found;
  std::optional<std::string> hidden;
  MIST_TRY_VOID(
      db.query("SELECT id, account, hidden FROM projects WHERE name = ? AND EXISTS (SELECT 1 FROM versions "
               "WHERE project = projects.id AND review = 0)",
               {name}, [&](const Row& row) {
                 found = Package{row.integer(0), row.integer(1)};
                 if (!row.is_null(2)) hidden = row.text(2);
               }));
  if (!found) return not_there("package", name);
  if (hidden) return hidden_by_moderators(name, *hidden);
  return *found;
}

Error no_comment(std::int64_t id) { return not_there("comment", std::to_string(id)); }

class SqlFeedbackStore final : public FeedbackStore {
 public:
  SqlFeedbackStore(std::shared_ptr<SqlConnections> connections, const Clock& clock)
      : connections_(std::move(connections)), clock_(clock) {}

  // Ratings

  Status rate(const std::string& package, const std::string& account, int stars) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const Package found, package_named(db, package));
      MIST_TRY(const std::int64_t id, account_id(db, account));
      if (found.owner == id) return error(ErrorKind::Conflict, "you can't rate your own package");
      MIST_TRY_VOID(
          db.run("INSERT INTO ratings VALUES (?1, ?2, ?3, ?4) ON CONFLICT (project, account) DO UPDATE SET "
                 "stars = ?3, changed = ?4",
                 {found.id, id, stars, now()}));
      return {};
    });
  }

  Status take_back_rating(const std::string& package, const std::string& account) override {
    return connections_->changes_one(
        "DELETE FROM ratings WHERE project = (SELECT id FROM projects WHERE name = ?) AND account = (SELECT "
        "id "
        "FROM accounts WHERE name = ?)",
        {package, account}, not_there("rating of yours of", package));
  }

  Result<Ratings> ratings(const std::string& package) override {
    Ratings found;
    MIST_TRY_VOID(connections_->read(
        "SELECT r.stars, count(*) FROM ratings r JOIN projects p ON p.id = r.project JOIN accounts a ON "
        "a.id = r.account AND a.disabled = 0 WHERE p.name = ? GROUP BY r.stars",
        {package}, [&](const Row& row) {
          const std::int64_t stars = row.integer(0);
          if (stars >= 1 && stars <= kMostStars)
            found.counts.at(static_cast<std::size_t>(stars - 1)) = row.integer(1);
        }));
    return found;
  }

  Result<int> rating_of(const std::string& package, const std::string& account) override {
    int stars = 0;
    MIST_TRY_VOID(connections_->read(
        "SELECT r.stars FROM ratings r JOIN projects p ON p.id = r.project JOIN accounts a ON a.id = "
        "r.account "
        "WHERE p.name = ? AND a.name = ?",
        {package, account}, [&](const Row& row) { stars = static_cast<int>(row.integer(0)); }));
    return stars;
  }

  Result<std::vector<OwnRating>> ratings_by(const std::string& account) override {
    std::vector<OwnRating> found;
    MIST_TRY_VOID(connections_->read(
        "SELECT p.name, r.stars, r.changed FROM ratings r JOIN projects p ON p.id = r.project JOIN accounts "
        "a "
        "ON a.id = r.account WHERE a.name = ? ORDER BY p.name",
        {account}, [&](const Row& row) {
          found.push_back({row.text(0), static_cast<int>(row.integer(1)), time_of(row.integer(2))});
        }));
    return found;
  }

  // Comments

  Result<std::int64_t> add_comment(const std::string& package, const std::string& account,
                                   const std::string& text) override {
    std::int64_t made = 0;
    Status done = connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const Package found, package_named(db, package));
      MIST_TRY(const std::int64_t id, account_id(db, account));
      std::int64_t count = 0;
      MIST_TRY_VOID(db.query("SELECT count(*) FROM comments WHERE project = ? AND account = ?",
                             {found.id, id}, [&](const Row& row) { count = row.integer(0); }));
      if (count >= kMostComments)
        return error(ErrorKind::Conflict, "you have {} comments about {}", count, package);
      MIST_TRY(
          made,
          new_id(db,
                 "INSERT INTO comments (project, account, text, created) VALUES (?, ?, ?, ?) RETURNING id",
                 {found.id, id, text, now()}));
      return {};
    });
    if (!done.ok()) return std::move(done).error();
    return made;
  }

  Result<std::optional<Comment>> comment(std::int64_t id) override {
    std::optional<Comment> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE c.id = ?", kComment), {id},
                                     [&](const Row& row) { found = comment_in(row); }));
    return found;
  }

  Result<Slice<Comment>> comments(const std::string& package, const Page& page) override {
    return comments_where("p.name = ?1", package, page);
  }
  Result<Slice<Comment>> comments_by(const std::string& account, const Page& page) override {
    return comments_where("a.name = ?1", account, page);
  }

  Result<std::int64_t> count_comments(const std::string& package) override {
    std::int64_t count = 0;
    MIST_TRY_VOID(
        connections_->read("SELECT count(*) FROM comments c JOIN projects p ON p.id = c.project WHERE p.name "
                           "= ? AND c.hidden IS "
                           "NULL",
                           {package}, [&](const Row& row) { count = row.integer(0); }));
    return count;
  }

  Status change_comment(std::int64_t id, const std::string& account, const std::string& text) override {
    return connections_->changes_one(
        "UPDATE comments SET text = ?, changed = ? WHERE id = ? AND account = (SELECT id FROM accounts WHERE "
        "name = ?)",
        {text, now(), id, account}, no_comment(id));
  }

  Status remove_comment(std::int64_t id, const std::string& account) override {
    return connections_->changes_one(
        "DELETE FROM comments WHERE id = ? AND account = (SELECT id FROM accounts WHERE name = ?)",
        {id, account}, no_comment(id));
  }

  Status hide_comment(std::int64_t id, const std::string& moderator, const std::string& why,
                      const Audit& audit) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t changed, db.run("UPDATE comments SET hidden = ? WHERE id = ?", {why, id}));
      if (changed == 0) return no_comment(id);
      MIST_TRY_VOID(db.run(
          "UPDATE reports SET closed = ?, closed_by = ?, decision = ? WHERE comment = ? AND closed IS NULL",
          {now(), moderator, "hidden: " + why, id}));
      return insert_audit(db, now(), audit);
    });
  }

  Status show_comment(std::int64_t id, const Audit& audit) override {
    return connections_->changes_one("UPDATE comments SET hidden = NULL WHERE id = ? AND hidden IS NOT NULL",
                                     {id}, not_there("hidden comment", std::to_string(id)),
                                     [&](Database& db) { return insert_audit(db, now(), audit); });
  }

  // Reports

  Status report_package(const std::string& package, const std::string& account,
                        const std::string& reason) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const Package found, package_named(db, package));
      MIST_TRY(const std::int64_t id, account_id(db, account));
      MIST_TRY(
          const std::int64_t made,
          db.run("INSERT INTO reports (project, account, reason, created) SELECT ?1, ?2, ?3, ?4 WHERE NOT "
                 "EXISTS (SELECT 1 FROM reports WHERE project = ?1 AND account = ?2 AND quoted = '' AND "
                 "closed IS NULL)",
                 {found.id, id, reason, now()}));
      return made == 0 ? reported() : Status();
    });
  }

  Status report_comment(std::int64_t comment, const std::string& account,
                        const std::string& reason) override {
    return connections_->writing([&](Database& db) -> Status {
      MIST_TRY(const std::int64_t id, account_id(db, account));
      bool is_there = false;
      MIST_TRY_VOID(
          db.query("SELECT 1 FROM comments WHERE id = ?", {comment}, [&](const Row&) { is_there = true; }));
      if (!is_there) return no_comment(comment);
      MIST_TRY(
          const std::int64_t made,
          db.run("INSERT INTO reports (project, comment, quote, quoted, account, reason, created) "
                 "SELECT c.project, c.id, c.text, a.name, ?2, ?3, ?4 FROM comments c JOIN accounts a ON "
                 "a.id = c.account WHERE c.id = ?1 AND NOT EXISTS (SELECT 1 FROM reports WHERE comment = ?1 "
                 "AND account = ?2 AND closed IS NULL)",
                 {comment, id, reason, now()}));
      return made == 0 ? reported() : Status();
    });
  }

  Result<Slice<AbuseReport>> reports(const Page& page) override {
    Slice<AbuseReport> slice;
    MIST_TRY_VOID(connections_->read(
        fmt::format("{}WHERE r.closed IS NULL AND r.id > ? ORDER BY r.id LIMIT ?", kReport),
        {number_in(page.after), page.limit + 1},
        [&](const Row& row) { slice.items.push_back(report_in(row)); }));
    cut(slice, page, [&](const AbuseReport& last) { return std::to_string(last.id); });
    return slice;
  }

  Result<std::int64_t> count_reports() override {
    std::int64_t count = 0;
    MIST_TRY_VOID(connections_->read("SELECT count(*) FROM reports WHERE closed IS NULL", {},
                                     [&](const Row& row) { count = row.integer(0); }));
    return count;
  }

  Result<std::vector<AbuseReport>> reports_by(const std::string& account) override {
    std::vector<AbuseReport> found;
    MIST_TRY_VOID(connections_->read(fmt::format("{}WHERE a.name = ? ORDER BY r.id", kReport), {account},
                                     [&](const Row& row) { found.push_back(report_in(row)); }));
    return found;
  }

  Status close_report(std::int64_t id, const std::string& moderator, const std::string& decision,
                      const Audit& audit) override {
    return connections_->writing([&](Database& db) -> Status {
      std::string about;
      MIST_TRY_VOID(db.query(
          "SELECT CASE r.quoted WHEN '' THEN a.name ELSE r.quoted END FROM reports r JOIN projects p "
          "ON p.id = r.project JOIN accounts a ON a.id = p.account WHERE r.id = ? AND r.closed IS "
          "NULL",
          {id}, [&](const Row& row) { about = row.text(0); }));
      if (about.empty()) return not_there("open report", std::to_string(id));
      if (about == moderator)
        return error(ErrorKind::Forbidden, "you can't close reports about your own packages and comments")
            .with_hint("ask another moderator");
      MIST_TRY_VOID(db.run("UPDATE reports SET closed = ?, closed_by = ?, decision = ? WHERE id = ?",
                           {now(), moderator, decision, id}));
      return insert_audit(db, now(), audit);
    });
  }

 private:
  std::int64_t now() const { return stamp(clock_.now()); }

  static Status reported() {
    return error(ErrorKind::Conflict, "you reported this already")
        .with_hint("the moderators will look at it");
  }

  Result<Slice<Comment>> comments_where(std::string_view condition, const std::string& name,
                                        const Page& page) {
    Slice<Comment> slice;
    MIST_TRY_VOID(connections_->read(
        fmt::format("{}WHERE {} AND (?2 = 0 OR c.id < ?2) ORDER BY c.id DESC LIMIT ?3", kComment, condition),
        {name, number_in(page.after), page.limit + 1},
        [&](const Row& row) { slice.items.push_back(comment_in(row)); }));
    cut(slice, page, [](const Comment& last) { return std::to_string(last.id); });
    return slice;
  }

  const std::shared_ptr<SqlConnections> connections_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<FeedbackStore> feedback_store_in(std::shared_ptr<SqlConnections> connections,
                                                 const Clock& clock) {
  return std::make_unique<SqlFeedbackStore>(std::move(connections), clock);
}

}  // namespace mist::catalog
