#include "apply/plan/hooks.h"

#include <gtest/gtest.h>

namespace mist::apply {
namespace {

TEST(ChartCrds, AreThoseOfTheChartsCrdsAlone) {
  for (const std::string_view file :
       {"shop/crds/a.yaml", "shop/crds/more/a.yaml", "shop/charts/db/crds/a.yaml",
        "shop/charts/db/charts/user/crds/a.yaml", "shop/charts/crds/crds/a.yaml", "crds/crds/a.yaml",
        "charts/charts/charts/crds/a.yaml"})
    EXPECT_TRUE(is_in_crds(file)) << file;
  for (const std::string_view file :
       {"shop/templates/crds/a.yaml", "shop/charts/db/templates/crds/a.yaml",
        "shop/charts/crds/templates/a.yaml", "crds/templates/a.yaml", "shop/charts/crds/a.yaml",
        "crds/a.yaml", "shop/crds", "shop/crds/", "a.yaml", "/crds/a.yaml", ""})
    EXPECT_FALSE(is_in_crds(file)) << file;
}

}  // namespace
}  // namespace mist::apply
