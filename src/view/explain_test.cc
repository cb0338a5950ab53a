#include "view/explain.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mist::view {
namespace {

TEST(Explain, NamesFieldsWithTheirPlacesAndWhatIsWaitedFor) {
  const PlanAnnounced plan{
      .operation = "upgrade",
      .ns = "shop",
      .release = "web",
      .revision = 3,
      .objects = {
          {.object = "Deployment shop/api",
           .action = "update",
           .reason = "it differs",
           .fields = {{.path = ".spec.replicas", .file = "web.yaml", .line = 12}, {.path = ".spec.paused"}},
           .after = {{"ConfigMap shop/api", "its Pods need it"}},
           .more_after = 2},
          {.object = "Secret shop/x", .action = "unchanged", .reason = "it is as wanted"},
          {.object = "Job shop/\x1b[2J", .action = "delete", .reason = "no longer wanted"}}};
  EXPECT_EQ(explanation(plan, false),
            "plan: upgrade shop/web, revision 3\n"
            "  update Deployment shop/api: it differs\n"
            "    .spec.replicas  (web.yaml:12)\n"
            "    .spec.paused\n"
            "    after ConfigMap shop/api: its Pods need it\n"
            "    after 2 more objects\n"
            "  delete Job shop/\\x1b[2J: no longer wanted\n"
            "  unchanged: 1 object\n");
}

TEST(Explain, ManyFieldsAreCounted) {
  PlanAnnounced plan{.operation = "install", .ns = "n", .release = "r"};
  plan.objects.push_back({.object = "Job x", .action = "update"});
  for (int i = 0; i < 25; ++i) plan.objects[0].fields.push_back({.path = fmt::format(".f{}", i)});
  const std::string text = explanation(plan, false);
  EXPECT_NE(text.find("    and 5 more fields\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(".f20"), std::string::npos);
}

}  // namespace
}  // namespace mist::view
