#include "catalog/id_token.h"

#include <gtest/gtest.h>

#include "catalog/issuer_fixture.h"
#include "crypto/digest.h"
#include "crypto/raw_keys.h"
#include "encoding/base64url.h"
#include "testing/fake_clock.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using testing::FakeIssuer;

std::string bytes_of_url(std::string_view text) { return *encoding::base64url_decode(text); }

// RFC 7515, appendix A.3.
TEST(IdToken, VerifiesTheSignatureOfTheRfcWithEs256) {
  const auto key = crypto::p256_public_key(bytes_of_url("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                           bytes_of_url("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
  ASSERT_TRUE(key.ok());
  const std::string signature = crypto::ecdsa_der(
      bytes_of_url("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"));
  const std::string message =
      "eyJhbGciOiJFUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
  EXPECT_TRUE(key->verify(message, signature));
  EXPECT_FALSE(key->verify(message + "x", signature));
  EXPECT_FALSE(crypto::p256_public_key(std::string(32, 'a'), std::string(32, 'b')).ok());
  EXPECT_TRUE(crypto::ecdsa_der("short").empty());
}

// RFC 7515, appendix A.2.
TEST(IdToken, VerifiesTheSignatureOfTheRfcWithRs256) {
  const auto key = crypto::rsa_public_key(
      bytes_of_url(
          "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Ql"
          "L-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUs"
          "LA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoud"
          "F8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
      bytes_of_url("AQAB"));
  ASSERT_TRUE(key.ok());
  EXPECT_TRUE(key->verify(
      "eyJhbGciOiJSUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
      bytes_of_url(
          "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujG"
          "bds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K"
          "0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6"
          "LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw")));
}

class VerifyIdToken : public ::testing::Test {
 protected:
  Result<Identity> verified(const std::string& token) {
    return verify_id_token(
        token, issuer_keys(issuer_.keys()),
        {.issuer = FakeIssuer::kUrl, .client_id = FakeIssuer::kClient, .nonce = "n1", .now = clock_.now()});
  }
  Value claims() { return FakeIssuer::claims("n1", clock_.now()); }
  ErrorKind refusal_of(const std::string& token) {
    const auto found = verified(token);
    return found.ok() ? ErrorKind::Internal : found.error().kind;
  }
  std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
  }

  mist::testing::FakeClock clock_;
  FakeIssuer issuer_;
};

TEST_F(VerifyIdToken, TakesAGoodOne) {
  const auto found = verified(issuer_.token(claims()));
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->issuer, FakeIssuer::kUrl);
  EXPECT_EQ(found->subject, "subject-1");
  EXPECT_TRUE(verified(issuer_.token(claims(), Value::object({{"alg", Value("ES256")}}))).ok())
      << "a token that names no key";
  Value several = claims();
  several.set("aud", Value::array({Value("other"), Value(FakeIssuer::kClient)}));
  several.set("azp", Value(FakeIssuer::kClient));
  EXPECT_TRUE(verified(issuer_.token(several)).ok());
}

TEST_F(VerifyIdToken, RefusesEveryWrongClaim) {
  const auto with = [&](std::string_view name, Value value) {
    Value changed = claims();
    changed.set(name, std::move(value));
    return issuer_.token(changed);
  };
  const auto without = [&](std::string_view name) {
    Value changed = claims();
    changed.erase(name);
    return issuer_.token(changed);
  };
  const std::vector<std::string> wrong{
      with("iss", Value("https://login.example/")),
      with("aud", Value("somebody")),
      with("aud", Value::array({Value("other"), Value(FakeIssuer::kClient)})),
      with("aud", Value::array({})),
      with("azp", Value("other")),
      with("azp", Value(1)),
      with("nonce", Value("n2")),
      with("nonce", Value("")),
      with("exp", Value(now() - 61)),
      with("exp", Value("tomorrow")),
      with("iat", Value(now() + 120)),
      with("iat", Value(now() - 3600)),
      with("nbf", Value(now() + 120)),
      with("sub", Value("")),
      with("sub", Value(std::string(300, 'a'))),
      without("iss"),
      without("aud"),
      without("exp"),
      without("iat"),
      without("nonce"),
      without("sub")};
  for (const std::string& token : wrong) EXPECT_EQ(refusal_of(token), ErrorKind::Forbidden) << token;
}

TEST_F(VerifyIdToken, RefusesOtherAlgorithmsAndKeys) {
  const auto header = [](const char* algorithm) {
    return Value::object({{"alg", Value(algorithm)}, {"kid", Value("k1")}});
  };
  for (const char* algorithm : {"none", "None", "NONE", "", "HS256", "RS256", "ES384", "PS256"})
    EXPECT_EQ(refusal_of(issuer_.token(claims(), header(algorithm))), ErrorKind::Forbidden) << algorithm;
  // Without a signature.
  const std::string good = issuer_.token(claims());
  const std::string body = good.substr(0, good.rfind('.') + 1);
  EXPECT_EQ(refusal_of(body), ErrorKind::Forbidden);
  const std::string unsigned_one =
      encoding::base64url_encode(R"({"alg":"none"})") + body.substr(body.find('.'));
  EXPECT_EQ(refusal_of(unsigned_one), ErrorKind::Forbidden);
  // Key confusion: a MAC whose secret is the public key, which everybody has.
  const std::string message = encoding::base64url_encode(R"({"alg":"HS256","kid":"k1"})") + "." +
                              encoding::base64url_encode(encoding::to_json(claims()));
  for (const std::string& secret : {issuer_.bytes(), std::string(issuer_.bytes().substr(26))}) {
    const auto mac = crypto::hmac_sha256(crypto::as_bytes(secret), crypto::as_bytes(message));
    EXPECT_EQ(refusal_of(message + "." +
                         encoding::base64url_encode(
                             std::string_view(reinterpret_cast<const char*>(mac.data()), mac.size()))),
              ErrorKind::Forbidden);
  }
  EXPECT_EQ(refusal_of(FakeIssuer("k1", 9).token(claims())), ErrorKind::Forbidden)
      << "another key of that name";
  EXPECT_EQ(refusal_of(FakeIssuer("k2").token(claims())), ErrorKind::NotFound)
      << "a key that isn't published";
  Value critical = header("ES256");
  critical.set("crit", Value::array({Value("exp")}));
  EXPECT_EQ(refusal_of(issuer_.token(claims(), critical)), ErrorKind::Forbidden);
  Value other = claims();
  other.set("sub", Value("somebody else"));
  const std::string forged = good.substr(0, good.find('.') + 1) +
                             encoding::base64url_encode(encoding::to_json(other)) +
                             good.substr(good.rfind('.'));
  EXPECT_EQ(refusal_of(forged), ErrorKind::Forbidden);
  for (const std::string& nonsense : {std::string(), std::string("a.b"), std::string("..."),
                                      std::string("a.b.c.d"), good + "=", std::string(100'000, 'a')})
    EXPECT_EQ(refusal_of(nonsense), ErrorKind::Forbidden);
}

TEST(IssuerKeys, AreThoseThatSign) {
  const FakeIssuer issuer;
  Value keys = Value::array({issuer.jwk()});
  const auto with = [&](std::string_view name, Value value) {
    Value key = issuer.jwk();
    key.set(name, std::move(value));
    keys.push_back(std::move(key));
  };
  with("use", Value("enc"));
  with("alg", Value("HS256"));
  with("alg", Value("RS256"));
  with("kty", Value("oct"));
  with("crv", Value("P-384"));
  with("x", Value("AAAA"));
  keys.push_back(Value("text"));
  EXPECT_EQ(issuer_keys(Value::object({{"keys", keys}})).size(), 1U);
  EXPECT_TRUE(issuer_keys(Value::object()).empty());
}

}  // namespace
}  // namespace mist::catalog
