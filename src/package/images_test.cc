#include "package/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::package {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> images_in(std::string_view json) {
  return images_of({encoding::parse_json(json).value_or(encoding::Value())});
}

TEST(Images, ThoseOfAllContainersAndVolumesAreNamedOnce) {
  EXPECT_THAT(images_in(R"({"kind": "Pod", "spec": {
    "initContainers": [{"image": "r.example/init:1"}], "containers": [{"image": "web:1"}, {"image": "app@sha256:ab"}],
    "ephemeralContainers": [{"image": "web:1"}], "volumes": [{"image": {"reference": "r.example/data:2"}}, {"emptyDir": {}}]}})"),
              ElementsAre("app@sha256:ab", "r.example/data:2", "r.example/init:1", "web:1"));
}

TEST(Images, PodTemplatesCountAtAnyDepth) {
  EXPECT_THAT(images_in(R"({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec":
    {"containers": [{"image": "job:1"}]}}}}}})"),
              ElementsAre("job:1"));
  EXPECT_THAT(
      images_in(
          R"({"kind": "Rollout", "spec": {"templates": [{"spec": {"containers": [{"image": "a"}]}}]}})"),
      ElementsAre("a"));
}

TEST(Images, WhatIsNoContainerCountsForNothing) {
  EXPECT_THAT(
      images_in(
          R"({"kind": "ConfigMap", "data": {"image": "x"}, "spec": {"image": "y", "containers": "z"}})"),
      IsEmpty());
  EXPECT_THAT(images_in(R"({"kind": "Pod", "spec": {"containers": ["a", {"image": 1}, {"image": ""}, {}]}})"),
              IsEmpty());
}

}  // namespace
}  // namespace mist::package
