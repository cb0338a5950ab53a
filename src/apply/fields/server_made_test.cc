#include "apply/fields/server_made.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

constexpr std::string_view kPlain = "{apiVersion: v1, kind: Pod, spec: {image: a}}";
constexpr std::string_view kMirrored = "{apiVersion: v1, kind: Pod, spec: {image: mirror/a}}";

std::vector<FieldDifference> found(std::string_view applied, std::string_view stored, std::string_view wanted,
                                   std::string_view live) {
  std::vector<FieldDifference> all = differences(yaml(wanted), yaml(live), "mistctl");
  leave_out(all, server_made(differences(yaml(applied), yaml(stored), "mistctl")));
  return all;
}

// The paths that are left of what `wanted` would change on `live`, after `applied` was stored as `stored`.
std::vector<std::string> left(std::string_view applied, std::string_view stored, std::string_view wanted,
                              std::string_view live) {
  std::vector<std::string> paths;
  for (const FieldDifference& difference : found(applied, stored, wanted, live))
    paths.push_back(difference.path);
  return paths;
}

TEST(ServerMade, AValueIsForTheServerToJudgeAsLongAsBothStay) {
  const std::vector<FieldDifference> all = found(kPlain, kMirrored, kPlain, kMirrored);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].made);
  EXPECT_TRUE(all[0].uncertain);
}

TEST(ServerMade, AKnownValueIsNoDifferenceWhereOthersAreWritten) {
  constexpr std::string_view kStored = "{apiVersion: v1, kind: Pod, spec: {image: mirror/a, host: b}}";
  EXPECT_THAT(left("{apiVersion: v1, kind: Pod, spec: {image: a, host: b}}", kStored,
                   "{apiVersion: v1, kind: Pod, spec: {image: a, host: c}}", kStored),
              ElementsAre(".spec.host"));
}

TEST(ServerMade, AQuantityThatAdmissionSetIsForTheServerToJudgeToo) {
  constexpr std::string_view kAsked =
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {cpu: '2'}}}";
  constexpr std::string_view kSet =
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {cpu: '1'}}}";
  EXPECT_THAT(left(kAsked, kSet, kAsked, kSet), ElementsAre(".spec.hard.cpu"));
  constexpr std::string_view kMilli =
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {cpu: 1000m}}}";
  EXPECT_THAT(left(kMilli, kSet, kMilli, kSet), IsEmpty()) << "a stored form is none";
}

TEST(ServerMade, ALiveValueThatSomebodyChangedLaterIsOne) {
  EXPECT_THAT(left(kPlain, kMirrored, kPlain, "{apiVersion: v1, kind: Pod, spec: {image: evil}}"),
              ElementsAre(".spec.image"));
}

TEST(ServerMade, ANewWantedValueIsOne) {
  EXPECT_THAT(left(kPlain, kMirrored, "{apiVersion: v1, kind: Pod, spec: {image: b}}", kMirrored),
              ElementsAre(".spec.image"));
}

TEST(ServerMade, IsNeverThatAnObjectIsNotTheReleases) {
  constexpr std::string_view kMarked =
      "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {applyset.kubernetes.io/part-of: s, a: b}, "
      "annotations: {mistletoe.dev/release: d/r}}}";
  constexpr std::string_view kStripped = "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: c}}}";
  std::vector<bool> made;
  for (const FieldDifference& difference : found(kMarked, kStripped, kMarked, kStripped))
    made.push_back(difference.made);
  EXPECT_THAT(made, ElementsAre(false, false)) << "the label a is made, and left out beside the others";
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
