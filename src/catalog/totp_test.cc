#include "catalog/totp.h"

#include <gtest/gtest.h>

#include <set>

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;

const std::string kRfcSecret = "12345678901234567890";

// RFC 6238, appendix B, the rows of SHA-1.
TEST(Totp, HasTheCodesOfTheRfc) {
  for (const auto& [seconds, code] : {std::pair<std::int64_t, const char*>(59, "94287082"),
                                      {1111111109, "07081804"},
                                      {1111111111, "14050471"},
                                      {1234567890, "89005924"},
                                      {2000000000, "69279037"},
                                      {20000000000, "65353130"}}) {
    EXPECT_EQ(totp_code(kRfcSecret, seconds / 30, 8), code);
    EXPECT_EQ(totp_code(kRfcSecret, seconds / 30), std::string(code).substr(2));
  }
}

TEST(Totp, AStepTakesThirtySeconds) {
  EXPECT_EQ(totp_step(WallTime(29s)), 0);
  EXPECT_EQ(totp_step(WallTime(30s)), 1);
  EXPECT_EQ(totp_step(WallTime(1111111109s)), 37037036);
}

// RFC 4226, appendix D.
TEST(Totp, HasTheCodesOfTheCounter) {
  const char* const codes[] = {"755224", "287082", "359152", "969429", "338314",
                               "254676", "287922", "162583", "399871", "520489"};
  for (std::int64_t step = 0; step < 10; ++step) EXPECT_EQ(totp_code(kRfcSecret, step), codes[step]);
}

TEST(Totp, ACodeIsGoodForItsNeighbours) {
  const WallTime now{std::chrono::seconds(30 * 1000)};
  const std::string code = totp_code(kRfcSecret, 1000);
  EXPECT_EQ(step_of_code(kRfcSecret, code, now), 1000);
  EXPECT_EQ(step_of_code(kRfcSecret, code, now + 59s), 1000);
  EXPECT_EQ(step_of_code(kRfcSecret, code, now - 30s), 1000);
  EXPECT_EQ(step_of_code(kRfcSecret, code, now + 60s), std::nullopt);
  EXPECT_EQ(step_of_code(kRfcSecret, code, now - 31s), std::nullopt);
  EXPECT_EQ(step_of_code(kRfcSecret, code.substr(0, 3) + " " + code.substr(3), now), 1000);
  for (const std::string& wrong : {std::string(), std::string("0"), code + "0", code.substr(1)})
    EXPECT_EQ(step_of_code(kRfcSecret, wrong, now), std::nullopt);
}

// RFC 4648, section 10.
TEST(Totp, Base32IsThatOfTheRfc) {
  EXPECT_EQ(base32(""), "");
  EXPECT_EQ(base32("f"), "MY");
  EXPECT_EQ(base32("fo"), "MZXQ");
  EXPECT_EQ(base32("foo"), "MZXW6");
  EXPECT_EQ(base32("foob"), "MZXW6YQ");
  EXPECT_EQ(base32("fooba"), "MZXW6YTB");
  EXPECT_EQ(base32("foobar"), "MZXW6YTBOI");
  EXPECT_EQ(totp_uri("foobar", "ann", "c.example:8443"),
            "otpauth://totp/c.example%3A8443:ann?secret=MZXW6YTBOI&issuer=c.example%3A8443");
}

TEST(Totp, RecoveryCodesDifferAndAreKnownHoweverTheyAreTyped) {
  SystemRandom random;
  const auto codes = new_recovery_codes(random);
  std::set<std::string> digests;
  for (const SecretString& code : codes) {
    EXPECT_EQ(code.reveal().size(), 19U);
    digests.insert(recovery_digest(code.reveal()));
  }
  EXPECT_EQ(digests.size(), 10U);
  EXPECT_EQ(recovery_digest("abcd-efgh-ijkl-mnop"), recovery_digest(" ABCDEFGH ijkl mnop"));
}

}  // namespace
}  // namespace mist::catalog
