#include "catalog/downloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "catalog/database_fixture.h"
#include "catalog/sign_in.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_store.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;

class DownloadsTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  DownloadsTest()
      : store_(*open_store(database_, clock_, random_)),
        accounts_(account_store_in(database_, clock_, random_)) {
    EXPECT_TRUE(accounts_->add("ann", Role::Author, "").ok());
    for (const char* package : {"etcd", "copy"})
      EXPECT_TRUE(store_->add_project({.name = package, .owner = "ann", .url = "https://g/e"}).ok());
    for (const char* number : {"1.0.0", "1.1.0"}) submit("etcd", number, digest_of(number));
    begin();
  }
  void submit(const std::string& package, const std::string& version, const std::string& digest) {
    EXPECT_TRUE(store_
                    ->submit({.package = package,
                              .version = version,
                              .tag = "v" + version,
                              .commit = std::string(40, 'a'),
                              .digest = digest})
                    .ok());
  }
  static std::string digest_of(const std::string& text) { return crypto::sha256(text).str(); }
  void begin() {
    counter_.emplace(DownloadCounter::Dependencies{
        .store = *store_, .clock = clock_, .random = random_, .events = events_});
  }
  std::int64_t count(const std::string& version, const std::string& package = "etcd") {
    counter_->keep();
    return (*store_->version(package, version))->downloads;
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  mist::testing::RecordedEvents events_;
  const TestDatabase kept_{GetParam(), dir_.path() / "a.db"};
  const std::shared_ptr<SqlConnections> database_ = kept_.open();
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountStore> accounts_;
  std::optional<DownloadCounter> counter_;
};

TEST_P(DownloadsTest, AClientCountsOnceADayForEachVersion) {
  for (int i = 0; i < 3; ++i) counter_->note("192.0.2.1", digest_of("1.0.0"));
  counter_->note("192.0.2.1", digest_of("1.1.0"));
  counter_->note("192.0.2.2", digest_of("1.0.0"));
  clock_.advance(2s);
  EXPECT_EQ(count("1.0.0"), 2);
  EXPECT_EQ(count("1.1.0"), 1);
  clock_.advance(24h);
  counter_->note("192.0.2.1", digest_of("1.0.0"));
  EXPECT_EQ(count("1.0.0"), 3);
  const auto days = *store_->downloads("etcd", 0);
  ASSERT_EQ(days.size(), 3U);
  EXPECT_EQ(day_text(days[0].day), "2026-03-02");
  EXPECT_EQ(days[0].count, 1);
  EXPECT_EQ(day_text(days[2].day), "2026-03-01");
  EXPECT_EQ(days[1].version, "1.1.0");
  EXPECT_EQ(days[2].count, 2);
  EXPECT_EQ(store_->downloads("etcd", days[0].day)->size(), 1U);
}

TEST_P(DownloadsTest, ADayIsThatOfTheDownloadNotOfItsWriting) {
  counter_->note("192.0.2.1", digest_of("1.0.0"));  // is written at once
  counter_->note("192.0.2.2", digest_of("1.0.0"));  // waits
  clock_.advance(24h);
  counter_->note("192.0.2.2", digest_of("1.0.0"));
  const auto days = *store_->downloads("etcd", 0);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_EQ(days[0].count, 1);
  EXPECT_EQ(days[1].count, 2);
}

TEST_P(DownloadsTest, NobodyWaitsWhileCountsAreWritten) {
  std::vector<std::future<void>> notes;
  bool is_through = false;
  // Somebody else has the turn to write.
  ASSERT_TRUE(database_
                  ->writing([&](sql::Database&) -> Status {
                    for (const char* client : {"192.0.2.1", "192.0.2.2"})
                      notes.push_back(std::async(
                          std::launch::async, [&, client] { counter_->note(client, digest_of("1.0.0")); }));
                    for (int tries = 0; tries < 3000 && !is_through; ++tries)
                      for (const auto& each : notes)
                        is_through |= each.wait_for(5ms) == std::future_status::ready;
                    return {};
                  })
                  .ok());
  EXPECT_TRUE(is_through);
  for (auto& each : notes) each.get();
  clock_.advance(2s);
  EXPECT_EQ(count("1.0.0"), 2);
}

TEST_P(DownloadsTest, NothingIsLostWhenItEndsInOrder) {
  counter_->note("192.0.2.1", digest_of("1.0.0"));
  counter_->note("192.0.2.2", digest_of("1.0.0"));
  begin();
  EXPECT_EQ(count("1.0.0"), 2);
}

TEST_P(DownloadsTest, BytesCountForTheOldestVersionThatHasThem) {
  submit("copy", "1.0.0", digest_of("1.0.0"));
  counter_->note("192.0.2.1", digest_of("1.0.0"));
  counter_->note("192.0.2.1", digest_of("of nothing"));
  clock_.advance(2s);
  EXPECT_EQ(count("1.0.0"), 1);
  EXPECT_EQ(count("1.0.0", "copy"), 0) << "a copy takes no count of it";
}

TEST_P(DownloadsTest, AClientThatFetchesVeryMuchTakesNoRoomFromOthers) {
  for (std::uint32_t i = 0; i < 2 * DownloadCounter::kMostOfClient; ++i)
    counter_->note("192.0.2.1", digest_of(fmt::format("other {}", i)));
  counter_->note("192.0.2.1", digest_of("1.0.0"));
  clock_.advance(2s);
  EXPECT_EQ(count("1.0.0"), 0);
  counter_->note("192.0.2.2", digest_of("1.0.0"));
  clock_.advance(2s);
  EXPECT_EQ(count("1.0.0"), 1);
}

TEST_P(DownloadsTest, NoAddressIsKept) {
  counter_->note("192.0.2.99", digest_of("1.0.0"));
  clock_.advance(2s);
  ASSERT_EQ(count("1.0.0"), 1);
  const std::string content = kept_.content();
  EXPECT_NE(content.find(digest_of("1.0.0")), std::string::npos);
  EXPECT_EQ(content.find("192.0.2.99"), std::string::npos);
}

TEST(Client, IsAnIPv4AddressOrANetworkOfIPv6) {
  EXPECT_EQ(client_of("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client_of("::ffff:192.0.2.1"), "192.0.2.1") << "as [::]:8080 sees it";
  EXPECT_NE(client_of("::ffff:192.0.2.1"), client_of("::ffff:192.0.2.2"));
  EXPECT_EQ(client_of("2001:db8::1"), client_of("2001:db8::2"));
  EXPECT_NE(client_of("2001:db8::1"), client_of("2001:db8:0:1::1"));
}

INSTANTIATE_TEST_SUITE_P(Databases, DownloadsTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
