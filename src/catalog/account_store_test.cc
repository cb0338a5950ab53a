#include "catalog/account_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/database_fixture.h"
#include "catalog/sql_account_store.h"
#include "catalog/web_answers.h"
#include "sqlite/database.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;

class AccountStoreTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  AccountStoreTest() : accounts_(opened()) {
    EXPECT_TRUE(accounts_->add("ann", Role::Author, "hash").ok());
    EXPECT_TRUE(accounts_->add("bob", Role::Author, "").ok());
  }
  std::unique_ptr<AccountStore> opened() { return account_store_in(database_.open(), clock_, random_); }
  void begin(const std::string& account, const std::string& digest) {
    ASSERT_TRUE(accounts_->add_session({.account = account, .digest = digest}).ok());
  }
  bool is_session(const std::string& digest) { return accounts_->session(digest)->has_value(); }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  const TestDatabase database_{GetParam(), dir_.path() / "a.db"};
  std::unique_ptr<AccountStore> accounts_;
};

TEST_P(AccountStoreTest, NamesAreTakenOnce) {
  EXPECT_EQ(accounts_->add("ann", Role::Author, "").error().kind, ErrorKind::Conflict);
  EXPECT_EQ(accounts_->add("Ann <x>", Role::Author, "").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(*accounts_->password_of("ann"), "hash");
  EXPECT_EQ(*accounts_->password_of("bob"), "");
  EXPECT_EQ(*accounts_->password_of("nobody"), "");
  const auto first = accounts_->list({.after = {}, .limit = 1});
  EXPECT_EQ(first->items.at(0).account.name, "ann");
  EXPECT_EQ(accounts_->list({.after = first->next, .limit = 1})->items.at(0).account.name, "bob");
}

TEST_P(AccountStoreTest, AnAccountAndItsIdentityAreMadeTogetherOrNotAtAll) {
  ASSERT_TRUE(accounts_->add_identified("zoe", "https://i", "1").ok());
  EXPECT_EQ(*accounts_->account_of_identity("https://i", "1"), "zoe");
  EXPECT_EQ(accounts_->add_identified("zoe", "https://i", "2").error().kind, ErrorKind::Conflict);
  EXPECT_EQ(*accounts_->account_of_identity("https://i", "2"), "");
  EXPECT_EQ(accounts_->add_identified("zoe-2", "https://i", "1").error().kind, ErrorKind::Conflict);
  EXPECT_FALSE(*accounts_->find("zoe-2"));
  EXPECT_EQ(accounts_->add_identified("Zoe", "https://i", "3").error().kind, ErrorKind::Invalid);
}

TEST_P(AccountStoreTest, TokensAreOfAnAccountUntilTheyExpireOrAreRevoked) {
  ASSERT_TRUE(accounts_->add_token({.account = "ann", .digest = "d1", .label = ""}).ok());
  ASSERT_TRUE(
      accounts_->add_token({.account = "ann", .digest = "d2", .label = "", .expires = clock_.now() + 1h})
          .ok());
  EXPECT_EQ(accounts_->add_token({.account = "nobody", .digest = "d3", .label = ""}).error().kind,
            ErrorKind::NotFound);
  EXPECT_EQ((*accounts_->owner_of_token("d1"))->account.name, "ann");
  EXPECT_TRUE(*accounts_->owner_of_token("d2"));
  EXPECT_FALSE(*accounts_->owner_of_token("d' OR '1'='1"));
  clock_.advance(2h);
  EXPECT_FALSE(*accounts_->owner_of_token("d2"));
  ASSERT_TRUE(accounts_->revoke_tokens("ann").ok());
  EXPECT_FALSE(*accounts_->owner_of_token("d1"));
}

TEST_P(AccountStoreTest, ATokenIsListedWithItsUseAndRevokedAlone) {
  ASSERT_TRUE(
      accounts_->add_token({.account = "ann", .digest = "d1", .label = "ci", .scopes = "projects"}).ok());
  ASSERT_TRUE(accounts_->add_token({.account = "ann", .digest = "d2", .label = "laptop"}).ok());
  EXPECT_FALSE(accounts_->tokens("ann")->at(1).used);
  clock_.advance(1h);
  EXPECT_EQ((*accounts_->owner_of_token("d1"))->scopes, "projects");
  const auto tokens = accounts_->tokens("ann");
  EXPECT_EQ(tokens->at(1).label, "ci");
  EXPECT_EQ(tokens->at(1).used, clock_.now());
  EXPECT_FALSE(tokens->at(0).used);
  EXPECT_EQ(accounts_->revoke_token("bob", tokens->at(1).id).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(accounts_->revoke_token("ann", tokens->at(1).id).ok());
  EXPECT_FALSE(*accounts_->owner_of_token("d1"));
  EXPECT_TRUE(*accounts_->owner_of_token("d2"));
}

TEST_P(AccountStoreTest, ASessionEndsWhenItIsIdleAndAtTheLatestAfterItsTime) {
  begin("ann", "s1");
  begin("ann", "s2");
  EXPECT_EQ((*accounts_->session("s1"))->account.name, "ann");
  for (int hours = 0; hours < 7 * 24 - 11; hours += 11) {
    EXPECT_TRUE(is_session("s1")) << hours;
    clock_.advance(11h);
  }
  EXPECT_FALSE(is_session("s2")) << "it wasn't used";
  EXPECT_TRUE(is_session("s1"));
  clock_.advance(11h);
  EXPECT_FALSE(is_session("s1")) << "it is too old, though it was used";
}

TEST_P(AccountStoreTest, AnotherProcessKnowsTheSession) {
  begin("ann", "s1");
  const auto other = opened();
  EXPECT_TRUE(*other->session("s1"));
  ASSERT_TRUE(other->end_session("s1").ok());
  EXPECT_FALSE(is_session("s1"));
}

TEST_P(AccountStoreTest, OthersEndAndOneStays) {
  for (const char* digest : {"s1", "s2", "s3"}) begin("ann", digest);
  begin("bob", "s4");
  ASSERT_TRUE(accounts_->end_other_sessions("ann", "s2").ok());
  EXPECT_FALSE(is_session("s1"));
  EXPECT_TRUE(is_session("s2"));
  EXPECT_TRUE(is_session("s4"));
  EXPECT_EQ(accounts_->sessions("ann")->size(), 1U);
}

TEST_P(AccountStoreTest, AnAccountHasNoEndlessSessions) {
  for (int i = 0; i < 60; ++i) begin("ann", std::to_string(i));
  EXPECT_EQ(accounts_->sessions("ann")->size(), 50U);
  EXPECT_FALSE(is_session("9"));
  EXPECT_TRUE(is_session("59"));
}

TEST_P(AccountStoreTest, AnotherPasswordOrRoleEndsTheSessions) {
  begin("ann", "s1");
  begin("bob", "s2");
  ASSERT_TRUE(accounts_->set_password("ann", "other").ok());
  EXPECT_FALSE(is_session("s1"));
  ASSERT_TRUE(accounts_->set_role("bob", Role::Moderator).ok());
  EXPECT_FALSE(is_session("s2"));
  EXPECT_EQ((*accounts_->find("bob"))->account.role, Role::Moderator);
  EXPECT_EQ(accounts_->set_role("nobody", Role::Author).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(accounts_->rehash_password("ann", "hash", "third").ok());
  EXPECT_EQ(*accounts_->password_of("ann"), "other") << "it was changed meanwhile";
}

TEST_P(AccountStoreTest, NothingLetsADisabledAccountIn) {
  begin("ann", "s1");
  ASSERT_TRUE(accounts_->add_token({.account = "ann", .digest = "d1", .label = ""}).ok());
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  EXPECT_FALSE(is_session("s1"));
  EXPECT_FALSE(*accounts_->owner_of_token("d1"));
  EXPECT_EQ(*accounts_->password_of("ann"), "");
  EXPECT_EQ(accounts_->add_session({.account = "ann", .digest = "s2"}).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  EXPECT_EQ(*accounts_->password_of("ann"), "hash");
  EXPECT_FALSE(is_session("s1")) << "what ended stays so";
  EXPECT_FALSE(*accounts_->owner_of_token("d1"));
}

TEST_P(AccountStoreTest, ACodeIsUsedOnce) {
  begin("ann", "s1");
  ASSERT_TRUE(accounts_->begin_second_factor("ann", std::string("\0secret\xff", 8)).ok());
  EXPECT_EQ((*accounts_->second_factor("ann"))->secret, std::string("\0secret\xff", 8));
  EXPECT_FALSE((*accounts_->second_factor("ann"))->confirmed);
  EXPECT_FALSE(*accounts_->use_code("ann", 1)) << "it isn't confirmed";
  ASSERT_TRUE(accounts_->confirm_second_factor("ann", 100, {"r1", "r2"}).ok());
  EXPECT_FALSE(is_session("s1"));
  EXPECT_TRUE((*accounts_->find("ann"))->has_second_factor);
  EXPECT_FALSE(*accounts_->use_code("ann", 100));
  EXPECT_FALSE(*accounts_->use_code("ann", 99));
  EXPECT_TRUE(*accounts_->use_code("ann", 101));
  EXPECT_FALSE(*opened()->use_code("ann", 101));
  EXPECT_FALSE(*accounts_->use_code("bob", 102));
  EXPECT_FALSE(*accounts_->use_recovery_code("bob", "r1"));
  EXPECT_TRUE(*accounts_->use_recovery_code("ann", "r1"));
  EXPECT_FALSE(*accounts_->use_recovery_code("ann", "r1"));
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 1);
  EXPECT_EQ(accounts_->begin_second_factor("ann", "other").error().kind, ErrorKind::Conflict);
  EXPECT_EQ(accounts_->confirm_second_factor("ann", 103, {}).error().kind, ErrorKind::Conflict);
  ASSERT_TRUE(accounts_->end_second_factor("ann").ok());
  EXPECT_FALSE(*accounts_->use_recovery_code("ann", "r2"));
  EXPECT_EQ(accounts_->end_second_factor("ann").error().kind, ErrorKind::NotFound);
}

TEST_P(AccountStoreTest, TriesWhileTheClockWasAheadLockNobodyOutAfterwards) {
  clock_.advance(24h);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 0);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 30);
  clock_.advance(-24h);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 0);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 30) << "tries count again";
  // Clocks of two processes that differ a little give nobody more tries.
  clock_.advance(-1min);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 90);
}

