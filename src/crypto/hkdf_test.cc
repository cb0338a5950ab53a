#include "crypto/hkdf.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::crypto {
namespace {

std::vector<std::byte> range(unsigned first, unsigned last) {
  std::vector<std::byte> bytes;
  for (unsigned value = first; value <= last; ++value) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Hkdf, MatchesVectorsOfRfc5869) {
  const std::string secret(22, '\x0b');
  EXPECT_EQ(mist::hex(hkdf_sha256(as_bytes(secret), range(0x00, 0x0c), range(0xf0, 0xf9), 42)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(mist::hex(hkdf_sha256(range(0x00, 0x4f), range(0x60, 0xaf), range(0xb0, 0xff), 82)),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
  EXPECT_EQ(mist::hex(hkdf_sha256(as_bytes(secret), {}, {}, 42)),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, GivesAnyLengthAsPrefixOfTheLongest) {
  const auto longest = hkdf_sha256(as_bytes("secret"), {}, as_bytes("purpose"), 255 * 32);
  for (const std::size_t length : {0U, 1U, 31U, 32U, 33U, 64U, 100U}) {
    const auto shorter = hkdf_sha256(as_bytes("secret"), {}, as_bytes("purpose"), length);
    EXPECT_EQ(shorter, std::vector(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(length)));
  }
}

}  // namespace
}  // namespace mist::crypto
