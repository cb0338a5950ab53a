#include "view/diagnosis_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/value.h"

namespace mist::view {
namespace {

using ::testing::ElementsAre;

Diagnosis unbound_claim() {
  Diagnosis claim{.kind = "PersistentVolumeClaim", .name = "shop/data", .state = "it is not bound yet"};
  claim.events.push_back({.warning = true, .reason = "ProvisioningFailed", .message = "no such class"});
  return claim;
}

// A claim of the release, on which a Pod of the release waits too.
TEST(DiagnosisTree, SaysOfAnObjectOnlyOnceWhatIsWrong) {
  Diagnosis pod{.kind = "Pod", .name = "shop/web-1", .state = "no node takes it"};
  pod.children.push_back(unbound_claim());
  Diagnosis root{.kind = "Release", .name = "shop/web", .state = "2 objects are not ready"};
  root.children = {unbound_claim(), pod};
  EXPECT_THAT(diagnosis_lines(root, false),
              ElementsAre("Release shop/web: 2 objects are not ready",
                          "├─ PersistentVolumeClaim shop/data: it is not bound yet",
                          "│  event ProvisioningFailed: no such class", "└─ Pod shop/web-1: no node takes it",
                          "   └─ PersistentVolumeClaim shop/data: see above"));
}

TEST(DiagnosisTree, ContainersOfTwoPodsMayHaveOneName) {
  Diagnosis root{.kind = "ReplicaSet", .name = "shop/web", .state = "0 of 2 replicas are ready"};
  for (const char* pod : {"shop/web-1", "shop/web-2"}) {
    Diagnosis node{.kind = "Pod", .name = pod, .state = "Running"};
    node.children.push_back({.kind = "container", .name = "main", .state = "ended with exit code 1"});
    root.children.push_back(node);
  }
  EXPECT_THAT(diagnosis_lines(root, false),
              ElementsAre("ReplicaSet shop/web: 0 of 2 replicas are ready", "├─ Pod shop/web-1: Running",
                          "│  └─ container main: ended with exit code 1", "└─ Pod shop/web-2: Running",
                          "   └─ container main: ended with exit code 1"));
}

Diagnosis held_set() {
  Diagnosis set{.kind = "StatefulSet", .name = "shop/db", .state = "0 of 1", .remedy = "delete the Pod"};
  set.children.push_back({.kind = "Pod", .name = "shop/db-0", .state = "Running, not ready"});
  return set;
}

TEST(DiagnosisTree, ShowsARemedyUnlessTheHintBelowHasIt) {
  EXPECT_THAT(diagnosis_lines(held_set(), false),
              ElementsAre("StatefulSet shop/db: 0 of 1", "│  try: delete the Pod",
                          "└─ Pod shop/db-0: Running, not ready"));
  EXPECT_THAT(diagnosis_lines(held_set(), false, "fix the cause; delete the Pod"),
              ElementsAre("StatefulSet shop/db: 0 of 1", "└─ Pod shop/db-0: Running, not ready"));
}

TEST(DiagnosisTree, ARemedyIsAMemberForPrograms) {
  encoding::Value value = diagnosis_to_value(held_set());
  EXPECT_EQ(value.string_at("remedy"), "delete the Pod");
  EXPECT_TRUE(value["children"].as_array()[0]["remedy"].is_null());
}

}  // namespace
}  // namespace mist::view
