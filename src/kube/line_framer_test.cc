#include "kube/line_framer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mist::kube {
namespace {

using ::testing::ElementsAre;

TEST(LineFramer, PutsPiecesTogether) {
  std::vector<std::string> lines;
  LineFramer framer(100);
  const auto take = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  for (const std::string_view piece : {"a", "b\nc", "", "d\r\n\n", "e"})
    EXPECT_EQ(framer.feed(piece, take), LineFramer::State::Open);
  EXPECT_THAT(lines, ElementsAre("ab", "cd"));
  EXPECT_EQ(framer.pending(), 1u);
}

TEST(LineFramer, AnySplitGivesTheSameLines) {
  const std::string text = "{\"a\":1}\n\nsecond line\nthird\n";
  const bool same = rc::check([&](const std::vector<unsigned char>& cuts) {
    std::vector<std::string> lines;
    LineFramer framer(100);
    std::string_view rest = text;
    for (const unsigned char cut : cuts) {
      const std::size_t n = std::min<std::size_t>(cut % 7, rest.size());
      framer.feed(rest.substr(0, n), [&](std::string_view line) { return lines.emplace_back(line), true; });
      rest.remove_prefix(n);
    }
    framer.feed(rest, [&](std::string_view line) { return lines.emplace_back(line), true; });
    RC_ASSERT(lines == std::vector<std::string>({"{\"a\":1}", "second line", "third"}));
  });
  EXPECT_TRUE(same);
}

TEST(LineFramer, StopsWhenToldAndTakesNothingMore) {
  int lines = 0;
  LineFramer framer(100);
  const auto once = [&](std::string_view) { return ++lines < 2; };
  EXPECT_EQ(framer.feed("a\nb\nc\n", once), LineFramer::State::Ended);
  EXPECT_EQ(framer.feed("d\n", once), LineFramer::State::Ended);
  EXPECT_EQ(lines, 2);
}

TEST(LineFramer, RefusesALineWithoutEnd) {
  LineFramer framer(4);
  const auto take = [](std::string_view) { return true; };
  EXPECT_EQ(framer.feed("abcd\n", take), LineFramer::State::Open);
  EXPECT_EQ(framer.feed("abc", take), LineFramer::State::Open);
  EXPECT_EQ(framer.feed("de", take), LineFramer::State::TooLong);
}

}  // namespace
}  // namespace mist::kube
