#include "catalog/password.h"

#include <gtest/gtest.h>

#include <thread>

#include "testing/fake_clock.h"

namespace mist::catalog {
namespace {

constexpr crypto::ScryptCost kLittle{.n = 4, .r = 1, .p = 1};

SecretString secret(const std::string& text) { return SecretString(text); }

TEST(Password, MatchesItselfAlone) {
  SystemRandom random;
  PasswordHasher passwords(random, kLittle);
  const std::string stored = *passwords.hash(secret("correct horse"));
  EXPECT_TRUE(stored.starts_with("scrypt$2,1,1$")) << stored;
  EXPECT_EQ(stored.find("correct"), std::string::npos);
  EXPECT_TRUE(*passwords.matches(secret("correct horse"), stored));
  EXPECT_FALSE(*passwords.matches(secret("correct horsf"), stored));
  EXPECT_FALSE(*passwords.matches(secret(""), stored));
  EXPECT_FALSE(*passwords.matches(secret(""), ""));
  EXPECT_NE(stored, *passwords.hash(secret("correct horse"))) << "each has a salt of its own";
  EXPECT_EQ(passwords.matches(secret("x"), "scrypt$99,1,1$00$00").error().kind, ErrorKind::Internal);
  EXPECT_EQ(passwords.matches(secret("x"), "md5$00").error().kind, ErrorKind::Internal);
}

TEST(Password, OfOlderParametersIsKnownAndMarkedOld) {
  SystemRandom random;
  PasswordHasher before(random, kLittle);
  PasswordHasher now(random, {.n = 8, .r = 1, .p = 1});
  const std::string stored = *before.hash(secret("correct horse"));
  EXPECT_TRUE(*now.matches(secret("correct horse"), stored));
  EXPECT_TRUE(now.is_old(stored));
  EXPECT_FALSE(now.is_old(*now.hash(secret("correct horse"))));
}

// The work of hashing, not the time: a hasher without a free place shows whether it is done.
TEST(Password, CostsAsMuchForAnAccountThatIsNotThere) {
  SystemRandom random;
  PasswordHasher full(random, kLittle, 0);
  EXPECT_EQ(full.matches(secret("correct horse"), "").error().kind, ErrorKind::Retryable);
  EXPECT_EQ(full.matches(secret("correct horse"), "scrypt$2,1,1$00$00").error().kind, ErrorKind::Retryable);
  EXPECT_EQ(full.hash(secret("correct horse")).error().kind, ErrorKind::Retryable);
  PasswordHasher one(random, kLittle, 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(one.hash(secret("correct horse")).ok()) << "places come back";
}

TEST(Password, WeakOnesAreRefused) {
  EXPECT_TRUE(check_new_password(secret("correct horse"), "ann").ok());
  EXPECT_TRUE(check_new_password(secret("pässwörter sind lang"), "ann").ok());
  for (const std::string& weak : {std::string("short"), std::string(300, 'a') + "b", std::string(20, 'x'),
                                  std::string("my name is Annabel"), std::string("not \xff utf-8 text")})
    EXPECT_EQ(check_new_password(secret(weak), "annabel").error().kind, ErrorKind::Invalid) << weak;
}

}  // namespace
}  // namespace mist::catalog
