#include "view/style.h"

#include <gtest/gtest.h>

namespace mist::view {
namespace {

TEST(EscapeLines, IndentsAllButTheFirst) {
  EXPECT_EQ(escape_lines("one", 4), "one");
  EXPECT_EQ(escape_lines("one\n  two\nthree\n", 4), "one\n      two\n    three");
  EXPECT_EQ(escape_lines("\x1b[31m\nnext\r", 2), "\\x1b[31m\n  next\\x0d");
  EXPECT_EQ(escape_lines("", 2), "");
}

}  // namespace
}  // namespace mist::view
