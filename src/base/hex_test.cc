#include "base/hex.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

TEST(Hex, GivesBytesOfDigitsOnly) {
  EXPECT_EQ(bytes_of_hex("00ff7a"), std::string("\0\xff\x7a", 3));
  EXPECT_EQ(bytes_of_hex("0"), std::nullopt);
  EXPECT_EQ(bytes_of_hex("0G"), std::nullopt);
  EXPECT_EQ(bytes_of_hex("FF"), std::nullopt) << "digests are written in lower case";
}

}  // namespace
}  // namespace mist
