#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace mist {
namespace {

// As `openssl mac -macopt c-rounds:1 -macopt d-rounds:3 … SIPHASH` computes them.
TEST(KeyedHash, IsSipHash13) {
  const KeyedHash hash({0x0706050403020100, 0x0f0e0d0c0b0a0908});
  constexpr std::string_view kBytes("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  constexpr std::pair<std::size_t, std::uint64_t> kHashes[] = {
      {0, 0xabac0158050fc4dc}, {7, 0xd3927d989bb11140}, {8, 0x369095118d299a8e}, {15, 0xd320d86d2a519956}};
  for (const auto& [length, want] : kHashes) EXPECT_EQ(hash(kBytes.substr(0, length)), want) << length;
}

TEST(KeyedHash, AProcessHasOneKeyThatNobodyKnows) {
  EXPECT_EQ(KeyedHash()("x"), KeyedHash()("x"));
  EXPECT_NE(KeyedHash()("x"), KeyedHash(KeyedHash::Key())("x"));
}

}  // namespace
}  // namespace mist
