#include "crypto/aead.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::crypto {
namespace {

std::vector<std::byte> unhex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

SealingKey key_from(std::string_view hex_digits) {
  std::array<std::byte, SealingKey::kSize> key{};
  std::ranges::copy(unhex(hex_digits), key.begin());
  return SealingKey(key);
}

// Gives the bytes that a test vector asks for.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void fill(std::span<std::byte> out) override {
    std::ranges::copy(std::span(bytes_).first(out.size()), out.begin());
  }

 private:
  std::vector<std::byte> bytes_;
};

// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16.
constexpr std::string_view kKey = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
constexpr std::string_view kNonce = "cafebabefacedbaddecaf888";
constexpr std::string_view kPlain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
    "b16aedf5aa0de657ba637b39";
constexpr std::string_view kContext = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
constexpr std::string_view kCipher =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
    "c5f61e6393ba7a0abcc9f662";
constexpr std::string_view kTag = "76fc6ece0f4e1768cddf8853bb2d551b";

TEST(SealingKey, MatchesTheVectorOfTheGcmSpecification) {
  FixedRandom random(unhex(kNonce));
  const auto sealed = key_from(kKey).seal(unhex(kPlain), unhex(kContext), random);
  EXPECT_EQ(mist::hex(sealed), std::string(kNonce) + std::string(kCipher) + std::string(kTag));
  const auto opened = key_from(kKey).open(sealed, unhex(kContext));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(mist::hex(*opened), kPlain);
}

TEST(SealingKey, NoticesEveryChangedBit) {
  SystemRandom random;
  const SealingKey key = key_from(kKey);
  const auto sealed = key.seal(as_bytes("a secret"), as_bytes("purpose"), random);
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    auto changed = sealed;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto opened = key.open(changed, as_bytes("purpose"));
    ASSERT_FALSE(opened.ok()) << bit;
    EXPECT_EQ(opened.error().kind, ErrorKind::Invalid);
  }
  EXPECT_FALSE(key.open(sealed, as_bytes("another purpose")).ok());
  EXPECT_FALSE(key_from(std::string(64, '0')).open(sealed, as_bytes("purpose")).ok());
}

TEST(SealingKey, RefusesTextsThatAreTooShort) {
  const SealingKey key = key_from(kKey);
  for (std::size_t size = 0; size < SealingKey::kOverhead; ++size)
    EXPECT_FALSE(key.open(std::vector<std::byte>(size), {}).ok());
}

TEST(SealingKey, NeverUsesANonceTwice) {
  SystemRandom random;
  const SealingKey key = key_from(kKey);
  EXPECT_NE(key.seal(as_bytes("x"), {}, random), key.seal(as_bytes("x"), {}, random));
}

RC_GTEST_PROP(SealingKey, OpensWhatItSealed, (const std::string& plain, const std::string& context)) {
  SystemRandom random;
  const SealingKey key = key_from(kKey);
  const auto sealed = key.seal(as_bytes(plain), as_bytes(context), random);
  RC_ASSERT(sealed.size() == plain.size() + SealingKey::kOverhead);
  const auto opened = key.open(sealed, as_bytes(context));
  RC_ASSERT(opened.ok());
  RC_ASSERT(std::ranges::equal(*opened, as_bytes(plain)));
}

}  // namespace
}  // namespace mist::crypto
