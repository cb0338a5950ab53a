#include "releases/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::releases {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Key kDatabase{"shop", "database"}, kCache{"shop", "cache"};

TEST(Waiting, KeepsNothingOfWhatNobodyWaitsFor) {
  const Key web{"shop", "web"}, api{"shop", "api"};
  Waiting waiting;
  waiting.add(kDatabase, web);
  waiting.add(kDatabase, api);
  waiting.add(kCache, web);
  waiting.forget(web);
  EXPECT_EQ(waiting.size(), 1U);
  EXPECT_THAT(waiting.take(kCache), IsEmpty());
  EXPECT_THAT(waiting.take(kDatabase), ElementsAre(api));
  EXPECT_THAT(waiting.take(kDatabase), IsEmpty());
  EXPECT_EQ(waiting.size(), 0U);
}

}  // namespace
}  // namespace mist::releases
