#include "catalog/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "catalog/database_fixture.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_blobs.h"
#include "catalog/sql_dialect.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_passkey_store.h"
#include "catalog/sql_store.h"
#include "catalog/sql_task_store.h"
#include "postgres/database.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A catalog in one database.
struct Kept {
  Kept(std::shared_ptr<SqlConnections> opened, const Clock& clock, Random& random)
      : database(std::move(opened)),
        store(*open_store(database, clock, random)),
        accounts(account_store_in(database, clock, random)),
        feedback(feedback_store_in(database, clock)),
        passkeys(passkey_store_in(database, clock, random)) {}

  std::shared_ptr<SqlConnections> database;
  std::unique_ptr<Store> store;
  std::unique_ptr<AccountStore> accounts;
  std::unique_ptr<FeedbackStore> feedback;
  std::unique_ptr<PasskeyStore> passkeys;
};

// From SQLite to PostgreSQL, and back.
class BackupTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  Kept in_file(const DataPlaces& places) {
    files_.make_directories(places.root, 0700).ok();
    return {*open_sqlite(places.database()), clock_, random_};
  }
  Kept on_server() { return {server_.open(), clock_, random_}; }

  // Something in each table.
  void fill(Kept& kept, Blobs& blobs) {
    for (const char* name : {"ann", "bob", "mod"})
      ASSERT_TRUE(kept.accounts->add(name, Role::Author, "hash").ok());
    ASSERT_TRUE(
        kept.accounts->add_token({.account = "ann", .digest = "t1", .label = "é ☃", .scopes = "versions"})
            .ok());
    ASSERT_TRUE(kept.accounts->begin_second_factor("bob", "secret").ok());
    ASSERT_TRUE(kept.accounts->confirm_second_factor("bob", 7, {"r1", "r2"}).ok());
    ASSERT_TRUE(kept.passkeys->handle("bob").ok());
    ASSERT_TRUE(kept.passkeys
                    ->add("bob",
                          {.credential = std::string("c\0d", 3),
                           .key = "PEM",
                           .name = "é",
                           .transports = {"usb", "nfc"},
                           .counter = 4'000'000'000},
                          {})
                    .ok());
    ASSERT_TRUE(kept.passkeys->begin_challenge({.digest = "d", .holder = "h"}).ok());
    ASSERT_TRUE(kept.accounts->link_identity("mod", "https://i.example", "42").ok());
    ASSERT_TRUE(
        kept.accounts->add_session({.account = "bob", .digest = "s1", .agent = "a", .peer = "192.0.2.1"})
            .ok());
    ASSERT_TRUE(kept.accounts->keep_domain("ann", "example.com").ok());
    ASSERT_TRUE(kept.accounts->claim_domain("ann", "shop.example", "192.0.2.1").ok());
    ASSERT_TRUE(
        kept.accounts->add_pending_sign_in({.state = "j", .browser = "b", .nonce = "n", .verifier = "v"})
            .ok());
    ASSERT_TRUE(kept.accounts->wait_for("sign in", 1min, 3).ok());
    ASSERT_TRUE(kept.accounts->add("gone", Role::Author, "").ok());
    ASSERT_TRUE(kept.accounts->remove("gone").ok());
    for (const char* package : {"etcd", "redis"})
      ASSERT_TRUE(
          kept.store->add_project({.name = package, .owner = "ann", .url = "https://g.example/x"}).ok());
    for (const char* number : {"1.0.0", "1.1.0"}) {
      NewVersion version{.package = "etcd", .version = number, .tag = number, .commit = std::string(40, 'a')};
      version.digest = blobs.put(std::string("bytes\0of ", 9) + number)->str();
      version.facts.description = "keeps keys";
      version.facts.details = "Raft, éclair";
      version.readme = "# It's\n";
      ASSERT_TRUE(kept.store->submit(version).ok());
    }
    const auto job = kept.store->lease("w", 30s);
    ASSERT_TRUE(job.ok() && *job);
    ASSERT_TRUE(kept.store->add_step(**job, {.name = "lint", .summary = "ok", .log = "line\nline"}).ok());
    ASSERT_TRUE(kept.store->note_objects(**job, {}, {}, blobs.put("objects")->str()).ok());
    const auto tasks = task_store_in(kept.database);
    ASSERT_TRUE(tasks->put(**job, "digest of a token", "{}").ok());
    ASSERT_TRUE(tasks->add_piece("digest of a token", 0, "é\n", true).ok());
    ASSERT_TRUE(kept.store->finish(**job, true).ok());
    ASSERT_TRUE(kept.store->yank("etcd", "1.1.0", "it lost keys").ok());
    ASSERT_TRUE(
        kept.store->add_downloads({{blobs.put(std::string("bytes\0of 1.0.0", 14))->str(), 20'000, 3}}).ok());
    ASSERT_TRUE(
        kept.store->add_installs({{blobs.put(std::string("bytes\0of 1.0.0", 14))->str(), 20'000, 2}}).ok());
    ASSERT_TRUE(kept.feedback->rate("etcd", "bob", 4).ok());
    for (const char* text : {"first", "second", "third"})
      ASSERT_TRUE(kept.feedback->add_comment("etcd", "bob", text).ok());
    ASSERT_TRUE(kept.feedback->report_comment(1, "mod", "spam").ok());
    ASSERT_TRUE(kept.feedback->hide_comment(1, "mod", "spam").ok());
    ASSERT_TRUE(kept.feedback->remove_comment(3, "bob").ok());
    ASSERT_TRUE(
        kept.store->audit({.who = "ann", .what = "link", .subject = "etcd", .peer = "192.0.2.1"}).ok());
  }

  // Every row of a file, by its table, but those of the full-text search.
  static std::map<std::string, std::multiset<std::string>> rows(const Path& file) {
    const auto database = *open_sqlite(file);
    const auto read = [&](const std::string& sql, const sql::OnRow& row) {
      const Status done = database->read(sql, {}, row);
      EXPECT_TRUE(done.ok()) << done.error().to_line();
    };
    std::map<std::string, std::multiset<std::string>> found;
    read("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'words%'",
         [&](const sql::Row& row) { found[row.text(0)]; });
    for (auto& [table, content] : found) {
      std::string columns;
      read(fmt::format("SELECT name FROM pragma_table_info('{}')", table), [&](const sql::Row& row) {
        columns += fmt::format("{}quote(\"{}\")", columns.empty() ? "" : " || ' ' || ", row.text(0));
      });
      read(fmt::format("SELECT {} FROM {}", columns, table),
           [&content = content](const sql::Row& row) { content.insert(row.text(0)); });
    }
    return found;
  }

  HostFileSystem files_;
  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  const DataPlaces first_{dir_.path() / "first"}, last_{dir_.path() / "last"};
  const Path backup_ = dir_.path() / "backup", back_ = dir_.path() / "back",
             scratch_ = dir_.path() / "scratch";
  const TestDatabase server_{DatabaseKind::Postgres, {}};
};

TEST_P(BackupTest, LeadsFromSqliteToPostgresAndBackWithEverything) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  Status done = back_up(files_, first_, backup_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  done = restore(files_, backup_, server_.url(), scratch_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_FALSE(files_.exists(scratch_));
  Kept moved = on_server();
  EXPECT_NE(*moved.store->instance(), *kept.store->instance()) << "both may run";
  EXPECT_EQ((*moved.accounts->session("s1"))->account.name, "bob");
  EXPECT_EQ(moved.store->search("raft eclair", {}, {})->items.size(), 1U) << "words are found";
  std::int64_t known_sizes = 0;
  ASSERT_TRUE(moved.database
                  ->read("SELECT count(*) FROM pg_class WHERE relname IN ('versions', 'listed', 'words') AND "
                         "relnamespace = current_schema()::regnamespace AND reltuples > 0",
                         {}, [&](const sql::Row& row) { known_sizes = row.integer(0); })
                  .ok());
  EXPECT_EQ(known_sizes, 3) << "without them, the server plans as if its tables were empty";
  EXPECT_EQ((*moved.store->last_run("etcd", "1.0.0"))->steps.at(0).log, "line\nline");
  const SqlBlobs there(moved.database);
  EXPECT_EQ(there.get(crypto::sha256(std::string_view("bytes\0of 1.1.0", 14)))->size(), 14U);
  EXPECT_TRUE(there.get(crypto::sha256("objects")).ok());
  const auto job = moved.store->lease("w2", 30s);
  ASSERT_TRUE(job.ok() && *job) << "the queue goes on";
  EXPECT_EQ((*job)->version, "1.1.0");
  ASSERT_TRUE(moved.store->give_back(**job, 0s).ok());

  done = back_up(files_, server_.url(), back_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(back_up(files_, server_.url(), back_, Context()).error().kind, ErrorKind::Conflict);
  done = restore(files_, back_, last_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  auto before = rows(first_.database());
  auto after = rows(last_.database());
  EXPECT_GT(before.size(), 20U);
  for (const auto& [table, content] : before) {
    EXPECT_FALSE(content.empty() && table != "sqlite_sequence") << table << ": the test has nothing of it";
    // The lease and its end counted.
    if (table == "counters" || table == "accounts" || table == "runs" || table == "jobs" ||
        table == "versions") {
      EXPECT_EQ(after[table].size(), content.size()) << table;
      continue;
    }
    if (table == "settings") {
      EXPECT_EQ(after[table].size() + 1, content.size()) << "it is another catalog";
      continue;
    }
    EXPECT_EQ(after[table], content) << table;
  }
  Kept again = in_file(last_);
  EXPECT_EQ(again.store->search("eclair", {}, {})->items.size(), 1U);
  EXPECT_EQ((*moved.accounts->owner_of_token("t1"))->account.name, "ann");
  EXPECT_EQ((*again.accounts->owner_of_token("t1"))->account.name, "ann");
  // A number never means another comment.
  EXPECT_EQ(*moved.feedback->add_comment("etcd", "bob", "fourth"), 4);
  EXPECT_EQ(*again.feedback->add_comment("etcd", "bob", "fourth"), 4);
}

TEST_P(BackupTest, TakesPathsThatEndWithASlash) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  Status done = back_up(files_, first_, backup_ / "", Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(back_up(files_, first_, backup_ / "", Context()).error().kind, ErrorKind::Conflict);
  done = restore(files_, backup_ / "", DataPlaces{last_.root / ""}, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_TRUE(*in_file(last_).accounts->find("bob"));
}

// Such as a file system's snapshot of the data.
TEST_P(BackupTest, RestoresWhatStandsInTheLogBesideTheDatabase) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  ASSERT_TRUE(kept.accounts->add("late", Role::Author, "").ok());
  const Status done = restore(files_, first_.root, last_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_TRUE(*in_file(last_).accounts->find("late"));
}

TEST_P(BackupTest, IsRefusedByADatabaseThatHasACatalog) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  ASSERT_TRUE(back_up(files_, first_, backup_, Context()).ok());
  Kept other = on_server();
  ASSERT_TRUE(other.accounts->add("zoe", Role::Author, "").ok());
  const Status done = restore(files_, backup_, server_.url(), scratch_, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(done.error().because, HasSubstr("accounts"));
  EXPECT_EQ(other.accounts->list({})->items.size(), 1U);
}

TEST_P(BackupTest, ThatIsDamagedLeavesNothing) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  ASSERT_TRUE(back_up(files_, first_, backup_, Context()).ok());
  const Path place = FileBlobs(files_, DataPlaces{backup_}.blobs()).place_of(crypto::sha256("objects"));
  ASSERT_TRUE(files_.write(place, "damaged").ok());
  EXPECT_EQ(restore(files_, backup_, server_.url(), scratch_, Context()).error().kind, ErrorKind::Invalid);
  EXPECT_FALSE(files_.exists(scratch_));
  EXPECT_TRUE(on_server().accounts->list({})->items.empty());
  ASSERT_TRUE(files_.write(place, "objects").ok());
  const Status done = restore(files_, backup_, server_.url(), scratch_, Context());
  EXPECT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(restore(files_, dir_.path() / "nothing", server_.url(), scratch_, Context()).error().kind,
            ErrorKind::NotFound);
}

TEST_P(BackupTest, IsNotRestoredInADirectoryThatAnotherRestoreUses) {
  Kept kept = in_file(first_);
  FileBlobs blobs(files_, first_.blobs());
  fill(kept, blobs);
  ASSERT_TRUE(back_up(files_, first_, backup_, Context()).ok());
  ASSERT_TRUE(files_.write(scratch_ / "a", "of another").ok());
  const Path lock_file = scratch_.string() + ".lock";
  {
    const auto lock = FileLock::acquire(lock_file, Context());
    ASSERT_TRUE(lock.ok()) << lock.error().to_line();
    EXPECT_EQ(restore(files_, backup_, server_.url(), scratch_, Context()).error().kind, ErrorKind::Conflict);
    EXPECT_TRUE(files_.exists(scratch_ / "a"));
  }
  const Status done = restore(files_, backup_, server_.url(), scratch_, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_FALSE(files_.exists(scratch_));
  EXPECT_FALSE(files_.exists(lock_file));
}

TEST_P(BackupTest, ADatabaseOfAnotherVersionIsRefusedAndStaysAsItIs) {
  const auto refusal = [&] {
    const Status done = back_up(files_, server_.url(), backup_, Context());
    EXPECT_FALSE(done.ok());
    EXPECT_FALSE(files_.exists(backup_));
    return done.ok() ? Error() : done.error();
  };
  auto server = *postgres::Database::open(server_.url());
  EXPECT_EQ(refusal().kind, ErrorKind::NotFound);
  EXPECT_EQ(*server->version(), 0) << "it makes no tables";
  ASSERT_TRUE(server->migrate(postgres_dialect().schema.first(1)).ok());
  const Error older = refusal();
  EXPECT_EQ(older.kind, ErrorKind::Invalid) << older.to_line();
  EXPECT_THAT(older.hint, HasSubstr("the program that the catalog runs"));
  EXPECT_EQ(*server->version(), 1);
  ASSERT_TRUE(server->migrate(postgres_dialect().schema).ok());
  ASSERT_TRUE(server->run("UPDATE schema_version SET version = version + 1").ok());
  EXPECT_EQ(refusal().kind, ErrorKind::Invalid);
}

// It would wait for ever if it took the writers' turn, which a standby refuses.
TEST_P(BackupTest, IsMadeWhileSomebodyWrites) {
  Kept kept = on_server();
  SqlBlobs blobs(kept.database);
  fill(kept, blobs);
  const Status done = kept.database->writing([&](sql::Database& writer) -> Status {
    MIST_TRY_VOID(writer.run("UPDATE counters SET value = value + 1"));
    return back_up(files_, server_.url(), backup_, Context());
  });
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  ASSERT_TRUE(restore(files_, backup_, last_, Context()).ok());
  EXPECT_TRUE(*in_file(last_).accounts->find("bob"));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackupTest);
INSTANTIATE_TEST_SUITE_P(Databases, BackupTest, postgres_alone(), name_of_database);

}  // namespace
}  // namespace mist::catalog
