#include "sqlite/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>
#include <vector>

#include "base/storage_fault.h"
#include "testing/temp_dir.h"

namespace mist::sqlite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::string_view, 2> kScripts{
    "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size REAL) STRICT;",
    "ALTER TABLE things ADD COLUMN note TEXT;"};

class DatabaseTest : public ::testing::Test {
 protected:
  Database opened(const OpenOptions& options = {}) const {
    auto database = Database::open(file_, options);
    EXPECT_TRUE(database.ok()) << database.error().to_line();
    return *std::move(database);
  }
  Database migrated() const {
    Database database = opened();
    const Status done = database.migrate(kScripts);
    EXPECT_TRUE(done.ok()) << done.error().to_line();
    return database;
  }
  static std::vector<std::string> names(Database& database) {
    std::vector<std::string> found;
    const Status read = database.query("SELECT name FROM things ORDER BY id", {},
                                       [&](const Row& row) { found.push_back(row.text(0)); });
    EXPECT_TRUE(read.ok()) << read.error().to_line();
    return found;
  }

  mist::testing::TempDir dir_;
  Path file_ = dir_.path() / "a.db";
};

TEST_F(DatabaseTest, KeepsWhatParametersHoldAsItIs) {
  Database database = migrated();
  const std::string hostile = "'); DROP TABLE things; --\0\n\"x";
  const std::string with_nul("a\0b", 3);
  ASSERT_TRUE(
      database.run("INSERT INTO things (name, size, note) VALUES (?, ?, ?)", {hostile, 1.5, nullptr}).ok());
  EXPECT_EQ(database.last_id(), 1);
  ASSERT_TRUE(database.run("INSERT INTO things (name, note) VALUES (?, ?)", {with_nul, std::string()}).ok());
  EXPECT_THAT(names(database), ElementsAre(hostile, with_nul));
  bool first = true;
  ASSERT_TRUE(database
                  .query("SELECT size, note FROM things ORDER BY id", {},
                         [&](const Row& row) {
                           EXPECT_EQ(row.is_null(0), !first);
                           EXPECT_EQ(row.is_null(1), first) << "an empty text isn't NULL";
                           EXPECT_EQ(row.real(0), first ? 1.5 : 0.0);
                           first = false;
                         })
                  .ok());
}

