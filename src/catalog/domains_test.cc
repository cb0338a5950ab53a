#include "catalog/domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/account_site_fixture.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DomainsTest : public AccountSiteTest {
 protected:
  DomainsTest() { publish("etcd", "ann"); }
  static int prove(Visit& visitor, const std::string& domain) {
    return visitor.post("/account/domains", {{"domain", domain}}).status;
  }
  std::string package_page() { return visit().get("/packages/etcd").body; }
};

TEST_P(DomainsTest, ARecordThatNamesTheAccountProvesADomain) {
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get("/account").body,
              HasSubstr("_mistletoe-catalog.example.com. TXT &quot;https://c.example account=ann&quot;"));
  EXPECT_EQ(prove(ann, "etcd.example"), 404);
  txt_["_mistletoe-catalog.etcd.example"] = {"v=spf1", "https://c.example account=bob",
                                             "https://evil.example account=ann"};
  EXPECT_EQ(prove(ann, "etcd.example"), 404) << "for others, or for another catalog";
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
  txt_["_mistletoe-catalog.etcd.example"].push_back("https://c.example account=ann");
  EXPECT_EQ(prove(ann, " ETCD.Example. "), 303);
  EXPECT_THAT(package_page(), HasSubstr("ann, whose domain is etcd.example (proved by DNS)"));
  EXPECT_THAT(ann.get("/account").body, HasSubstr("Remove etcd.example"));
  Visit bob = signed_in("bob");
  EXPECT_EQ(bob.post("/account/domains/remove", {{"domain", "etcd.example"}}).status, 404) << "it is ann's";
  EXPECT_EQ(ann.post("/account/domains/remove", {{"domain", "etcd.example"}}).status, 303);
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
}

TEST_P(DomainsTest, OnlyDomainsAreLookedUp) {
  Visit ann = signed_in("ann");
  for (const std::string& domain :
       {std::string(), std::string("localhost"), std::string("192.0.2.1"), std::string("a..example"),
        std::string("-a.example"), std::string("a.example/x"), std::string("a b.example"),
        std::string("<b>.example"), std::string("ä.example"), std::string(231, 'a') + ".example",
        std::string(64, 'a') + ".example"}) {
    EXPECT_EQ(prove(ann, domain), 400) << domain;
    clock_.advance(61s);
  }
  EXPECT_THAT(asked_, IsEmpty());
  dns_is_down_ = true;
  EXPECT_EQ(prove(ann, "a.example"), 503);
  dns_is_down_ = false;
  clock_.advance(1h);
  ann.get("/account");
  int tries = 0;
  while (tries < 100 && prove(ann, "a.example") == 404) ++tries;
  EXPECT_EQ(tries, 10) << "then it has to wait";
}

TEST_P(DomainsTest, ADomainWhoseRecordGoesIsNoLongerProved) {
  txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  Visit ann = signed_in("ann");
  ASSERT_EQ(prove(ann, "etcd.example"), 303);
  asked_.clear();
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_THAT(asked_, IsEmpty()) << "it was looked at today";
  clock_.advance(25h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_EQ(asked_.size(), 1U);
  dns_is_down_ = true;
  clock_.advance(6 * 24h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_THAT(package_page(), HasSubstr("etcd.example (proved by DNS)"))
      << "that it can't be asked says nothing";
  clock_.advance(25h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
  dns_is_down_ = false;
  Visit again = signed_in("ann");
  ASSERT_EQ(prove(again, "etcd.example"), 303);
  txt_.clear();
  clock_.advance(25h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
}

INSTANTIATE_TEST_SUITE_P(Databases, DomainsTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
