#include "kube/shared_texts.h"

#include <gtest/gtest.h>

namespace mist::kube {
namespace {

TEST(SharedTexts, TheSameTextIsKeptOnce) {
  SharedTexts texts;
  const SharedTexts::Text one = texts.share("a"), two = texts.share("a"), other = texts.share("b");
  EXPECT_EQ(one.get(), two.get());
  EXPECT_NE(one.get(), other.get());
  EXPECT_EQ(*one, "a");
  EXPECT_EQ(*other, "b");
  EXPECT_EQ(texts.size(), 2U);
}

TEST(SharedTexts, TextsThatNobodyHoldsAreDropped) {
  SharedTexts texts;
  const SharedTexts::Text held = texts.share("held");
  for (int i = 0; i < 10000; ++i) texts.share(std::to_string(i));
  EXPECT_LE(texts.size(), 64U);
  EXPECT_EQ(texts.share("held").get(), held.get());
}

}  // namespace
}  // namespace mist::kube
