#include "postgres/database.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <vector>

#include "base/storage_fault.h"
#include "base/text.h"
#include "encoding/yaml_resolve.h"
#include "postgres/libpq.h"
#include "postgres/placeholders.h"
#include "postgres/wait.h"

namespace mist::postgres {
namespace {

using sql::Bytes;
using sql::OnRow;
using sql::Params;
using sql::Row;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

// The numbers of PostgreSQL's own types (src/include/catalog/pg_type.dat).
enum Type : unsigned {
  kAnyType = 0,
  kBool = 16,
  kBytea = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kFloat4 = 700,
  kFloat8 = 701
};
constexpr int kBinary = 1;

// The advisory lock of writers: any number that nobody else uses ("Mistleto").
constexpr std::string_view kTakeTurn = "SELECT pg_advisory_xact_lock(5578116557347058799);";

// Of the SQLSTATE (PostgreSQL's manual, appendix A).
struct Meaning {
  std::string_view prefix;
  ErrorKind kind;
  std::string_view hint;
};
constexpr std::array kMeanings{
    Meaning{"23", ErrorKind::Conflict, ""},
    Meaning{"08", ErrorKind::Retryable, "check the server and the way to it"},
    Meaning{"57P", ErrorKind::Retryable, "the server is starting or ending; try again"},
    Meaning{"57014", ErrorKind::Retryable, "it took too long; try again when the server has less to do"},
    Meaning{"40", ErrorKind::Retryable, "try again"},
    Meaning{"55P03", ErrorKind::Retryable, "somebody else is writing to it; try again"},
    Meaning{"25P0", ErrorKind::Retryable, "the server ended the transaction; try again"},
    Meaning{"53300", ErrorKind::Retryable, "raise max_connections of the server, or run fewer instances"},
    Meaning{"53", ErrorKind::Retryable, "free some disk space or memory of the server"},
    Meaning{"58", ErrorKind::Retryable, "check the disk of the server"},
    Meaning{"28", ErrorKind::Forbidden,
            "check the user and password of the database's URL, and pg_hba.conf of the server"},
    Meaning{"42501", ErrorKind::Forbidden,
            "let its user create and use tables there: it should own the database"},
    Meaning{"25006", ErrorKind::Forbidden,
            "name a server that takes writes: target_session_attrs=read-write"},
    Meaning{"3D000", ErrorKind::Invalid, kCreateDatabase},
    Meaning{"XX001", ErrorKind::Invalid, "restore it from a backup"},
    Meaning{"XX002", ErrorKind::Invalid, "restore it from a backup"},
};

// A failed connection's message, in lines like "… FATAL:  28P01: password authentication failed".
struct Refusal {
  std::string state;  // empty: nobody answered
  std::string words;
};
Refusal refusal_in(std::string_view text) {
  Refusal refusal;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty() || line.starts_with("LOCATION:")) continue;
    refusal.words += fmt::format("{}{}", refusal.words.empty() ? "" : "; ", trim(line));
    constexpr std::string_view kBefore = ":  ";
    constexpr std::size_t kLength = 5;
    for (auto at = line.find(kBefore); at != line.npos; at = line.find(kBefore, at + 1)) {
      const std::string_view code = line.substr(at + kBefore.size(), kLength);
      const std::string_view after = line.substr(std::min(at + kBefore.size() + kLength, line.size()));
      const bool is_code = code.size() == kLength && std::ranges::all_of(code, [](char c) {
                             return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                           });
      if (is_code && (after.empty() || after.starts_with(':'))) refusal.state = code;
    }
  }
  return refusal;
}

Error with_meaning(Error failed, std::string_view state) {
  failed.kind = ErrorKind::Internal;
  const auto* const meaning =
      std::ranges::find_if(kMeanings, [&](const Meaning& each) { return state.starts_with(each.prefix); });
  if (meaning == kMeanings.end()) return failed;
  failed.kind = meaning->kind;
  failed.hint = meaning->hint;
  return failed;
}

// Network order.
template <typename Number>
std::string bytes_of(Number number) {
  auto bits = std::bit_cast<std::uint64_t>(number);
  std::string bytes(sizeof bits, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; bits >>= 8U) bytes[i] = static_cast<char>(bits & 0xffU);
  return bytes;
}
std::uint64_t bits_in(const char* bytes, int size) {
  std::uint64_t bits = 0;
  for (int i = 0; i < size; ++i) bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
  return bits;
}

