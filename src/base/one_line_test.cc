#include "base/one_line.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

TEST(OneLine, LinesBecomePartsOfOne) {
  EXPECT_EQ(one_line("a\n  b\r\n\nc\n"), "a; b; c");
  EXPECT_EQ(one_line("a"), "a");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace mist
