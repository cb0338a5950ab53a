#include "action/authoring/package_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::action {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const release::PackageInfo& before, const release::PackageInfo& after) {
  std::vector<std::string> lines;
  for (const PackageChange& each : package_changes(before, after)) lines.push_back(to_text(each));
  return lines;
}

TEST(PackageChanges, NameEachPackageWithBothVersions) {
  const release::PackageInfo before{
      .reference = "m/shop:1.0.0",
      .name = "shop",
      .version = "1.0.0",
      .digest = "sha256:1",
      .calls = {{"../cache", "", "sha256:7"}, {"m/db", "1.0.0", "sha256:2"}, {"m/old", "1.0.0", "sha256:3"}}};
  release::PackageInfo after = before;
  EXPECT_THAT(texts(before, after), ElementsAre());
  after.version = "1.1.0";
  after.calls = {{"../cache", "", "sha256:8"}, {"m/db", "2.0.0", "sha256:4"}, {"m/new", "0.1.0", "sha256:5"}};
  EXPECT_THAT(texts(before, after),
              ElementsAre("shop 1.0.0 → 1.1.0", "../cache: other content", "m/db 1.0.0 → 2.0.0",
                          "m/new 0.1.0 is called now", "m/old 1.0.0 is no longer called"));
}

}  // namespace
}  // namespace mist::action
