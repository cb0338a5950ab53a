#include "base/text_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace mist {
namespace {

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> result;
  for (const char c : text) result.emplace_back(1, c);
  return result;
}

std::string marks(std::string_view before, std::string_view after) {
  std::string text;
  const auto a = lines(before), b = lines(after);
  for (const LineEdit& edit : diff_lines(a, b)) {
    if (edit.change == LineChange::Removed)
      text += "-" + a[edit.before];
    else
      text += (edit.change == LineChange::Added ? "+" : " ") + b[edit.after];
  }
  return text;
}

TEST(TextDiff, SaysWhatIsRemovedAndAdded) {
  EXPECT_EQ(marks("abc", "abc"), " a b c");
  EXPECT_EQ(marks("abc", "abxc"), " a b+x c");
  EXPECT_EQ(marks("abc", "ac"), " a-b c");
  EXPECT_EQ(marks("", "ab"), "+a+b");
  EXPECT_EQ(marks("ab", ""), "-a-b");
  EXPECT_EQ(marks("abc", "axc"), " a-b+x c");
}

TEST(TextDiff, BeyondTheBoundAllIsRemovedAndAdded) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(unified_diff("a\nb\nc\nd\n", "a\nB\nc\nD\n", 0, 4),
            (Lines{"@@ -2,1 +2,1 @@", "-b", "+B", "@@ -4,1 +4,1 @@", "-d", "+D"}));
  const Lines all{"@@ -2,3 +2,3 @@", "-b", "-c", "-d", "+B", "+c", "+D"};
  EXPECT_EQ(unified_diff("a\nb\nc\nd\n", "a\nB\nc\nD\n", 0, 3), all);
  EXPECT_EQ(unified_diff("a\nb\nc\nd\n", "a\nB\nc\nD\n", 0, 0), all);
}

// For any texts, the edits give both of them back, and no more lines are shown as changed than the longest
// common subsequence requires.
TEST(TextDiff, GivesBothTextsBackWithTheFewestEdits) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string a, b;
    for (std::string* text : {&a, &b}) {
      for (std::size_t i = random() % 12; i > 0; --i) *text += static_cast<char>('a' + random() % 3);
    }
    const auto before = lines(a), after = lines(b);
    for (const std::size_t bound : {std::size_t{4000}, std::size_t{3}}) {
      std::string left, right;
      std::size_t same = 0;
      for (const LineEdit& edit : diff_lines(before, after, bound)) {
        if (edit.change != LineChange::Added) left += before[edit.before];
        if (edit.change != LineChange::Removed) right += after[edit.after];
        same += edit.change == LineChange::Same;
      }
      ASSERT_EQ(left, a);
      ASSERT_EQ(right, b);
      if (bound == 3) continue;
      std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
      for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j)
          common[i][j] =
              a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1 : std::max(common[i - 1][j], common[i][j - 1]);
      }
      ASSERT_EQ(same, common[a.size()][b.size()]) << a << " " << b;
    }
  }
}

TEST(UnifiedDiff, IsWhatDiffPrints) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb"), Lines());
  EXPECT_EQ(unified_diff("", "a\n"), (Lines{"@@ -0,0 +1,1 @@", "+a"}));
  EXPECT_EQ(unified_diff("a\n", ""), (Lines{"@@ -1,1 +0,0 @@", "-a"}));
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\nx\n5\n6\n7\n8\n9\n", 1),
            (Lines{"@@ -3,3 +3,3 @@", " 3", "-4", "+x", " 5", "@@ -8,1 +8,2 @@", " 8", "+9"}));
}

TEST(UnifiedDiff, OfFilesCountsTheNewlineAtTheEnd) {
  using Lines = std::vector<std::string>;
  constexpr const char* kRemark = "\\ No newline at end of file";
  EXPECT_EQ(unified_file_diff("a\nb\n", "a\nb\n"), Lines());
  EXPECT_EQ(unified_file_diff("a\nb\n", "a\nb"), (Lines{"@@ -1,2 +1,2 @@", " a", "-b", "+b", kRemark}));
  EXPECT_EQ(unified_file_diff("a\nb", "c\nb"), (Lines{"@@ -1,2 +1,2 @@", "-a", "+c", " b", kRemark}));
  EXPECT_EQ(unified_file_diff("", "\n"), (Lines{"@@ -0,0 +1,1 @@", "+"}));
}

}  // namespace
}  // namespace mist
