#include "crypto/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/text.h"

namespace mist::crypto {
namespace {

std::string hex_of(std::span<const std::byte> bytes) { return mist::hex(bytes); }

TEST(Digest, MatchesVectorsOfFips180) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").str(), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, ParsesItsOwnText) {
  const Digest digest = sha256("x");
  const auto parsed = Digest::parse(digest.str());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, digest);
}

TEST(Digest, RefusesOtherTexts) {
  const std::string good = sha256("x").str();
  std::string upper = good;
  upper[10] = 'A';
  std::string wrong = good;
  wrong.back() = 'g';
  for (const std::string& text : {std::string(), std::string("sha256:"), good.substr(1), good + "0", upper,
                                  wrong, good.substr(7), "sha512:" + good.substr(7)}) {
    const auto parsed = Digest::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

RC_GTEST_PROP(Hasher, GivesTheSameForAnyPieces, (const std::string& text, std::size_t cut)) {
  cut = text.empty() ? 0 : cut % text.size();
  Hasher hasher;
  hasher.update(std::string_view(text).substr(0, cut)).update(std::string_view(text).substr(cut));
  RC_ASSERT(hasher.finish() == sha256(text));
}

TEST(Hasher, FieldsDontRunTogether) {
  Hasher first;
  Hasher second;
  EXPECT_NE(first.field("ab").field("c").finish(), second.field("a").field("bc").finish());
}

TEST(Hmac, MatchesVectorsOfRfc4231) {
  const std::string key1(20, '\x0b');
  EXPECT_EQ(hex_of(hmac_sha256(as_bytes(key1), as_bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex_of(hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const std::string long_key(131, '\xaa');
  EXPECT_EQ(hex_of(hmac_sha256(as_bytes(long_key),
                               as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, TakesAnEmptyKey) {
  EXPECT_EQ(hex_of(hmac_sha256({}, {})), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(ConstantTimeEqual, ComparesLengthAndContent) {
  EXPECT_TRUE(constant_time_equal(as_bytes("abc"), as_bytes("abc")));
  EXPECT_TRUE(constant_time_equal({}, {}));
  EXPECT_FALSE(constant_time_equal(as_bytes("abc"), as_bytes("abd")));
  EXPECT_FALSE(constant_time_equal(as_bytes("abc"), as_bytes("ab")));
}

}  // namespace
}  // namespace mist::crypto