void ignore_notice(void*, const char*) {}

void begin_at(std::vector<Host>& hosts, std::size_t place) {
  std::ranges::rotate(hosts, hosts.begin() + static_cast<std::ptrdiff_t>(place % hosts.size()));
}

class RowOfAnswer final : public Row {
 public:
  RowOfAnswer(const Libpq& pq, const pg_result* result, int row) : pq_(pq), result_(result), row_(row) {}

  bool is_null(int column) const override { return pq_.PQgetisnull(result_, row_, column) != 0; }
  std::int64_t integer(int column) const override {
    if (is_null(column)) return 0;
    const std::uint64_t bits = bits_of(column);
    switch (pq_.PQftype(result_, column)) {
      case kBool:
      case kInt8:
        return static_cast<std::int64_t>(bits);
      case kInt4:
        return static_cast<std::int32_t>(bits);
      case kInt2:
        return static_cast<std::int16_t>(bits);
      default:
        MIST_CHECK(false, "the column isn't one of whole numbers");
        return 0;
    }
  }
  double real(int column) const override {
    if (is_null(column)) return 0;
    const std::uint64_t bits = bits_of(column);
    switch (pq_.PQftype(result_, column)) {
      case kFloat8:
        return std::bit_cast<double>(bits);
      case kFloat4:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      default:
        return static_cast<double>(integer(column));
    }
  }
  std::string text(int column) const override {
    switch (pq_.PQftype(result_, column)) {
      case kBool:
      case kInt8:
      case kInt4:
      case kInt2:
        return is_null(column) ? std::string() : std::to_string(integer(column));
      default:
        break;
    }
    return {pq_.PQgetvalue(result_, row_, column),
            static_cast<std::size_t>(pq_.PQgetlength(result_, row_, column))};
  }

 private:
  std::uint64_t bits_of(int column) const {
    return bits_in(pq_.PQgetvalue(result_, row_, column), pq_.PQgetlength(result_, row_, column));
  }

  const Libpq& pq_;
  const pg_result* result_;
  int row_;
};

// Params as libpq takes them: in binary, so that a text may hold anything.
class Bound {
 public:
  explicit Bound(Params params) {
    kept_.reserve(params.size());
    for (const sql::Param& param : params) {
      if (const auto* const number = std::get_if<std::int64_t>(&param.value()))
        add(kInt8, keep(bytes_of(*number)));
      else if (const auto* const real = std::get_if<double>(&param.value()))
        add(kFloat8, keep(bytes_of(*real)));
      else if (const auto* const text = std::get_if<std::string_view>(&param.value()))
        add(kText, text_of(*text));
      else if (const auto* const bytes = std::get_if<Bytes>(&param.value()))
        add(kBytea, bytes->bytes.data() == nullptr ? std::string_view("") : bytes->bytes);
      else
        add(kAnyType, {});
    }
  }

  std::vector<unsigned> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;

 private:
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  std::string_view text_of(std::string_view text) {
    if (text.data() == nullptr) return "";
    if (is_valid_utf8(text) && text.find('\0') == text.npos) return text;
    std::string valid;
    for (const char c : encoding::to_valid_utf8(text))
      if (c == '\0')
        valid += "\xef\xbf\xbd";
      else
        valid += c;
    return keep(std::move(valid));
  }
  void add(unsigned type, std::string_view value) {
    types.push_back(type);
    values.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
    formats.push_back(kBinary);
  }

  std::vector<std::string> kept_;  // reserved: what is in it stays where it is
};

}  // namespace

void Database::Finish::operator()(pg_conn* connection) const noexcept { pq->PQfinish(connection); }
void Database::Clear::operator()(pg_result* result) const noexcept { pq->PQclear(result); }

Database::Database(Url url, const OpenOptions& options, const Libpq& pq)
    : url_(std::move(url)),
      options_(options),
      pq_(pq),
      hosts_(hosts_in(pq, url_.text())),
      connection_(nullptr, Finish{&pq}) {
  if (hosts_.in_any_order) shuffle_hosts(hosts_.all);
}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(Url url, const OpenOptions& options) {
  MIST_TRY(const Libpq* const pq, libpq());
  if (!is_understood(*pq, url.text()))
    return Url::not_understood("PostgreSQL's client library can't read it");
  std::unique_ptr<Database> database(new Database(std::move(url), options, *pq));
  MIST_TRY_VOID(database->connect());
  return database;
}

