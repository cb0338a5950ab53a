#include "cli/output/redrawn_text.h"

#include <gtest/gtest.h>

#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

TEST(RedrawnText, IsDrawnOverWhatStandsThere) {
  testing::FakeOutput out;
  out.width = 20;
  out.height = 10;
  RedrawnText frame(out);
  frame.draw("one\ntwo\n");
  EXPECT_EQ(out.take(), "one\ntwo\n");
  frame.draw("one\ntwo\n");
  EXPECT_EQ(out.take(), "") << "nothing is new";
  frame.draw("\x1b[32mthree\x1b[0m and more than that\n");
  EXPECT_EQ(out.take(), "\r\x1b[2A\x1b[J\x1b[32mthree\x1b[0m and more than that\n");
  frame.draw("x\n");
  EXPECT_EQ(out.take(), "\r\x1b[2A\x1b[Jx\n") << "a long line has two rows, and colors have none";
}

TEST(RedrawnText, IsCutAtTheScreensHeight) {
  testing::FakeOutput out;
  out.height = 4;
  RedrawnText frame(out);
  frame.draw("a\nb\nc\nd\ne\n");
  EXPECT_EQ(out.take(), "a\nb\n… and 3 more lines\n");
  out.height = 24;
  frame.draw("a\n");
  EXPECT_EQ(out.take(), "\r\x1b[3A\x1b[Ja\n");
}

}  // namespace
}  // namespace mist::cli
