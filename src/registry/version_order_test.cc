#include "registry/version_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mist::registry {
namespace {

TEST(CompareVersions, IsSemVerPrecedence) {
  // The chain of https://semver.org, 11, with what isn't SemVer before it.
  const std::vector<std::string> ascending{"latest",
                                           "nightly",
                                           "0.9",
                                           "0.10.0",
                                           "1.0.0-alpha",
                                           "1.0.0-alpha.1",
                                           "1.0.0-alpha.beta",
                                           "1.0.0-beta",
                                           "1.0.0-beta.2",
                                           "1.0.0-beta.11",
                                           "1.0.0-rc.1",
                                           "1.0.0",
                                           "1.0.0+build",
                                           "v1.0.1",
                                           "2.0.0",
                                           "10.0.0",
                                           "99999999999999999999999.0.0"};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(compare_versions(ascending[i], ascending[j]), i <=> j) << ascending[i] << " " << ascending[j];
}

}  // namespace
}  // namespace mist::registry