Database::Answer Database::owned(pg_result* result) const { return {result, Clear{&pq_}}; }

Error Database::not_connected(const Host& host) const {
  const Refusal refusal = refusal_in(pq_.PQerrorMessage(connection_.get()));
  Error failed = error(ErrorKind::Retryable, "cannot connect to the database {}", url_.shown());
  if (!refusal.state.empty())
    failed = with_meaning(std::move(failed), refusal.state);
  else if (pq_.PQconnectionNeedsPassword(connection_.get()) != 0)
    failed = with_meaning(std::move(failed), "28P01");
  else
    failed.hint = "check the server and the way to it";
  // libpq names nothing but the address where it is given one.
  const bool is_looked_up = !host.name.empty() && !host.address.empty() && host.name != host.address;
  failed.because = is_looked_up ? fmt::format("{}: {}", host.name, refusal.words) : refusal.words;
  return failed;
}

Error Database::no_answer(const Host& host, std::chrono::milliseconds limit) const {
  return error(ErrorKind::Retryable, "cannot connect to the database {}", url_.shown())
      .with_because(fmt::format("{}{}nobody answers within {:.1f} s", host.shown(),
                                host.shown().empty() ? "" : ": ",
                                std::chrono::duration<double>(limit).count()))
      .with_hint("check the server and the way to it");
}

void Database::shuffle_hosts(std::vector<Host>& hosts) const {
  SystemRandom of_system;
  shuffle(hosts, options_.random == nullptr ? of_system : *options_.random);
}

// The one that let us in comes first, the others keep their order.
void Database::put_in_order(std::vector<Host>& hosts) const {
  std::ranges::stable_partition(hosts, [&](const Host& each) {
    return each.name == last_.name && each.port == last_.port &&
           (each.address.empty() || each.address == last_.address);
  });
}

Result<std::vector<Host>> Database::addresses_of(const Host& host, std::size_t turn) const {
  const auto found = options_.resolve(host.name);
  if (!found.ok())
    return error(ErrorKind::Retryable, "cannot connect to the database {}", url_.shown())
        .with_because(fmt::format("{}{}{}", found.error().message, found.error().because.empty() ? "" : ": ",
                                  found.error().because))
        .with_hint(found.error().hint);
  MIST_CHECK(!found->empty(), "a name without addresses is an error");
  std::vector<Host> addresses;
  for (const std::string& each : *found) addresses.push_back({host.name, each, host.port});
  if (hosts_.in_any_order) shuffle_hosts(addresses);
  put_in_order(addresses);
  begin_at(addresses, turn);
  return addresses;
}

// The last of many addresses have next to no time. So each attempt in vain makes the next one begin at
// another place; of those that fail at the same time, one does.
Status Database::connect() {
  std::size_t failures = options_.failures->load();
  Status done = of_storage(connect_to_any(failures - failures_before_));
  if (done.ok())
    failures_before_ = failures;
  else if (done.error().kind == ErrorKind::Retryable)
    options_.failures->compare_exchange_strong(failures, failures + 1);
  return done;
}

// One address after the other: each has half of the time that is left, and the last one all of it. So a
// silent one leaves some for the next, and the first of many has enough to be far away. Names are looked up
// when it is their turn. The resolver has its own limits, and what it takes isn't counted. In as many turns
// as there are addresses, each of them is the first.
Status Database::connect_to_any(std::size_t turn) {
  std::vector<Host> hosts = hosts_.all;
  put_in_order(hosts);
  begin_at(hosts, turn);
  std::deque<Host> waiting(hosts.begin(), hosts.end());
  auto end = SteadyClock::now() + options_.connecting;
  std::string because;
  while (true) {
    const Host host = std::move(waiting.front());
    waiting.pop_front();
    Status done;
    if (options_.resolve && host.needs_lookup()) {
      const auto began = SteadyClock::now();
      const auto addresses = addresses_of(host, turn / hosts.size());
      end += SteadyClock::now() - began;
      if (addresses.ok()) {
        waiting.insert(waiting.begin(), addresses->begin(), addresses->end());
        continue;
      }
      done = addresses.error();
    } else {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
      done = connect_to(host, waiting.empty() ? left : left / 2);
      if (done.ok()) {
        last_ = host;
        return {};
      }
    }
    connection_.reset();
    because += fmt::format("{}{}", because.empty() ? "" : "; ", done.error().because);
    if (done.error().kind != ErrorKind::Retryable || waiting.empty())
      return std::move(done).error().with_because(std::move(because));
  }
}

