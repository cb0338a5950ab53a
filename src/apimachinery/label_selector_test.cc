#include "apimachinery/label_selector.h"

#include <gtest/gtest.h>

#include "testing/selector_match.h"
#include "testing/yaml.h"

namespace mist::apimachinery {
namespace {

TEST(LabelSelector, SelectsAsAServerDoes) {
  const encoding::Value object =
      testing::yaml("metadata: {labels: {app: shop, tier: web, blank: '', size: '12'}}");
  for (const auto& [selector, is_selected] :
       std::initializer_list<std::pair<std::string_view, bool>>{{"", true},
                                                                {" ", true},
                                                                {"app", true},
                                                                {"none", false},
                                                                {"!app", false},
                                                                {"!none", true},
                                                                {"app=shop", true},
                                                                {"app == shop , tier=web", true},
                                                                {"app=shop,tier=db", false},
                                                                {"app!=shop", false},
                                                                {"none!=shop", true},
                                                                {"blank=", true},
                                                                {"none=", false},
                                                                {"tier in (db,web)", true},
                                                                {"tier in ( db, cache ),app", false},
                                                                {"tier notin (db,cache),app=shop", true},
                                                                {"tier notin (web)", false},
                                                                {"none notin (web)", true},
                                                                {"size>9", true},
                                                                {"size > 12", false},
                                                                {"size<13,app=shop", true},
                                                                {"size < 2", false},
                                                                {"tier>1", false},
                                                                {"none<1", false},
                                                                {"blank in ()", true},
                                                                {"blank in (,x)", true},
                                                                {"app,none in (a,b),tier", false}}) {
    EXPECT_EQ(selects(selector, object), is_selected) << selector;
    EXPECT_EQ(*testing::matches_labels(selector, object), is_selected) << selector;
  }
  EXPECT_FALSE(selects("app", encoding::Value::object()));
}

TEST(LabelSelector, MeetsWhatItCannotRead) {
  const encoding::Value object = testing::yaml("metadata: {labels: {app: shop}}");
  for (const std::string_view selector :
       {"tier within (web)", "tier(web)", "tier in (web", "app>=1", "app>shop", "app<"})
    EXPECT_TRUE(selects(selector, object)) << selector;
}

}  // namespace
}  // namespace mist::apimachinery
