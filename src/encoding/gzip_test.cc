#include "encoding/gzip.h"

#include <gtest/gtest.h>

namespace mist::encoding {
namespace {

constexpr std::size_t kPlenty = 64 << 20;

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(Gzip, UnpacksWhatItPacked) {
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1'000'000, 'x'), noise(300'000)}) {
    const auto packed = gzip(text);
    ASSERT_TRUE(packed.ok());
    const auto unpacked = gunzip(*packed, kPlenty);
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().to_line();
    EXPECT_EQ(*unpacked, text);
  }
}

TEST(Gzip, IsTheSameEveryTime) {
  const std::string packed = *gzip("hello");
  EXPECT_EQ(packed, *gzip("hello"));
  EXPECT_EQ(packed.substr(0, 10), std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10));
}

TEST(Gzip, ReadsSeveralMembers) { EXPECT_EQ(*gunzip(*gzip("ab") + *gzip("cd"), kPlenty), "abcd"); }

TEST(Gzip, StopsAtTheLimit) {
  const std::string bomb = *gzip(std::string(8'000'000, 'x'));
  EXPECT_FALSE(gunzip(bomb, 7'999'999).ok());
  EXPECT_TRUE(gunzip(bomb, 8'000'000).ok());
}

TEST(Gzip, RefusesDamage) {
  const std::string good = *gzip(noise(1000));
  EXPECT_FALSE(gunzip("", kPlenty).ok());
  EXPECT_FALSE(gunzip("no gzip at all", kPlenty).ok());
  EXPECT_FALSE(gunzip(good + "tail", kPlenty).ok());
  for (std::size_t cut = 1; cut < good.size(); cut += 7)
    EXPECT_FALSE(gunzip(good.substr(0, cut), kPlenty).ok()) << cut;
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 0x10);
  EXPECT_FALSE(gunzip(flipped, kPlenty).ok());
}

}  // namespace
}  // namespace mist::encoding