Status Database::connect_to(const Host& host, std::chrono::milliseconds limit) {
  const auto end = SteadyClock::now() + limit;
  statements_.clear();
  connection_.reset();
  // The URL overrides the values before it, and the values after it that aren't empty override the URL. A
  // server that is gone without a word is noticed within half a minute.
  const std::array keywords{"keepalives_idle",
                            "keepalives_interval",
                            "keepalives_count",
                            "tcp_user_timeout",
                            "fallback_application_name",
                            "dbname",
                            "host",
                            "hostaddr",
                            "port",
                            "client_encoding",
                            static_cast<const char*>(nullptr)};
  const std::array values{"10",
                          "5",
                          "3",
                          "20000",
                          "mistletoe",
                          url_.text().reveal().c_str(),
                          host.name.c_str(),
                          host.address.c_str(),
                          host.port.c_str(),
                          "UTF8",
                          static_cast<const char*>(nullptr)};
  connection_.reset(pq_.PQconnectStartParams(keywords.data(), values.data(), 1));
  pg_conn* const raw = connection_.get();
  if (raw == nullptr) return error(ErrorKind::Internal, "there is no memory for a connection to a database");
  // With the SQLSTATE, which libpq tells of a failed connection in no other way.
  pq_.PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);
  pq_.PQsetNoticeProcessor(raw, ignore_notice, nullptr);
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (step != PGRES_POLLING_OK) {
    if (step == PGRES_POLLING_FAILED || pq_.PQstatus(raw) == CONNECTION_BAD) return not_connected(host);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
    ::pollfd socket{.fd = pq_.PQsocket(raw),
                    .events = static_cast<short>(step == PGRES_POLLING_READING ? POLLIN : POLLOUT),
                    .revents = 0};
    if (left <= 0ms || ::poll(&socket, 1, static_cast<int>(left.count())) == 0) return no_answer(host, limit);
    step = pq_.PQconnectPoll(raw);
  }
  pq_.PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  pq_.PQsetnonblocking(raw, 1);
  const char* const encoding = pq_.PQparameterStatus(raw, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8")
    return error(ErrorKind::Invalid, "the database {} keeps no UTF-8", url_.shown())
        .with_because(fmt::format("its encoding is {}", encoding == nullptr ? "unknown" : encoding))
        .with_hint(fmt::format("create one that does: {}", kCreateDatabase));
  const std::string settings = fmt::format(
      "SET lock_timeout = {}; SET statement_timeout = {}; "
      "SET idle_in_transaction_session_timeout = {}; SET standard_conforming_strings = on",
      options_.patience.count(), options_.statement.count(), options_.statement.count());
  MIST_TRY(const Answer set, answer_to(pq_.PQsendQuery(raw, settings.c_str()), "open", limit));
  if (pq_.PQresultStatus(set.get()) != PGRES_COMMAND_OK) return failure(set.get(), "open");
  return {};
}

// The last of several results.
Result<Database::Answer> Database::answer_to(int sent, std::string_view doing,
                                             std::chrono::milliseconds limit) {
  if (sent == 0) return failure(nullptr, doing);
  pg_conn* const raw = connection_.get();
  Answer last = owned(nullptr);
  while (true) {
    if (!wait_for_result(pq_, raw, limit)) return silent();
    Answer next = owned(pq_.PQgetResult(raw));
    if (!next) return last;
    last = std::move(next);
  }
}

// The server ends what takes too long by itself, unless it hangs.
std::chrono::milliseconds Database::longest() const {
  return is_migrating_ ? -1ms : options_.statement + options_.grace;
}

Error Database::silent() {
  connection_.reset();
  return error(ErrorKind::Retryable, "the database {} doesn't answer any more", url_.shown())
      .with_because("it took a request, and has been silent for longer than any may take")
      .with_hint("check the server and the way to it")
      .with_detail(StorageFault());
}

// Reads what came meanwhile: the server's last words, and its end.
bool Database::is_alive() {
  constexpr int kMostReads = 8;
  pg_conn* const raw = connection_.get();
  if (raw == nullptr) return false;
  for (int i = 0; i < kMostReads && pq_.PQstatus(raw) == CONNECTION_OK; ++i) {
    ::pollfd socket{.fd = pq_.PQsocket(raw), .events = POLLIN, .revents = 0};
    if (::poll(&socket, 1, 0) <= 0) break;
    if (pq_.PQconsumeInput(raw) == 0) return false;
    (void)pq_.PQisBusy(raw);
  }
  return pq_.PQstatus(raw) == CONNECTION_OK && pq_.PQtransactionStatus(raw) == PQTRANS_IDLE;
}

