// A catalog whose disk is full: SQLite's file may grow no more, and files beside it can't be written. The
// file system itself is filled in tests/e2e/test_catalog_full_disk.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/storage_fault.h"
#include "catalog/account_site_fixture.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using http::WebAnswer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FullDiskTest : public AccountSiteTest {
 protected:
  FullDiskTest() {
    publish("etcd", "ann");
    const SecretString made = new_token(random_);
    EXPECT_TRUE(accounts_
                    ->add_token({.account = "ann",
                                 .digest = token_digest(made.reveal()),
                                 .label = "",
                                 .scopes = std::string(kUsualScopes)})
                    .ok());
    token_ = made.reveal();
  }
  // The database may have so many pages more than now.
  void leave_pages(int more) {
    std::int64_t pages = 0;
    const Status done = database_->writing([&](sql::Database& db) {
      return db.query("PRAGMA page_count", {}, [&](const sql::Row& row) { pages = row.integer(0); });
    });
    ASSERT_TRUE(done.ok()) << done.error().to_line();
    limit_pages(pages + more);
  }
  void limit_pages(std::int64_t most) {
    const Status done = database_->writing([&](sql::Database& db) {
      return db.query(fmt::format("PRAGMA max_page_count = {}", most), {}, [](const sql::Row&) {});
    });
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  WebAnswer link(const std::string& name) {
    http::WebRequest request{.method = "POST",
                             .path = "/api/v1/projects",
                             .body = fmt::format(R"({{"name": "{}", "url": "https://git.example.com/{}"}})",
                                                 name, std::string(600, 'x')),
                             .peer = "192.0.2.7"};
    request.headers = {{"Authorization", "Bearer " + token_}, {"Content-Type", "application/json"}};
    return site_->answer(request);
  }
  std::string token_;
};

TEST_P(FullDiskTest, AFullDiskRefusesChangesAndKeepsNothingByHalves) {
  leave_pages(0);
  std::vector<std::string> kept;
  WebAnswer refused;
  // Its pages have some room still.
  for (int i = 0; i < 200 && refused.status != 507; ++i) {
    const std::string name = fmt::format("p{}", i);
    refused = link(name);
    clock_.advance(std::chrono::seconds(5));
    if (refused.status == 201) kept.push_back(name);
  }
  ASSERT_EQ(refused.status, 507);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("the catalog's disk is full"), HasSubstr("try again later"),
                                  Not(HasSubstr("a.db"))));
  EXPECT_THAT(events_.messages, ::testing::Contains(HasSubstr("a.db")));
  const auto projects = [&] {
    std::vector<std::string> names;
    const auto found = *store_->projects("ann", {.after = {}, .limit = 1000});
    for (const Project& each : found.items) names.push_back(each.name);
    return names;
  };
  std::vector<std::string> expected = kept;
  expected.emplace_back("etcd");
  EXPECT_THAT(projects(), ::testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(store_->audit_log({.what = "link"}, {.after = {}, .limit = 1000})->items.size(), kept.size())
      << "a change and its entry are kept together, or not at all";
  for (const char* path :
       {"/", "/packages/etcd", "/search?q=etcd", "/healthz", "/api/v1/index", "/mistletoe-index.jsonl"})
    EXPECT_EQ(visit().get(path).status, 200) << path;
  limit_pages(1'000'000);
  EXPECT_EQ(link("again").status, 201);
  EXPECT_THAT(projects(), ::testing::Contains("again"));
}

TEST_P(FullDiskTest, APageSaysThatNothingWasKept) {
  Visit ann = signed_in("ann");
  leave_pages(0);
  WebAnswer refused;
  for (int i = 0; i < 200 && refused.status != 507; ++i) {
    refused = ann.post("/account/projects", {{"name", fmt::format("p{}", i)},
                                             {"url", "https://git.example.com/" + std::string(600, 'x')}});
    clock_.advance(std::chrono::seconds(5));
    ann.get("/account");
  }
  ASSERT_EQ(refused.status, 507);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("No room"), HasSubstr("nothing of what you sent was kept"),
                                  Not(HasSubstr("a.db"))));
  EXPECT_EQ(ann.get("/account").status, 200) << "the session's last use is kept later";
}

INSTANTIATE_TEST_SUITE_P(Databases, FullDiskTest, ::testing::Values(DatabaseKind::Sqlite), name_of_database);

}  // namespace
}  // namespace mist::catalog
