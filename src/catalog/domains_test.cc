#include "catalog/domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/account_site_fixture.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DomainsTest : public AccountSiteTest {
 protected:
  DomainsTest() { publish("etcd", "ann"); }
  static int claim(Visit& visitor, const std::string& domain) {
    return visitor.post("/account/domains", {{"domain", domain}}).status;
  }
  // Of the claim of ann's or bob's that was looked at: 303 if it is proved, 404 if its record isn't there,
  // 503 if nobody answers, or what the form was answered with.
  int prove(Visit& visitor, const std::string& domain) {
    const int answered = claim(visitor, domain);
    EXPECT_TRUE(site_->domains().look_at_claims().ok());
    if (answered != 303) return answered;
    for (const char* account : {"ann", "bob"}) {
      const auto claims = accounts_->domain_claims(account);
      for (const DomainClaim& each : *claims) {
        EXPECT_FALSE(each.is_open());
        EXPECT_EQ(each.peer, "") << "an address is kept no longer than it is needed";
        return each.problem.find("has no TXT record") != std::string::npos ? 404 : 503;
      }
    }
    return 303;
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

TEST_P(DomainsTest, ProgramsProveThemWithATokenOfTheScopeProjects) {
  const auto token = [&](const std::string& account, const std::string& scopes) {
    const SecretString made = new_token(random_);
    EXPECT_TRUE(
        accounts_
            ->add_token(
                {.account = account, .digest = token_digest(made.reveal()), .label = "", .scopes = scopes})
            .ok());
    return made.reveal();
  };
  const std::string ann = token("ann", "projects");
  const auto ask = [&](const std::string& method, const std::string& path, const std::string& as) {
    return site_->answer({.method = method,
                          .path = "/api/v1/domains" + path,
                          .headers = {{"Authorization", "Bearer " + as}},
                          .peer = "192.0.2.7"});
  };
  EXPECT_EQ(ask("GET", "", ann).body,
            "{\"items\":[],\"claims\":[],\"record\":{\"name\":\"_mistletoe-catalog.DOMAIN\",\"type\":\"TXT\","
            "\"text\":"
            "\"https://c.example account=ann\"}}\n");
  const auto look = [&] { EXPECT_TRUE(site_->domains().look_at_claims().ok()); };
  const WebAnswer asked = ask("PUT", "/etcd.example", ann);
  EXPECT_EQ(asked.status, 202);
  EXPECT_THAT(asked.body, HasSubstr("{\"domain\":\"etcd.example\",\"asked\":\"2026-03-01T"));
  EXPECT_THAT(ask("GET", "", ann).body, HasSubstr("\"problem\":null")) << "nobody has looked yet";
  look();
  EXPECT_THAT(ask("GET", "", ann).body, HasSubstr("_mistletoe-catalog.etcd.example has no TXT record"));
  txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  EXPECT_EQ(ask("PUT", "/etcd.example", token("ann", "versions")).status, 403);
  const std::string bob = token("bob", "projects");
  EXPECT_EQ(ask("PUT", "/etcd.example", bob).status, 202);
  look();
  EXPECT_THAT(ask("GET", "", bob).body, AllOf(HasSubstr("\"items\":[]"), HasSubstr("has no TXT record")))
      << "the record is ann's";
  EXPECT_EQ(ask("PUT", "/ETCD.example", ann).status, 202);
  look();
  EXPECT_THAT(
      ask("GET", "", ann).body,
      AllOf(HasSubstr("{\"domain\":\"etcd.example\",\"proved\":\"2026-03-01T"), HasSubstr("\"claims\":[]")));
  clock_.advance(1h);
  EXPECT_EQ(ask("PUT", "/etcd.example", ann).status, 202);
  look();
  EXPECT_THAT(ask("GET", "", ann).body, HasSubstr("\"checked\":\"2026-03-01T10:3"));
  EXPECT_THAT(package_page(), HasSubstr("whose domain is etcd.example"));
  EXPECT_EQ(store_->audit_log({.what = "prove domain"}, {})->items.size(), 1U)
      << "a second look changes nothing";
  EXPECT_EQ(store_->audit_log({.what = "prove domain"}, {})->items[0].peer, "192.0.2.7");
  for (const char* name : {"localhost", "192.0.2.1", "a%20b.example", "-a.example"})
    EXPECT_EQ(ask("PUT", fmt::format("/{}", name), ann).status, 400) << name;
  dns_is_down_ = true;
  clock_.advance(1h);
  EXPECT_EQ(ask("PUT", "/other.example", ann).status, 202);
  look();
  EXPECT_THAT(ask("GET", "", ann).body, HasSubstr("no name server answers"));
  EXPECT_EQ(ask("DELETE", "/etcd.example", bob).status, 204) << "a claim is taken back";
  EXPECT_EQ(ask("DELETE", "/etcd.example", bob).status, 404) << "the domain is ann's";
  EXPECT_EQ(ask("DELETE", "/etcd.example", ann).status, 204);
  EXPECT_EQ(ask("DELETE", "/etcd.example", ann).status, 404);
  EXPECT_EQ(ask("GET", "", "").status, 401);
  int refused = 0;
  for (int i = 0; i < 12; ++i) refused += ask("PUT", "/other.example", ann).status == 429 ? 1 : 0;
  EXPECT_GT(refused, 0) << "looking up is limited";
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

TEST_P(DomainsTest, ASlowNameServerHoldsUpNoRequest) {
  txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  Visit ann = signed_in("ann");
  Visit bob = signed_in("bob");
  EXPECT_EQ(claim(ann, "etcd.example"), 303);
  EXPECT_THAT(asked_, IsEmpty()) << "not by the thread that answers";
  EXPECT_THAT(ann.get("/account").body, HasSubstr("The record of etcd.example is being looked up"));
  int meanwhile = 0;
  meanwhile_ = [&] { meanwhile = claim(bob, "other.example"); };
  EXPECT_TRUE(*site_->domains().look_at_claims());
  EXPECT_EQ(meanwhile, 303);
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_THAT(package_page(), HasSubstr("etcd.example (proved by DNS)"));
  EXPECT_THAT(ann.get("/account").body, Not(HasSubstr("is being looked up")));
  EXPECT_TRUE(*site_->domains().look_at_claims()) << "bob's";
  EXPECT_THAT(bob.get("/account").body,
              AllOf(HasSubstr("other.example isn't proved"), HasSubstr("has no TXT record")));
  EXPECT_FALSE(*site_->domains().look_at_claims()) << "nothing is open";
}

TEST_P(DomainsTest, OneOfEachAccountIsLookedAtAfterTheOther) {
  Visit ann = signed_in("ann");
  Visit bob = signed_in("bob");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(claim(ann, fmt::format("d{}.example", i)), 303);
  clock_.advance(1s);
  EXPECT_EQ(claim(bob, "other.example"), 303);
  EXPECT_TRUE(*site_->domains().look_at_claims());
  EXPECT_EQ(asked_,
            (std::vector<std::string>{"_mistletoe-catalog.d0.example", "_mistletoe-catalog.other.example"}));
}

TEST_P(DomainsTest, AClaimThatIsTakenBackProvesNothing) {
  txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  Visit ann = signed_in("ann");
  EXPECT_EQ(claim(ann, "etcd.example"), 303);
  meanwhile_ = [&] {
    EXPECT_EQ(ann.post("/account/domains/remove", {{"domain", "etcd.example"}}).status, 303);
  };
  EXPECT_TRUE(site_->domains().look_at_claims().ok());
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
  EXPECT_TRUE(accounts_->domain_claims("ann")->empty());
  EXPECT_TRUE(store_->audit_log({.what = "prove domain"}, {})->items.empty());
}

TEST_P(DomainsTest, ARefusedClaimOfAProvedDomainIsTakenBackAloneAndEndsWithTheNextGoodCheck) {
  Visit ann = signed_in("ann");
  txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  ASSERT_EQ(prove(ann, "etcd.example"), 303);
  const auto refuse = [&] {
    txt_["_mistletoe-catalog.etcd.example"] = {};
    EXPECT_EQ(prove(ann, "etcd.example"), 404);
    txt_["_mistletoe-catalog.etcd.example"] = {"https://c.example account=ann"};
  };
  refuse();
  EXPECT_EQ(ann.post("/account/domains/remove", {{"domain", " ETCD.Example."}}).status, 303);
  EXPECT_TRUE(accounts_->domain_claims("ann")->empty());
  EXPECT_THAT(package_page(), HasSubstr("proved by DNS")) << "only the claim was taken back";
  refuse();
  clock_.advance(25h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_TRUE(accounts_->domain_claims("ann")->empty());
  EXPECT_THAT(package_page(), HasSubstr("proved by DNS"));
  Visit later = signed_in("ann");
  EXPECT_EQ(later.post("/account/domains/remove", {{"domain", "Etcd.example."}}).status, 303);
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
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
  EXPECT_THAT(package_page(), HasSubstr("proved by DNS"));
}

TEST_P(DomainsTest, ADomainLapsesAfterThreeDaysWithoutItsRecordAndItsAccountIsTold) {
  const std::vector<std::string> record{"https://c.example account=ann"};
  txt_["_mistletoe-catalog.etcd.example"] = record;
  Visit ann = signed_in("ann");
  ASSERT_EQ(prove(ann, "etcd.example"), 303);
  EXPECT_THAT(ann.get("/account").body, Not(HasSubstr("record isn't there")));
  const auto next_day = [&] {
    clock_.advance(25h);
    ASSERT_TRUE(site_->domains().check_again().ok());
    // The next rounds of the same day don't count.
    clock_.advance(1h);
    ASSERT_TRUE(site_->domains().check_again().ok());
  };
  txt_.clear();
  next_day();
  next_day();
  EXPECT_THAT(package_page(), HasSubstr("etcd.example (proved by DNS)"));
  EXPECT_THAT(signed_in("ann").get("/account").body,
              HasSubstr("it was last on 2026-03-01. If it is missing for 1 day more"));
  // It is back before the domain lapses.
  txt_["_mistletoe-catalog.etcd.example"] = record;
  next_day();
  EXPECT_THAT(signed_in("ann").get("/account").body, Not(HasSubstr("record isn")));
  txt_.clear();
  for (int day = 0; day < 3; ++day) next_day();
  EXPECT_THAT(package_page(), Not(HasSubstr("proved by DNS")));
  Visit again = signed_in("ann");
  EXPECT_THAT(again.get("/account").body,
              HasSubstr("It has lapsed: its record was there last on 2026-03-04"));
  const auto lapses = *store_->audit_log({.what = "lapse domain"}, {});
  ASSERT_EQ(lapses.items.size(), 1U);
  EXPECT_EQ(lapses.items[0].subject, "etcd.example");
  asked_.clear();
  next_day();
  EXPECT_THAT(asked_, IsEmpty()) << "nobody looks at it any more";
  Visit late = signed_in("ann");
  EXPECT_EQ(prove(late, "etcd.example"), 404);
  txt_["_mistletoe-catalog.etcd.example"] = record;
  EXPECT_EQ(prove(late, "etcd.example"), 303);
  EXPECT_THAT(package_page(), HasSubstr("etcd.example (proved by DNS)"));
  EXPECT_EQ(store_->audit_log({.what = "prove domain"}, {})->items.size(), 2U);
  EXPECT_EQ(accounts_->domains("ann")->at(0).failures, 0);
}

TEST_P(DomainsTest, SilentNameServersKeepNoOtherDomainFromBeingLookedAt) {
  for (int i = 0; i < DomainActions::kChecksAtOnce; ++i)
    ASSERT_TRUE(accounts_->keep_domain("bob", fmt::format("d{}.example", i)).ok());
  clock_.advance(1s);
  ASSERT_TRUE(accounts_->keep_domain("ann", "etcd.example").ok());
  clock_.advance(25h);
  dns_is_down_ = true;
  EXPECT_TRUE(*site_->domains().check_again()) << "there are more";
  EXPECT_EQ(asked_.size(), 100U);
  EXPECT_THAT(asked_, Not(Contains("_mistletoe-catalog.etcd.example")));
  EXPECT_FALSE(*site_->domains().check_again()) << "the round is over";
  EXPECT_EQ(asked_.size(), 101U);
  EXPECT_EQ(asked_.back(), "_mistletoe-catalog.etcd.example");
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_EQ(asked_.size(), 201U) << "the next round";
}

TEST_P(DomainsTest, ADomainThatIsRemovedWhileItIsLookedAtStaysRemoved) {
  for (const char* domain : {"a.example", "b.example"})
    ASSERT_TRUE(accounts_->keep_domain("ann", domain).ok());
  clock_.advance(25h);
  meanwhile_ = [&] { ASSERT_TRUE(accounts_->remove_domain("ann", "a.example").ok()); };
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_EQ(asked_.size(), 2U) << "the others are looked at";
  txt_["_mistletoe-catalog.c.example"] = {"https://c.example account=ann"};
  ASSERT_TRUE(accounts_->keep_domain("ann", "c.example").ok());
  clock_.advance(25h);
  meanwhile_ = [&] { ASSERT_TRUE(accounts_->remove_domain("ann", "c.example").ok()); };
  ASSERT_TRUE(site_->domains().check_again().ok());
  const auto left = *accounts_->domains("ann");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].domain, "b.example") << "whose record is missing, and nothing else";
}

// A round reads which ones are due, and may come to them much later.
TEST_P(DomainsTest, ALookFromBeforeADomainWasProvedAgainDoesNotCount) {
  for (const char* domain : {"a.example", "etcd.example"})
    ASSERT_TRUE(accounts_->keep_domain("ann", domain).ok());
  for (int day = 0; day < 2; ++day) {
    clock_.advance(25h);
    ASSERT_TRUE(site_->domains().check_again().ok());
  }
  clock_.advance(25h);
  meanwhile_ = [&] { ASSERT_TRUE(accounts_->keep_domain("ann", "etcd.example").ok()); };
  ASSERT_TRUE(site_->domains().check_again().ok());
  const auto domains = *accounts_->domains("ann");
  ASSERT_EQ(domains.size(), 2U);
  EXPECT_TRUE(domains[0].has_lapsed()) << domains[0].domain;
  EXPECT_EQ(domains[1].failures, 0) << domains[1].domain;
  const auto lapses = *store_->audit_log({.what = "lapse domain"}, {});
  ASSERT_EQ(lapses.items.size(), 1U);
  EXPECT_EQ(lapses.items[0].subject, "a.example");
}

TEST_P(DomainsTest, NoDomainOfADisabledAccountIsLookedAt) {
  ASSERT_TRUE(accounts_->keep_domain("ann", "etcd.example").ok());
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  clock_.advance(25h);
  ASSERT_TRUE(site_->domains().check_again().ok());
  EXPECT_THAT(asked_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Databases, DomainsTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