Status Database::ready() {
  if (in_transaction_) return connection_ ? Status() : silent();
  if (is_alive()) return {};
  return connect();
}

Error Database::failure(const pg_result* result, std::string_view doing) const {
  Error failed = error(ErrorKind::Internal, "cannot {} the database {}", doing, url_.shown());
  const char* const state = result == nullptr ? nullptr : pq_.PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr || pq_.PQstatus(connection_.get()) != CONNECTION_OK)
    failed = with_meaning(std::move(failed), "08006");
  else
    failed = with_meaning(std::move(failed), state);
  const char* const words =
      result == nullptr ? nullptr : pq_.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  failed.because = trim(words == nullptr ? pq_.PQerrorMessage(connection_.get()) : words);
  if (failed.kind != ErrorKind::Conflict) failed.details.set(StorageFault());
  return failed;
}

Result<std::string> Database::prepared(std::string_view sql, std::span<const unsigned> types) {
  std::string key;
  for (const unsigned type : types) key += fmt::format("{} ", type);
  key += sql;
  if (const auto known = statements_.find(key); known != statements_.end()) return known->second;
  std::string name = fmt::format("s{}", statements_.size());
  const int sent = pq_.PQsendPrepare(connection_.get(), name.c_str(), with_numbers(sql).c_str(),
                                     static_cast<int>(types.size()), types.data());
  MIST_TRY(const Answer made, answer_to(sent, "ask", longest()));
  if (pq_.PQresultStatus(made.get()) != PGRES_COMMAND_OK) return failure(made.get(), "ask");
  statements_.emplace(std::move(key), name);
  return name;
}

Result<Database::Answer> Database::answer(std::string_view sql, Params params) {
  MIST_TRY_VOID(ready());
  const Bound bound(params);
  MIST_TRY(const std::string name, prepared(sql, bound.types));
  const int sent =
      pq_.PQsendQueryPrepared(connection_.get(), name.c_str(), static_cast<int>(bound.values.size()),
                              bound.values.data(), bound.lengths.data(), bound.formats.data(), kBinary);
  MIST_TRY(Answer got, answer_to(sent, "use", longest()));
  const ExecStatusType status = pq_.PQresultStatus(got.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return failure(got.get(), "use");
  return got;
}

Status Database::query(std::string_view sql, Params params, const OnRow& row) {
  MIST_TRY(const Answer got, answer(sql, params));
  const int rows = pq_.PQntuples(got.get());
  for (int i = 0; i < rows; ++i) row(RowOfAnswer(pq_, got.get(), i));
  return {};
}

Result<std::int64_t> Database::run(std::string_view sql, Params params) {
  MIST_TRY(const Answer got, answer(sql, params));
  const std::string_view digits = pq_.PQcmdTuples(got.get());
  std::int64_t changed = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), changed);
  return changed;
}