TEST_F(DatabaseTest, MigratesOnceAndRefusesANewerSchema) {
  {
    Database database = opened();
    ASSERT_TRUE(database.migrate(std::span(kScripts).first(1)).ok());
    ASSERT_TRUE(database.run("INSERT INTO things (name) VALUES ('kept')").ok());
  }
  Database database = migrated();
  EXPECT_THAT(names(database), ElementsAre("kept"));
  ASSERT_TRUE(database.migrate(kScripts).ok());
  const Status older = database.migrate(std::span(kScripts).first(1));
  EXPECT_EQ(older.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(older.error().because, HasSubstr("version 2, this program knows 1"));
}

TEST_F(DatabaseTest, AMigrationThatFailsChangesNothing) {
  Database database = opened();
  const std::array<std::string_view, 2> broken{kScripts[0], "CREATE TABLE things (x);"};
  EXPECT_FALSE(database.migrate(broken).ok());
  EXPECT_FALSE(database.run("INSERT INTO things (name) VALUES ('a')").ok()) << "its first step stayed";
}

TEST_F(DatabaseTest, ATransactionIsAllOrNothing) {
  Database database = migrated();
  const Status failed = database.transaction([&]() -> Status {
    MIST_TRY_VOID(database.run("INSERT INTO things (name) VALUES ('a')"));
    MIST_TRY_VOID(database.run("INSERT INTO things (name) VALUES ('a')"));
    return {};
  });
  EXPECT_EQ(failed.error().kind, ErrorKind::Conflict) << failed.error().to_line();
  EXPECT_FALSE(is_storage_fault(failed.error())) << "it is about what was written";
  EXPECT_THAT(names(database), ElementsAre());
  ASSERT_TRUE(database
                  .transaction([&]() -> Status {
                    MIST_TRY_VOID(database.run("INSERT INTO things (name) VALUES ('b')"));
                    return {};
                  })
                  .ok());
  EXPECT_THAT(names(database), ElementsAre("b"));
}

TEST_F(DatabaseTest, ReadersSeeOneStateWhileSomebodyWrites) {
  Database writer = migrated();
  Database reader = opened({.read_only = true});
  ASSERT_TRUE(reader
                  .reading([&]() -> Status {
                    EXPECT_THAT(names(reader), ElementsAre());
                    MIST_TRY_VOID(writer.run("INSERT INTO things (name) VALUES ('a')"));
                    EXPECT_THAT(names(reader), ElementsAre());
                    return {};
                  })
                  .ok());
  EXPECT_THAT(names(reader), ElementsAre("a"));
  const Error refused = reader.run("INSERT INTO things (name) VALUES ('b')").error();
  EXPECT_EQ(refused.kind, ErrorKind::Forbidden);
  EXPECT_TRUE(is_storage_fault(refused));
}

TEST_F(DatabaseTest, WritersTakeTurns) {
  migrated();
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([this, thread] {
      Database database = opened();
      for (int i = 0; i < 25; ++i) {
        const Status done = database.transaction([&]() -> Status {
          MIST_TRY_VOID(
              database.run("INSERT INTO things (name) VALUES (?)", {fmt::format("{}-{}", thread, i)}));
          return {};
        });
        EXPECT_TRUE(done.ok()) << done.error().to_line();
      }
    });
  threads.clear();
  Database database = opened();
  EXPECT_EQ(names(database).size(), 100U);
}

TEST_F(DatabaseTest, AWriterThatDoesNotEndIsRetryable) {
  Database one = migrated();
  Database two = opened({.patience = std::chrono::milliseconds(20)});
  ASSERT_TRUE(one.transaction([&]() -> Status {
                   EXPECT_EQ(two.run("INSERT INTO things (name) VALUES ('a')").error().kind,
                             ErrorKind::Retryable);
                   return {};
                 })
                  .ok());
  EXPECT_TRUE(two.run("INSERT INTO things (name) VALUES ('a')").ok());
}

TEST_F(DatabaseTest, ProcessesSeeWhatOthersCommit) {
  Database one = migrated();
  Database two = opened();  // a second connection must not cost the first one its locks
  for (const char* name : {"of a child", "of another"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool done = false;
      if (auto theirs = Database::open(file_); theirs.ok())
        done = theirs->run("INSERT INTO things (name) VALUES (?)", {name}).ok();
      ::_exit(done ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(one.run("INSERT INTO things (name) VALUES (?)", {std::string("after ") + name}).ok());
  }
  EXPECT_THAT(names(two), ElementsAre("of a child", "after of a child", "of another", "after of another"));
}

TEST_F(DatabaseTest, BacksUpWhatIsCommitted) {
  Database database = migrated();
  ASSERT_TRUE(database.run("INSERT INTO things (name) VALUES ('a')").ok());
  const Path copy = dir_.path() / "copy.db";
  ASSERT_TRUE(database.back_up_to(copy).ok());
  ASSERT_TRUE(database.run("INSERT INTO things (name) VALUES ('b')").ok());
  EXPECT_EQ(database.back_up_to(copy).error().kind, ErrorKind::Conflict);
  auto copied = Database::open(copy);
  ASSERT_TRUE(copied.ok());
  EXPECT_THAT(names(*copied), ElementsAre("a"));
  EXPECT_TRUE(copied->check().ok());
}

TEST_F(DatabaseTest, NothingOfADeletedRowStaysInTheFile) {
  const auto holds = [&] {
    std::ifstream in(file_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    return bytes.find("a-name-to-forget") != std::string::npos;
  };
  {
    Database database = migrated();
    ASSERT_TRUE(database.run("INSERT INTO things (name) VALUES (?)", {std::string("a-name-to-forget")}).ok());
  }
  ASSERT_TRUE(holds());
  {
    Database database = opened();
    ASSERT_TRUE(database.run("DELETE FROM things", {}).ok());
  }
  EXPECT_FALSE(holds());
}

TEST_F(DatabaseTest, NobodyElseMayReadTheFile) {
  const ::mode_t before = ::umask(0);
  migrated();
  ::umask(before);
  struct stat facts{};
  ASSERT_EQ(::stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(DatabaseTest, WithoutALogThereIsOneFile) {
  Database database = opened({.journal = Journal::Rollback});
  ASSERT_TRUE(database.migrate(kScripts).ok());
  ASSERT_TRUE(database.run("INSERT INTO things(name) VALUES(?)", {"a"}).ok());
  EXPECT_EQ(names(database), std::vector<std::string>{"a"});
  EXPECT_FALSE(std::filesystem::exists(file_.string() + "-wal"));
}

TEST_F(DatabaseTest, AFileThatIsNoDatabaseIsInvalid) {
  std::ofstream(file_) << std::string(4096, 'x');
  const auto opened = Database::open(file_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::Invalid) << opened.error().to_line();
  EXPECT_TRUE(is_storage_fault(opened.error()));
  EXPECT_EQ(Database::open(dir_.path() / "no/such/a.db").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::sqlite
