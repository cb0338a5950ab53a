#include "apply/fields/unowned_empty.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

Value box(std::string_view spec, std::string_view owned = "{}", std::string_view version = "ex.io/v1") {
  return yaml(
      fmt::format("{{apiVersion: {}, kind: Box, metadata: {{name: b, managedFields: [{{manager: a, "
                  "operation: Apply, fieldsV1: {{'f:spec': {}}}}}]}}, spec: {}}}",
                  version, owned, spec));
}

std::vector<std::string> left(std::string_view recorded, std::string_view wanted, const Value& live) {
  std::vector<std::string> paths;
  for (const FieldDifference& each : lists_left_empty(box(recorded), box(wanted), live)) {
    EXPECT_TRUE(each.removal() && each.empties && !each.before.is_null());
    paths.push_back(each.path);
  }
  return paths;
}

TEST(ListsLeftEmpty, AreThoseThatNobodyWantsOrOwns) {
  EXPECT_THAT(left("{l: []}", "{}", box("{l: []}")), ElementsAre(".spec.l"));
  EXPECT_THAT(left("{l: []}", "{l: []}", box("{l: []}")), IsEmpty());
  EXPECT_THAT(left("{l: []}", "{}", box("{l: [a]}")), IsEmpty()) << "somebody filled it";
  EXPECT_THAT(left("{l: []}", "{}", box("{}")), IsEmpty());
  EXPECT_THAT(left("{l: [a]}", "{}", box("{l: []}")), IsEmpty()) << "it is not we who emptied it";
  EXPECT_THAT(left("{l: []}", "{}", box("{l: []}", "{'f:l': {}}")), IsEmpty()) << "it is somebody's";
}

TEST(ListsLeftEmpty, AreFoundInMapsAndInItemsThatHaveAKey) {
  EXPECT_THAT(left("{m: {l: []}}", "{}", box("{m: {l: []}}")), ElementsAre(".spec.m"));
  EXPECT_THAT(left("{m: {l: []}}", "{}", box("{m: {l: [], d: 1}}")), ElementsAre(".spec.m.l"))
      << "the server filled in d";
  const Value keyed = box("{k: [{name: x, l: []}]}", "{'f:k': {'k:{\"name\":\"x\"}': {'f:name': {}}}}");
  EXPECT_THAT(left("{k: [{name: x, l: []}]}", "{k: [{name: x}]}", keyed), ElementsAre(".spec.k[name=x].l"));
  EXPECT_THAT(left("{k: [{name: x, l: []}]}", "{k: [{name: z}]}", keyed), IsEmpty()) << "the item goes";
}

TEST(ListsLeftEmpty, ThereAreNoneOfBuiltInKindsOrInMetadata) {
  const Value live = box("{l: []}", "{}", "apps/v1");
  EXPECT_THAT(lists_left_empty(box("{l: []}"), box("{}"), live), IsEmpty());
  const Value recorded = yaml("{metadata: {ownerReferences: []}}");
  EXPECT_THAT(
      lists_left_empty(recorded, box("{}"), yaml("{apiVersion: ex.io/v1, metadata: {ownerReferences: []}}")),
      IsEmpty());
}

TEST(MayOwnNothing, IsAMapOfEmptyLists) {
  EXPECT_TRUE(may_own_nothing(yaml("{}")));
  EXPECT_TRUE(may_own_nothing(yaml("{a: [], b: {c: []}}")));
  EXPECT_FALSE(may_own_nothing(yaml("{a: [], b: {}}"))) << "an empty map has an owner";
  EXPECT_FALSE(may_own_nothing(yaml("{a: [], b: 1}")));
}

}  // namespace
}  // namespace mist::apply