TEST_P(AccountStoreTest, ProcessesCountTriesTogether) {
  const auto other = opened();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*(i % 2 == 0 ? accounts_ : other)->wait_for("a", 30s, 3), 0);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 30);
  EXPECT_EQ(*other->wait_for("a", 30s, 3), 30) << "a refused try doesn't count";
  EXPECT_EQ(*other->wait_for("b", 30s, 3), 0) << "another's";
  clock_.advance(29'500ms);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 1);
  clock_.advance(500ms);
  EXPECT_EQ(*accounts_->wait_for("a", 30s, 3), 0);
  EXPECT_EQ(*other->wait_for("a", 30s, 3), 30);
  clock_.advance(1h);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*other->wait_for("a", 30s, 3), 0) << "no more than that is saved up";
  EXPECT_EQ(*other->wait_for("a", 30s, 3), 30);
  // Text typed in place of a name isn't kept.
  EXPECT_EQ(*accounts_->wait_for("my password", 30s, 3), 0);
  EXPECT_EQ(database_.content().find("my password"), std::string::npos);
}

TEST_P(AccountStoreTest, ASessionThatAwaitsACodeWaitsNotForLong) {
  ASSERT_TRUE(accounts_->add_session({.account = "ann", .digest = "s1", .awaits_code = true}).ok());
  EXPECT_TRUE((*accounts_->session("s1"))->awaits_code);
  EXPECT_TRUE(accounts_->sessions("ann")->empty());
  clock_.advance(10min);
  EXPECT_FALSE(is_session("s1"));
}

