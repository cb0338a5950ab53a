#include "crypto/secretbox.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::crypto {
namespace {

std::string bytes_of(std::string_view digits) {
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1])));
  return bytes;
}

template <typename Array>
Array array_from(std::string_view digits) {
  Array array{};
  const std::string bytes = bytes_of(digits);
  std::ranges::copy(as_bytes(bytes).first(array.size()), array.begin());
  return array;
}

// The vector of "Cryptography in NaCl", section 10 (tests/secretbox.c of NaCl).
const SecretboxKey kBoxKey =
    array_from<SecretboxKey>("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
const SecretboxNonce kBoxNonce =
    array_from<SecretboxNonce>("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
const std::string kBoxPlain = bytes_of(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01"
    "233561f4"
    "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c"
    "60902e52"
    "f0a089bc76897040e082f937763848645e0705");
const std::string kBoxSealed = bytes_of(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c"
    "98dce87b"
    "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb373"
    "2bc0e9da"
    "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5");

TEST(Secretbox, SealsAsNaclDoes) { EXPECT_EQ(secretbox_seal(kBoxKey, kBoxNonce, kBoxPlain), kBoxSealed); }

TEST(Secretbox, OpensWhatNaclSealed) { EXPECT_EQ(secretbox_open(kBoxKey, kBoxNonce, kBoxSealed), kBoxPlain); }

TEST(Secretbox, RefusesEveryChangedByteAndAnotherKey) {
  for (std::size_t i = 0; i < kBoxSealed.size(); i += 7) {
    std::string changed = kBoxSealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(secretbox_open(kBoxKey, kBoxNonce, changed), std::nullopt) << i;
  }
  SecretboxKey other = kBoxKey;
  other[0] ^= std::byte{1};
  EXPECT_EQ(secretbox_open(other, kBoxNonce, kBoxSealed), std::nullopt);
  EXPECT_EQ(secretbox_open(kBoxKey, kBoxNonce, kBoxSealed.substr(0, 15)), std::nullopt);
}

TEST(Secretbox, SealsNothingToo) {
  EXPECT_EQ(secretbox_open(kBoxKey, kBoxNonce, secretbox_seal(kBoxKey, kBoxNonce, "")), "");
}

// RFC 7914, section 12.
TEST(Scrypt, GivesTheVectorOfTheRfc) {
  const auto derived = scrypt(SecretString("password"), as_bytes("NaCl"), {.n = 1024, .r = 8, .p = 16}, 64);
  ASSERT_TRUE(derived.ok()) << derived.error().to_line();
  EXPECT_EQ(hex(*derived),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830da"
            "c727afb94a83ee6"
            "d8360cbdfa2cc0640");
}

TEST(Scrypt, RefusesCostsThatNobodyCanPay) {
  for (const ScryptCost& cost :
       {ScryptCost{std::uint64_t{1} << 40, 8, 1}, ScryptCost{65535, 8, 1}, ScryptCost{0, 8, 1},
        ScryptCost{65536, 0, 1}, ScryptCost{65536, 8, 0}, ScryptCost{std::uint64_t{1} << 24, 64, 1}}) {
    const auto derived = scrypt(SecretString("x"), as_bytes("salt"), cost, 32);
    EXPECT_FALSE(derived.ok()) << cost.n << " " << cost.r << " " << cost.p;
  }
}

}  // namespace
}  // namespace mist::crypto
