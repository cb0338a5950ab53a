#include "apply/server_made.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

// The paths that are left of what `wanted` would change on `live`, after `applied` was stored as `stored`.
std::vector<std::string> left(std::string_view applied, std::string_view stored, std::string_view wanted,
                              std::string_view live) {
  std::vector<FieldDifference> found = differences(yaml(wanted), yaml(live), "mistctl");
  leave_out(found, server_made(differences(yaml(applied), yaml(stored), "mistctl")));
  std::vector<std::string> paths;
  for (const FieldDifference& difference : found) paths.push_back(difference.path);
  return paths;
}

constexpr std::string_view kWanted = "{apiVersion: v1, kind: Pod, spec: {image: a}}";
constexpr std::string_view kMirrored = "{apiVersion: v1, kind: Pod, spec: {image: mirror/a}}";

TEST(ServerMade, ValuesAreNoDifferenceAslongAsBothStay) {
  EXPECT_THAT(left(kWanted, kMirrored, kWanted, kMirrored), IsEmpty());
}

TEST(ServerMade, ALiveValueThatSomebodyChangedLaterIsOne) {
  EXPECT_THAT(left(kWanted, kMirrored, kWanted, "{apiVersion: v1, kind: Pod, spec: {image: evil}}"),
              ElementsAre(".spec.image"));
}

TEST(ServerMade, ANewWantedValueIsOne) {
  EXPECT_THAT(left(kWanted, kMirrored, "{apiVersion: v1, kind: Pod, spec: {image: b}}", kMirrored),
              ElementsAre(".spec.image"));
}

TEST(ServerMade, KeepsNoValue) {
  const auto made = server_made(differences(yaml("{apiVersion: v1, kind: Secret, data: {a: c2VjcmV0}}"),
                                            yaml("{apiVersion: v1, kind: Secret}"), "mistctl"));
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].path, ".data");
  EXPECT_EQ(made[0].digest.size(), 32u);
}

}  // namespace
}  // namespace mist::apply
