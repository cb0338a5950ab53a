#include "crypto/certificate_authority.h"

#include <gtest/gtest.h>

#include "crypto/certificate.h"
#include "crypto/signing.h"

namespace mist::crypto {
namespace {

using std::chrono::hours;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));
const CertificateTerm kTerm{kNow - hours(1), kNow + hours(24)};

TEST(CertificateAuthority, SignsCertificatesForItsNamesOnly) {
  SystemRandom random;
  const CertifiedKey authority = make_authority("ours", kTerm, random);
  const auto issued =
      issue_for_server(authority, {"operator.mistletoe.svc", "127.0.0.1", "::1"}, kTerm, random);
  ASSERT_TRUE(issued.ok()) << issued.error().to_line();
  EXPECT_TRUE(is_issued_for(issued->certificate_pem, authority.certificate_pem,
                            {"operator.mistletoe.svc", "127.0.0.1", "::1"}));
  EXPECT_FALSE(is_issued_for(issued->certificate_pem, authority.certificate_pem, {"other.mistletoe.svc"}));
  EXPECT_FALSE(is_issued_for(issued->certificate_pem, authority.certificate_pem, {"127.0.0.2"}));
  const CertifiedKey other = make_authority("ours", kTerm, random);
  EXPECT_FALSE(is_issued_for(issued->certificate_pem, other.certificate_pem, {"127.0.0.1"}));
}

TEST(CertificateAuthority, GivesTheTermAndTheKeyOfTheCertificate) {
  SystemRandom random;
  const CertifiedKey authority = make_authority("ours", kTerm, random);
  const auto issued = issue_for_server(authority, {"localhost"}, kTerm, random);
  ASSERT_TRUE(issued.ok()) << issued.error().to_line();
  const auto found = certificates_in(issued->certificate_pem);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, "CN=localhost");
  EXPECT_EQ(found[0].not_before, kTerm.not_before);
  EXPECT_EQ(found[0].not_after, kTerm.not_after);
  EXPECT_TRUE(PrivateKey::parse(issued->key_pem.reveal()).ok());
  EXPECT_NE(issued->key_pem, authority.key_pem);
  EXPECT_TRUE(is_pair(*issued));
  EXPECT_FALSE(is_pair({issued->certificate_pem, authority.key_pem}));
  EXPECT_FALSE(is_pair({}));
}

TEST(CertificateAuthority, RefusesNamesAndAuthoritiesThatAreNone) {
  SystemRandom random;
  const CertifiedKey authority = make_authority("ours", kTerm, random);
  for (const char* name : {"a,DNS:evil.example", "", "1.2.3", "a b", "::g"}) {
    EXPECT_FALSE(is_server_name(name)) << name;
    EXPECT_FALSE(issue_for_server(authority, {name}, kTerm, random).ok()) << name;
  }
  for (const char* name : {"localhost", "a.b.svc", "10.0.0.1", "::1"})
    EXPECT_TRUE(is_server_name(name)) << name;
  EXPECT_FALSE(issue_for_server(authority, {}, kTerm, random).ok());
  const CertifiedKey other = make_authority("other", kTerm, random);
  EXPECT_FALSE(
      issue_for_server({authority.certificate_pem, other.key_pem}, {"localhost"}, kTerm, random).ok());
  EXPECT_FALSE(issue_for_server({"no certificate", other.key_pem}, {"localhost"}, kTerm, random).ok());
}

}  // namespace
}  // namespace mist::crypto
