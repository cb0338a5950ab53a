#pragma once
// One connection to a PostgreSQL database. It belongs to one thread at a time; it is made again when it was
// lost. No call waits for a server without end, but migrate().
//
// Errors: as sql::Database has them. Retryable: the server can't be reached, starts, ends, or is full; a lock
// or statement takes too long. After that, nobody knows whether a COMMIT was done.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "postgres/hosts.h"
#include "postgres/url.h"
#include "sql/database.h"

struct pg_conn;
struct pg_result;

namespace mist::postgres {

struct Libpq;

/// The addresses of a host's name, in the order to try them. Retryable: there are none. Blocks.
using Resolve = std::function<Result<std::vector<std::string>>(const std::string& name)>;

struct OpenOptions {
  /// How long until a server lets us in; of several servers or addresses, all of them. Not counted:
  /// `resolve`.
  std::chrono::milliseconds connecting{5'000};
  std::chrono::milliseconds patience{5'000};    ///< how long a transaction waits for the others
  std::chrono::milliseconds statement{60'000};  ///< the longest that a statement may take
  std::chrono::milliseconds grace{5'000};  ///< after that the server must have said so; else it is given up
  Resolve resolve = {};  ///< empty: left to libpq, which takes the first address that is silent
  /// Tables that each version of our schema has. Where `schema_version` stands without them, the schema is
  /// another program's.
  std::vector<std::string> own_tables = {};
  Random* random = nullptr;  ///< for load_balance_hosts=random; nullptr: the system's
  /// How often all servers and addresses failed: each such attempt makes the next one begin at another place,
  /// in all databases that share the options.
  std::shared_ptr<std::atomic<std::size_t>> failures = std::make_shared<std::atomic<std::size_t>>(0);
};

class Database final : public sql::Database {
 public:
  static Result<std::unique_ptr<Database>> open(Url url, const OpenOptions& options = {});
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() override;

  using sql::Database::run;
  Result<std::int64_t> run(std::string_view sql, sql::Params params) override;
  Status query(std::string_view sql, sql::Params params, const sql::OnRow& row) override;
  Status script(const std::string& sql) override;

  Status transaction(const std::function<Status()>& work) override;
  Status reading(const std::function<Status()>& work) override;
  Status migrate(std::span<const std::string_view> scripts) override;
  /// Of the schema, which is the first of the search path; 0: it is still without tables of ours. Invalid: it
  /// is another program's, or our tables are in a later one.
  Result<std::int64_t> version();

 private:
  struct Finish {
    const Libpq* pq = nullptr;
    void operator()(pg_conn* connection) const noexcept;
  };
  struct Clear {
    const Libpq* pq = nullptr;
    void operator()(pg_result* result) const noexcept;
  };
  using Answer = std::unique_ptr<pg_result, Clear>;

  Database(Url url, const OpenOptions& options, const Libpq& pq);
  Status connect();
  void shuffle_hosts(std::vector<Host>& hosts) const;
  void put_in_order(std::vector<Host>& hosts) const;
  Status connect_to_any(std::size_t turn);
  Result<std::vector<Host>> addresses_of(const Host& host, std::size_t turn) const;
  Status connect_to(const Host& host, std::chrono::milliseconds limit);
  Status ready();
  bool is_alive();
  Result<std::vector<std::string>> search_path();
  Result<bool> has_table(std::string_view schema, std::string_view name);
  Result<bool> is_version_ours(std::string_view schema);
  Status later_schemas_must_not_be_ours(std::span<const std::string> path);
  Status enclosed(const std::string& statements, const std::function<Status()>& work);
  Result<Answer> answer(std::string_view sql, sql::Params params);
  Result<std::string> prepared(std::string_view sql, std::span<const unsigned> types);
  Result<Answer> answer_to(int sent, std::string_view doing, std::chrono::milliseconds limit);
  std::chrono::milliseconds longest() const;
  Answer owned(pg_result* result) const;
  Error not_connected(const Host& host) const;
  Error no_answer(const Host& host, std::chrono::milliseconds limit) const;
  Error silent();
  Error failure(const pg_result* result, std::string_view doing) const;

  const Url url_;
  const OpenOptions options_;
  const Libpq& pq_;
  Hosts hosts_;
  Host last_;                        // that let us in: asked first the next time
  std::size_t failures_before_ = 0;  // OpenOptions::failures when it did
  std::unique_ptr<pg_conn, Finish> connection_;
  std::map<std::string, std::string, std::less<>> statements_;  // names by types and SQL; of this connection
  bool in_transaction_ = false;
  bool is_migrating_ = false;
};

}  // namespace mist::postgres