Status Database::script(const std::string& sql) {
  MIST_TRY_VOID(ready());
  const int sent = pq_.PQsendQuery(connection_.get(), sql.c_str());
  MIST_TRY(const Answer done, answer_to(sent, "change", longest()));
  const ExecStatusType status = pq_.PQresultStatus(done.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
    return failure(done.get(), "change");
  return {};
}

Status Database::enclosed(const std::string& statements, const std::function<Status()>& work) {
  MIST_CHECK(!in_transaction_, "a transaction within a transaction");
  Status done = script(statements);
  if (done.ok()) {
    in_transaction_ = true;
    done = work();
    // The server would answer COMMIT with a rollback.
    MIST_CHECK(!done.ok() || pq_.PQtransactionStatus(connection_.get()) != PQTRANS_INERROR,
               "the error of a statement was ignored");
    if (done.ok()) done = script("COMMIT");
    in_transaction_ = false;
    if (done.ok()) return {};
  }
  const bool is_open = connection_ && pq_.PQstatus(connection_.get()) == CONNECTION_OK &&
                       pq_.PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
  // One that can't be ended is replaced by the next call.
  if (is_open) (void)answer_to(pq_.PQsendQuery(connection_.get(), "ROLLBACK"), "use", longest());
  return done;
}

Status Database::transaction(const std::function<Status()>& work) {
  return enclosed(fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {}", kTakeTurn), work);
}
Status Database::reading(const std::function<Status()>& work) {
  return enclosed("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work);
}

// The schemas of it that are there. Tables are created in the first; the others may be other programs'.
Result<std::vector<std::string>> Database::search_path() {
  std::vector<std::string> found;
  MIST_TRY_VOID(
      query("SELECT s::text FROM unnest(current_schemas(false)) WITH ORDINALITY AS p (s, place) "
            "ORDER BY place",
            {}, [&](const Row& row) { found.push_back(row.text(0)); }));
  return found;
}

Result<bool> Database::has_table(std::string_view schema, std::string_view name) {
  bool is_there = false;
  MIST_TRY_VOID(
      query("SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = ? AND c.relname = ?",
            {schema, name}, [&](const Row&) { is_there = true; }));
  return is_there;
}

// Many programs have a table of that name, of which some keep a number in it, too.
Result<bool> Database::is_version_ours(std::string_view schema) {
  std::string type;
  MIST_TRY_VOID(
      query("SELECT a.atttypid::regtype::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = ? AND c.relname = 'schema_version' AND a.attname = 'version'",
            {schema}, [&](const Row& row) { type = row.text(0); }));
  if (type != "bigint") return false;
  for (const std::string& each : options_.own_tables) {
    MIST_TRY(const bool is_there, has_table(schema, each));
    if (!is_there) return false;
  }
  return true;
}

// New tables in the first schema would hide ours in a later one, also from programs that run with those.
Status Database::later_schemas_must_not_be_ours(std::span<const std::string> path) {
  if (path.empty()) return {};
  for (const std::string& each : path.subspan(1)) {
    MIST_TRY(const bool is_ours, is_version_ours(each));
    if (is_ours)
      return error(ErrorKind::Invalid, "the search_path leads to the wrong schema of the database {}",
                   url_.shown())
          .with_because(fmt::format("its tables are in the schema {}, but the search_path begins with {}",
                                    each, path.front()))
          .with_hint(
              fmt::format("begin the user's search_path with {0} (ALTER ROLE … SET search_path = {0}); "
                          "for new tables, leave {0} out of it",
                          each));
  }
  return {};
}

Result<std::int64_t> Database::version() {
  MIST_TRY(const std::vector<std::string> path, search_path());
  const std::string first = path.empty() ? "" : path.front();
  MIST_TRY(const bool is_there, has_table(first, "schema_version"));
  if (!is_there) {
    MIST_TRY_VOID(later_schemas_must_not_be_ours(path));
    return std::int64_t{0};
  }
  MIST_TRY(const bool is_ours, is_version_ours(first));
  std::vector<std::int64_t> found;
  if (is_ours)
    MIST_TRY_VOID(query("SELECT version FROM schema_version", {},
                        [&](const Row& row) { found.push_back(row.integer(0)); }));
  if (found.size() == 1) return found.front();
  return error(ErrorKind::Invalid, "the database {} is another program's", url_.shown())
      .with_because("its table schema_version isn't one of ours")
      .with_hint(fmt::format("create one for this program alone: {}", kCreateDatabase));
}

Status Database::migrate(std::span<const std::string_view> scripts) {
  const auto newest = static_cast<std::int64_t>(scripts.size());
  // Somebody else's migration takes as long as it takes.
  const std::string begin = fmt::format(
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = 0; "
      "SET LOCAL statement_timeout = 0; {}",
      kTakeTurn);
  is_migrating_ = true;
  Status done = enclosed(begin, [&]() -> Status {
    MIST_TRY(const std::int64_t there, version());
    if (there > newest) return sql::newer_schema(url_.shown(), there, newest);
    if (there == 0)
      MIST_TRY_VOID(
          script("CREATE TABLE schema_version (version BIGINT NOT NULL); "
                 "INSERT INTO schema_version VALUES (0)"));
    for (std::int64_t at = there; at < newest; ++at)
      MIST_TRY_VOID(script(fmt::format("{}\nUPDATE schema_version SET version = {}",
                                       scripts[static_cast<std::size_t>(at)], at + 1))
                        .in(fmt::format("while bringing its schema to version {}", at + 1)));
    return {};
  });
  is_migrating_ = false;
  return done;
}

}  // namespace mist::postgres
