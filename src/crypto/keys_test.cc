#include "crypto/keys.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::crypto {
namespace {

std::array<std::byte, kKeyBytes> bytes_of_hex(std::string_view digits) {
  std::array<std::byte, kKeyBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoi(std::string(digits.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

constexpr std::string_view kBytes = "e97b438f9bc1ee19218f0b14bc055a3ffbd228075ede59e287414930b07ad45b";

// As `openssl pkey` and pyca/cryptography write the same numbers.
TEST(Keys, AreWrittenAsOtherToolsWriteThem) {
  const KeyPair edwards = ed25519_key(bytes_of_hex(kBytes));
  EXPECT_EQ(edwards.private_pem,
            "-----BEGIN PRIVATE KEY-----\n"
            "MC4CAQAwBQYDK2VwBCIEIOl7Q4+bwe4ZIY8LFLwFWj/70igHXt5Z4odBSTCwetRb\n"
            "-----END PRIVATE KEY-----\n");
  EXPECT_EQ(edwards.public_pem,
            "-----BEGIN PUBLIC KEY-----\n"
            "MCowBQYDK2VwAyEACNeE7sxFhgHvFPRytwkYjRvyw4IL6vOJws9EatRQyDo=\n"
            "-----END PUBLIC KEY-----\n");
  const auto curve = p256_key(bytes_of_hex(kBytes));
  ASSERT_TRUE(curve.has_value());
  EXPECT_EQ(curve->private_pem,
            "-----BEGIN PRIVATE KEY-----\n"
            "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6XtDj5vB7hkhjwsU\n"
            "vAVaP/vSKAde3lnih0FJMLB61FuhRANCAAQQN6oShjC+7V/DN8PeSkS7899MGaSC\n"
            "OBBP8OgQn23CXMuD1Z+kZdt4oz5FPLgiZdwuaEcTEihySJJyunr5Z2rx\n"
            "-----END PRIVATE KEY-----\n");
  EXPECT_EQ(curve->public_pem,
            "-----BEGIN PUBLIC KEY-----\n"
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDeqEoYwvu1fwzfD3kpEu/PfTBmk\n"
            "gjgQT/DoEJ9twlzLg9WfpGXbeKM+RTy4ImXcLmhHExIockiScrp6+Wdq8Q==\n"
            "-----END PUBLIC KEY-----\n");
}

TEST(Keys, RefuseScalarsOutsideTheGroup) {
  EXPECT_FALSE(p256_key(bytes_of_hex(std::string(64, '0'))).has_value());
  // The order itself, and the largest number below it (SEC 2, section 2.4.2).
  EXPECT_FALSE(
      p256_key(bytes_of_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")).has_value());
  EXPECT_TRUE(
      p256_key(bytes_of_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550")).has_value());
  EXPECT_FALSE(p256_key(bytes_of_hex(std::string(64, 'f'))).has_value());
}

}  // namespace
}  // namespace mist::crypto
