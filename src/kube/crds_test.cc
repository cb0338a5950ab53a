#include "kube/crds.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::kube {
namespace {

TEST(Crds, ObjectsAreReadInTheVersionThatTheyAreStoredInWhereItIsServed) {
  const auto version_of = [](std::string_view versions) {
    return readable_version(*encoding::parse_yaml(fmt::format("spec: {{versions: [{}]}}", versions)));
  };
  EXPECT_EQ(version_of("{name: v1, served: true, storage: false}, {name: v2, served: true, storage: true}"),
            "v2");
  EXPECT_EQ(version_of("{name: v1, served: false, storage: true}, {name: v2, served: true}"), "v2");
  EXPECT_EQ(version_of("{name: v1, served: false, storage: true}"), "");
}

}  // namespace
}  // namespace mist::kube
