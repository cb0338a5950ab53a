#pragma once
// The class behind open_store: its members are in sql_store.cc (projects and versions), sql_search.cc (lists
// and what is counted) and sql_queue.cc (tests and the audit log), which alone include this. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "catalog/sql_connections.h"
#include "catalog/sql_rows.h"
#include "catalog/store.h"
#include "sql/database.h"

namespace mist::catalog {

class SqlStore final : public Store {
 public:
  SqlStore(std::shared_ptr<SqlConnections> connections, const Clock& clock)
      : connections_(std::move(connections)), clock_(clock) {}
  Status create(Random& random);
  Result<std::string> instance() override;

  // Projects

  Result<Project> add_project(const NewProject& wanted, const Audit& audit) override;
  Result<std::optional<Project>> project(const std::string& name) override;
  Result<Slice<Project>> projects(const std::string& owner, const Page& page) override;
  Status remove_project(const std::string& name, const Audit& audit) override;
  Result<std::optional<Project>> take_due_project(Duration again, const Polls& now) override;
  Status note_poll(const Project& of, const std::string& problem, Duration next) override;
  Status ask_poll(const std::string& name) override;

  // Versions

  Result<std::optional<Standing>> standing(const std::string& package) override;
  Status hide_package(const std::string& package, const std::string& moderator, const std::string& why,
                      const Audit& audit) override;
  Status show_package(const std::string& package, const Audit& audit) override;
  Status hide_version(const std::string& package, const std::string& version, const std::string& why,
                      const Audit& audit) override;
  Status show_version(const std::string& package, const std::string& version, const Audit& audit) override;
  Status review(const std::string& package, const std::string& version,
                const std::optional<std::string>& why_not, const Audit& audit) override;
  Result<Slice<ReviewedVersion>> reviews(const std::string& owner, const Page& page) override;
  Result<std::int64_t> count_reviews() override;
  Result<std::map<std::string, std::string>> commits(const std::string& package) override;
  Result<Submitted> submit(const NewVersion& wanted, const Audit& audit) override;
  Result<std::vector<VersionBrief>> versions(const std::string& package) override;
  Result<std::optional<Version>> version(const std::string& package, const std::string& version) override;
  Status yank(const std::string& package, const std::string& version, const std::optional<std::string>& why,
              const Audit& audit, YankedBy by) override;
  Result<Slice<Listed>> search(const std::string& query, const Narrowing& narrowing,
                               const Page& page) override;
  Result<Facets> facets(const std::string& query, const Narrowing& narrowing) override;
  Result<std::vector<Listed>> newest(int limit) override;
  Result<Counts> counts() override;
  Result<std::int64_t> index_revision() override;
  Result<std::pair<std::int64_t, std::vector<IndexEntry>>> index() override;
  Result<std::pair<std::int64_t, std::vector<search::Entry>>> search_index() override;
  Result<bool> has_blob(const std::string& digest) override;

  // Downloads

  Status add_downloads(const std::vector<DownloadCount>& counts) override;
  Result<std::vector<DownloadsOfDay>> downloads(const std::string& package, std::int64_t since) override;

  Status add_installs(const std::vector<DownloadCount>& counts) override;
  Result<Installs> installs(const std::string& package, std::int64_t since) override;

  // The queue

  Status check_writable() override;
  Result<std::optional<Job>> lease(const std::string& holder, Duration term) override;
  Status renew(const Job& job, Duration term) override;
  Status add_step(const Job& job, const Step& step) override;
  Status note_nodes(const Job& job, TestNodes nodes) override;
  Status note_objects(const Job& job, const encoding::Value& graph, const encoding::Value& security,
                      const std::string& text) override;
  Status finish(const Job& job, bool passed) override;
  Status give_up(const Job& job, const Step& why) override;
  Status give_back(const Job& job, Duration rest) override;
  Status retry_after(const Job& job, Duration rest) override;
  Result<bool> is_being_tested(std::int64_t job, int attempt) override;
  Status test_again(const std::string& package, const std::string& version, const Audit& audit) override;
  Result<std::optional<Run>> last_run(const std::string& package, const std::string& version) override;

  // The audit log

  Status audit(const AuditEntry& entry) override;
  Result<Slice<AuditEntry>> audit_log(const AuditFilter& filter, const Page& page) override;

 private:
  static constexpr std::int64_t kMostRanked = kMostCounted;
  static constexpr std::int64_t kFewFound = 100;

  struct Found {
    std::int64_t version = 0, project = 0;
    std::string digest;
    Review review = Review::Published;
  };

  std::int64_t now() const { return stamp(clock_.now()); }

  Status read(std::string_view sql, sql::Params params, const sql::OnRow& row) {
    return connections_->read(sql, params, row);
  }
  Status writing(const std::function<Status(sql::Database&)>& work) { return connections_->writing(work); }
  Status changes_one(std::string_view sql, sql::Params params, const Error& otherwise,
                     const std::function<Status(sql::Database&)>& then = {}) {
    return connections_->changes_one(sql, params, otherwise, then);
  }
  // Ranking costs as much as there are packages with the words. Where those are very many, it is enough to
  // rank those that have them in their name, or else in their description.
  struct BoundedMatch {
    std::string value;
    WordsIn where = WordsIn::Anywhere;
  };
  Result<BoundedMatch> bounded_match(std::span<const std::string> words);
  static Result<Found> find_version(sql::Database& db, const std::string& package,
                                    const std::string& version);
  static Status index_changed(sql::Database& db);
  Status note(sql::Database& db, const Audit& audit) const { return insert_audit(db, now(), audit); }
  // A statement that changes a package or one of its versions and returns the number of the project, and what
  // follows of it; `otherwise` if it changed nothing.
  Status changing_package(std::string_view sql, sql::Params params, const Error& otherwise,
                          const Audit& audit,
                          const std::function<Status(sql::Database&, std::int64_t)>& then = {});
  // Of a new version. Places order the versions of a project, with gaps: others move only where none is left.
  static Result<std::int64_t> place_for(sql::Database& db, std::int64_t project, const std::string& version);
  // Which version stands for the package in lists, and the words by which it is found: of the newest release
  // that passed and isn't yanked, else of the newest prerelease that did, else of the newest. Nothing where
  // all is hidden.
  Status list_again(sql::Database& db, std::int64_t project) const;
  // Once for a database: earlier programs let a yanked release rank before a newer version that hadn't
  // passed.
  Status list_past_yanked(sql::Database& db) const;
  static Error lost(const Job& job);
  static Status still_ours(sql::Database& db, const Job& job);
  static Status insert_step(sql::Database& db, std::int64_t job, int attempt, const Step& step);
  Status end_job(sql::Database& db, std::int64_t job, VersionState state) const;
  // A package at which each worker dies isn't given to a fourth.
  Status give_up_lost(sql::Database& db) const;

  const std::shared_ptr<SqlConnections> connections_;
  const Clock& clock_;
  std::mutex counts_mutex_;  // held while they are counted, so that no two count at once
  std::optional<std::pair<SteadyTime, Counts>> counts_;  // guarded by counts_mutex_
};

}  // namespace mist::catalog
