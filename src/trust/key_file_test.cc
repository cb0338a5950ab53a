#include "trust/key_file.h"

#include <gtest/gtest.h>

#include "testing/fake_clock.h"

namespace mist::trust {
namespace {

AskPassword answering(std::string password, int* asked = nullptr) {
  return [password = std::move(password), asked]() -> Result<SecretString> {
    if (asked != nullptr) ++*asked;
    return SecretString(password);
  };
}

TEST(KeyFiles, AKeyInCosignsFormIsReadWithItsPassword) {
  SystemRandom random;
  const NewKey key = make_key(SecretString("open sesame"), random);
  EXPECT_TRUE(key.private_file.starts_with("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n"));
  int asked = 0;
  const auto read = read_private_key(key.private_file, answering("open sesame", &asked));
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(read->public_key(), *crypto::PublicKey::parse(key.public_file));
  const auto refused = read_private_key(key.private_file, answering("other"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().because, "the password is wrong, or the key is damaged");
}

TEST(KeyFiles, NobodyIsAskedForThePasswordOfAnOpenKey) {
  // RFC 8410, section 10.3.
  constexpr std::string_view kOpen =
      "-----BEGIN PRIVATE "
      "KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE "
      "KEY-----\n";
  int asked = 0;
  EXPECT_TRUE(read_private_key(kOpen, answering("x", &asked)).ok());
  EXPECT_EQ(asked, 0);
}

TEST(KeyFiles, SaysWhatIsWrongWithADamagedKey) {
  const auto because = [](const std::string& content) {
    const auto read = read_private_key("-----BEGIN ENCRYPTED COSIGN PRIVATE KEY-----\n" + content +
                                           "\n-----END ENCRYPTED COSIGN PRIVATE KEY-----\n",
                                       answering("x"));
    return read.ok() ? std::string("no error") : read.error().because;
  };
  EXPECT_EQ(because("%%%"), "its content is not base64");
  EXPECT_EQ(because("e30="), "it isn't encrypted with scrypt and nacl/secretbox");  // {}
  EXPECT_EQ(because("e30"), "its content is not base64");
  EXPECT_FALSE(read_private_key("no key at all", answering("x")).ok());
}

}  // namespace
}  // namespace mist::trust
