#include "crypto/random_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace mist::crypto {
namespace {

Seed counting_seed() {
  Seed seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::byte>(i);
  return seed;
}

std::vector<std::byte> take(RandomStream& stream, std::size_t count) {
  std::vector<std::byte> bytes(count);
  stream.fill(bytes);
  return bytes;
}

// Computed with Python's hmac and hashlib. Releases depend on these bytes: they never change.
TEST(RandomStream, MatchesTheVectorsOfVersion1) {
  RandomStream unnamed(counting_seed(), "");
  EXPECT_EQ(mist::hex(take(unnamed, 40)),
            "d0def479cd7ce2073d4ced497a87101b580850aa51f1d6aca786fc001e582ea6177094cca05a99e3");
  RandomStream main(counting_seed(), "main");
  EXPECT_EQ(mist::hex(take(main, 40)),
            "d84559a54359e1d0cdf5e747051db278c28958cb522b32c4f2419204e59c8c10cd1737eaaba2b3a7");
  RandomStream zero(Seed{}, "main");
  EXPECT_EQ(mist::hex(take(zero, 40)),
            "919f8ef2ceecf0be516791f2f92ff63b73638dd1d4800b867e257fe1f153d1a3acb3e0efc4a6cd99");
}

RC_GTEST_PROP(RandomStream, GivesTheSameBytesInAnyPieces, (const std::vector<std::uint8_t>& sizes)) {
  RandomStream whole(counting_seed(), "x");
  RandomStream pieces(counting_seed(), "x");
  std::vector<std::byte> collected;
  for (const std::uint8_t size : sizes) {
    const auto piece = take(pieces, size);
    collected.insert(collected.end(), piece.begin(), piece.end());
  }
  RC_ASSERT(collected == take(whole, collected.size()));
}

}  // namespace
}  // namespace mist::crypto
