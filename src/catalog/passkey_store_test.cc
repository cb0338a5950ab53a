#include "catalog/passkey_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/database_fixture.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_passkey_store.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class PasskeyStoreTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  PasskeyStoreTest() {
    EXPECT_TRUE(accounts_->add("ann", Role::Author, "hash").ok());
    EXPECT_TRUE(accounts_->add("bob", Role::Author, "hash").ok());
  }
  Status add(const std::string& account, const std::string& credential, std::uint32_t counter = 0) {
    return passkeys_->add(account,
                          {.credential = credential,
                           .key = "PEM",
                           .name = "name of " + credential,
                           .transports = {"usb", "nfc"},
                           .counter = counter,
                           .backup_eligible = true},
                          {});
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  const TestDatabase database_{GetParam(), dir_.path() / "a.db"};
  const std::shared_ptr<SqlConnections> connections_ = database_.open();
  const std::unique_ptr<AccountStore> accounts_ = account_store_in(connections_, clock_, random_);
  const std::unique_ptr<PasskeyStore> passkeys_ = passkey_store_in(connections_, clock_, random_);
};

TEST_P(PasskeyStoreTest, KeepsWhatItWasGiven) {
  const std::string credential("\x00\xff\x01", 3);
  ASSERT_TRUE(add("ann", credential, 4'000'000'000).ok());
  const auto found = *passkeys_->find(credential);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->account, "ann");
  EXPECT_EQ(found->passkey.facts.credential, credential);
  EXPECT_EQ(found->passkey.facts.key, "PEM");
  EXPECT_THAT(found->passkey.facts.transports, ElementsAre("usb", "nfc"));
  EXPECT_EQ(found->passkey.facts.counter, 4'000'000'000U);
  EXPECT_TRUE(found->passkey.facts.backup_eligible);
  EXPECT_FALSE(found->passkey.used);
  EXPECT_FALSE(*passkeys_->find("x' OR '1'='1"));
  EXPECT_EQ(add("bob", credential).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(add("nobody", "other").error().kind, ErrorKind::NotFound);
}

TEST_P(PasskeyStoreTest, TheHandleOfAnAccountIsRandomAndStays) {
  const std::string anns = *passkeys_->handle("ann");
  EXPECT_EQ(anns.size(), 32U);
  EXPECT_EQ(*passkeys_->handle("ann"), anns);
  EXPECT_NE(*passkeys_->handle("bob"), anns);
  EXPECT_EQ(passkeys_->handle("nobody").error().kind, ErrorKind::NotFound);
}

TEST_P(PasskeyStoreTest, AnAccountHasNoEndlessPasskeys) {
  for (int i = 0; i < PasskeyStore::kMostPasskeys; ++i) ASSERT_TRUE(add("ann", "c" + std::to_string(i)).ok());
  EXPECT_EQ(add("ann", "one more").error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(add("bob", "one more").ok());
}

TEST_P(PasskeyStoreTest, ACounterNeverGoesBack) {
  ASSERT_TRUE(add("ann", "c", 5).ok());
  const std::int64_t id = passkeys_->passkeys("ann")->at(0).id;
  clock_.advance(1h);
  EXPECT_TRUE(*passkeys_->use(id, 6));
  EXPECT_EQ(passkeys_->passkeys("ann")->at(0).used, clock_.now());
  clock_.advance(1h);
  for (const std::uint32_t back : {6U, 5U, 0U}) EXPECT_FALSE(*passkeys_->use(id, back));
  const Passkey kept = passkeys_->passkeys("ann")->at(0);
  EXPECT_EQ(kept.suspected, clock_.now());
  EXPECT_NE(kept.used, clock_.now());
  EXPECT_TRUE(*passkeys_->use(id, 7));
  ASSERT_TRUE(add("bob", "never counts").ok());
  const std::int64_t zero = passkeys_->passkeys("bob")->at(0).id;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(*passkeys_->use(zero, 0));
}

TEST_P(PasskeyStoreTest, ADisabledAccountsPasskeyIsNotFound) {
  ASSERT_TRUE(add("ann", "c").ok());
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  EXPECT_FALSE(*passkeys_->find("c"));
}

TEST_P(PasskeyStoreTest, OnlyItsOwnerRemovesIt) {
  ASSERT_TRUE(add("ann", "c").ok());
  const std::int64_t id = passkeys_->passkeys("ann")->at(0).id;
  EXPECT_EQ(passkeys_->remove("bob", id).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(accounts_->add_session({.account = "ann", .digest = "s"}).ok());
  ASSERT_TRUE(passkeys_->remove("ann", id).ok());
  EXPECT_FALSE(accounts_->session("s")->has_value()) << "its sessions end";
  EXPECT_EQ(*passkeys_->remove_all("ann"), 0);
}

TEST_P(PasskeyStoreTest, AChallengeIsGoodOnceForItsBrowserAndPurpose) {
  const Challenge challenge{.digest = "d", .holder = "h", .purpose = ChallengeFor::Confirm};
  const auto begin = [&] { ASSERT_TRUE(passkeys_->begin_challenge(challenge).ok()); };
  begin();
  EXPECT_TRUE(*passkeys_->end_challenge(challenge));
  EXPECT_FALSE(*passkeys_->end_challenge(challenge)) << "used";
  for (const Challenge& other : {Challenge{.digest = "d", .holder = "x", .purpose = ChallengeFor::Confirm},
                                 Challenge{.digest = "d", .holder = "h", .purpose = ChallengeFor::SignIn}}) {
    begin();
    EXPECT_FALSE(*passkeys_->end_challenge(other));
    EXPECT_FALSE(*passkeys_->end_challenge(challenge)) << "it is over, whoever asked";
  }
  begin();
  clock_.advance(PasskeyStore::kChallengeTime);
  EXPECT_FALSE(*passkeys_->end_challenge(challenge)) << "too late";
}

INSTANTIATE_TEST_SUITE_P(Databases, PasskeyStoreTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
