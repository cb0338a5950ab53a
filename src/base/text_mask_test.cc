#include "base/text_mask.h"

#include <gtest/gtest.h>

#include <random>

namespace mist {
namespace {

TEST(TextMask, MasksEveryPattern) {
  const TextMask mask({"hunter2", "swordfish", ""});
  EXPECT_EQ(mask.masked("hunter2 and swordfish, hunter", "***"), "*** and ***, hunter");
  EXPECT_TRUE(mask.finds("a swordfish"));
  EXPECT_FALSE(mask.finds("a swordfis"));
  EXPECT_EQ(TextMask().masked("as it is", "***"), "as it is");
  EXPECT_TRUE(TextMask({""}).empty());
}

TEST(TextMask, LeavesNoRestOfWhatOverlaps) {
  EXPECT_EQ(TextMask({"abc", "abcdef", "def"}).masked("xabcdefx", "*"), "x*x");
  EXPECT_EQ(TextMask({"abcd", "cdef"}).masked("abcdef", "*"), "*");
  EXPECT_EQ(TextMask({"ab", "cd"}).masked("abcd", "*"), "**");
  EXPECT_EQ(TextMask({"bcx", "abcdef", "cd"}).masked("abcde", "*"), "ab*e");
  EXPECT_EQ(TextMask({"b", "abc"}).masked("abab abc", "*"), "a*a* *");
}

// As a slow search finds them: every byte of every occurrence is hidden, and no other.
TEST(TextMask, HidesTheSameBytesAsASlowSearch) {
  std::minstd_rand random(7);
  const auto text_of = [&](std::size_t most) {
    std::string text(random() % (most + 1), 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<std::string> patterns;
    for (unsigned i = 0; i < random() % 6; ++i) patterns.push_back(text_of(5));
    const std::string text = text_of(30);
    std::string hidden(text.size(), '.');
    for (const std::string& pattern : patterns)
      for (std::size_t at = text.find(pattern); !pattern.empty() && at != std::string::npos;
           at = text.find(pattern, at + 1))
        hidden.replace(at, pattern.size(), pattern.size(), '*');
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (hidden[i] == '.') shown += text[i];
    const TextMask mask(patterns);
    EXPECT_EQ(mask.masked(text, ""), shown);
    EXPECT_EQ(mask.finds(text), hidden.find('*') != std::string::npos);
  }
}

// Patterns made so that a search for one after another, or a naive trie, goes over the text again and again.
TEST(TextMask, WorksInLinearSteps) {
  std::vector<std::string> patterns;
  for (std::size_t i = 1; i < 1000; ++i) patterns.push_back(std::string(i, 'a') + 'b');
  const TextMask mask(std::move(patterns));
  for (const std::size_t size : {1'000u, 100'000u}) {
    EXPECT_LE(mask.steps(std::string(size, 'a')), 2 * size + 1);
    std::string mixed;
    while (mixed.size() < size) mixed += std::string(997, 'a') + 'c';
    EXPECT_LE(mask.steps(mixed), 2 * mixed.size() + 1);
  }
}

TEST(TextMask, ShowsNothingWhereThereAreTooManyPatterns) {
  const TextMask mask({std::string(TextMask::kMostBytes, 'x'), "hunter2"});
  EXPECT_TRUE(mask.finds("anything"));
  EXPECT_EQ(mask.masked("it is hunter2", "***").find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace mist