// As a standby has it, or a disk that was mounted again to be read only.
TEST(AccountStoreThatTakesNoWrites, LetsInWhomItKnowsAndBlamesNobody) {
  const mist::testing::TempDir dir;
  mist::testing::FakeClock clock;
  SystemRandom random;
  mist::testing::RecordedEvents events;
  const Path file = dir.path() / "a.db";
  const auto writable = *open_sqlite(file);
  const auto before = account_store_in(writable, clock, random);
  ASSERT_TRUE(before->add("ann", Role::Author, "").ok());
  ASSERT_TRUE(before->add_token({.account = "ann", .digest = "d1", .label = "ci"}).ok());
  ASSERT_TRUE(before->add_session({.account = "ann", .digest = "s1"}).ok());
  clock.advance(1h);
  const auto connect = [&]() -> Result<std::unique_ptr<sql::Database>> {
    MIST_TRY(sqlite::Database opened, sqlite::Database::open(file, {.read_only = true}));
    return std::make_unique<sqlite::Database>(std::move(opened));
  };
  const auto read_only = std::make_shared<SqlConnections>(sqlite_dialect(), connect, *connect());
  const auto store = account_store_in(read_only, clock, random, {}, &events);
  const auto owner = store->owner_of_token("d1");
  EXPECT_TRUE(owner.ok() && *owner);
  const auto session = store->session("s1");
  EXPECT_TRUE(session.ok() && *session);
  EXPECT_TRUE(events.has(file.string()));
  const auto refused = store->add("bob", Role::Author, "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(status_of(refused.error()), 503) << "not a mistake of whoever asks";
  EXPECT_EQ(for_everybody(refused.error()).to_line().find(file.string()), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Databases, AccountStoreTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
