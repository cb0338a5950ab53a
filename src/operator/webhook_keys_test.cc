#include "operator/webhook_keys.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "crypto/certificate.h"
#include "testing/fake_clock.h"

namespace mist::operator_ {
namespace {

using std::chrono::hours;

const std::vector<std::string> kNames{"mistletoe-operator.mistletoe.svc", "127.0.0.1"};
constexpr hours kDay{24};

class WebhookKeysTest : public ::testing::Test {
 protected:
  // As the operator does, which looks once an hour; so here once a day is enough.
  void pass(int days) {
    for (int i = 0; i < days; ++i) {
      clock_.advance(kDay);
      if (auto next = renewed(keys_, kNames, clock_.now(), random_)) {
        keys_ = std::move(next);
        ++renewals_;
      }
    }
  }
  // Whether a client that knows `bundle` trusts the server.
  bool is_trusted_by(const std::string& bundle) const {
    for (std::size_t at = bundle.find("-----BEGIN"); at != std::string::npos;
         at = bundle.find("-----BEGIN", at + 1))
      if (crypto::is_issued_for(keys_->server.certificate_pem, bundle.substr(at), kNames)) return true;
    return false;
  }
  bool is_valid() const {
    for (const std::string& each : {keys_->server.certificate_pem, keys_->authority.certificate_pem}) {
      const auto found = crypto::certificates_in(each);
      if (found.empty() || found[0].not_before > clock_.now() || found[0].not_after <= clock_.now())
        return false;
    }
    return true;
  }

  testing::FakeClock clock_;
  SystemRandom random_;
  std::optional<WebhookKeys> keys_ = renewed(std::nullopt, kNames, clock_.now(), random_);
  int renewals_ = 0;
};

TEST_F(WebhookKeysTest, AreMadeOnceAndStayAsTheyAre) {
  ASSERT_TRUE(keys_);
  EXPECT_TRUE(is_valid());
  EXPECT_TRUE(is_trusted_by(keys_->bundle()));
  EXPECT_FALSE(renewed(keys_, kNames, clock_.now(), random_));
  pass(59);
  EXPECT_EQ(renewals_, 0);
}

TEST_F(WebhookKeysTest, TheServersCertificateIsRenewedBeforeItEndsAndTheAuthorityStays) {
  const WebhookKeys first = *keys_;
  pass(61);
  EXPECT_EQ(renewals_, 1);
  EXPECT_NE(keys_->server.certificate_pem, first.server.certificate_pem);
  EXPECT_EQ(keys_->bundle(), first.bundle());
  EXPECT_TRUE(is_trusted_by(first.bundle()));
}

// A client that learns of the authorities a day late trusts the server at all times.
TEST_F(WebhookKeysTest, AuthoritiesFollowOneAnotherWithoutAGap) {
  std::string known = keys_->bundle();
  const std::string first = keys_->authority.certificate_pem;
  for (int day = 0; day < 2 * 3650; ++day) {
    const std::string yesterday = keys_->bundle();
    pass(1);
    ASSERT_TRUE(is_valid()) << "day " << day;
    ASSERT_TRUE(is_trusted_by(known)) << "day " << day;
    ASSERT_TRUE(is_trusted_by(keys_->bundle())) << "day " << day;
    known = yesterday;
  }
  EXPECT_NE(keys_->authority.certificate_pem, first);
}

TEST_F(WebhookKeysTest, AnotherNameNeedsAnotherCertificateOfTheSameAuthority) {
  const auto other = renewed(keys_, {"other.mistletoe.svc"}, clock_.now(), random_);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->bundle(), keys_->bundle());
  EXPECT_TRUE(crypto::is_issued_for(other->server.certificate_pem, keys_->authority.certificate_pem,
                                    {"other.mistletoe.svc"}));
}

TEST_F(WebhookKeysTest, AfterTheAuthoritysEndAnotherOneBegins) {
  clock_.advance(kAuthorityLife + kDay);
  const auto fresh = renewed(keys_, kNames, clock_.now(), random_);
  ASSERT_TRUE(fresh);
  EXPECT_NE(fresh->authority.certificate_pem, keys_->authority.certificate_pem);
  EXPECT_FALSE(fresh->next);
}

TEST_F(WebhookKeysTest, SurviveTheSecretAndDamageIsNoticed) {
  pass(2440);  // the next authority is there too
  ASSERT_TRUE(keys_->next);
  const Value secret = Value::object({{"data", data_of(*keys_)}});
  const auto read = keys_in(secret);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bundle(), keys_->bundle());
  EXPECT_EQ(read->server.key_pem, keys_->server.key_pem);
  EXPECT_EQ(data_of(*read), data_of(*keys_));
  EXPECT_FALSE(keys_in(Value::object()));
  const Value others = data_of(*renewed(std::nullopt, kNames, clock_.now(), random_));
  for (const char* key : {"tls.crt", "tls.key", "ca.crt", "ca.key"}) {
    Value damaged = secret;
    damaged["data"].set(key, base64_encode("damaged"));
    EXPECT_FALSE(keys_in(damaged)) << key;
    damaged["data"].set(key, others.string_at(key));
    EXPECT_FALSE(keys_in(damaged)) << key << " of other keys";
  }
}

}  // namespace
}  // namespace mist::operator_
