#include "apimachinery/chart_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::apimachinery {
namespace {

using ::testing::ElementsAre;

TEST(ChartHooks, AreReadAsHelmDoes) {
  EXPECT_THAT(hook_words(" Pre-Install,post-upgrade ,"), ElementsAre("pre-install", "post-upgrade", ""));
  EXPECT_EQ(find_hook_event("post-delete")->verb, HookVerb::Uninstall);
  EXPECT_EQ(find_hook_event("test")->phase, HookPhase::None);
  EXPECT_EQ(find_hook_event("crd-install"), nullptr);
  EXPECT_EQ(find_hook_event(""), nullptr);
}

TEST(ChartHooks, WeighAsGoReadsNumbers) {
  EXPECT_EQ(parse_hook_weight("5"), 5);
  EXPECT_EQ(parse_hook_weight("+5"), 5);
  EXPECT_EQ(parse_hook_weight("-5"), -5);
  EXPECT_EQ(parse_hook_weight("007"), 7);
  for (const char* bad : {"", "+", "-", "+-5", "++5", "5.0", " 5", "first", "0x5"})
    EXPECT_EQ(parse_hook_weight(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace mist::apimachinery
