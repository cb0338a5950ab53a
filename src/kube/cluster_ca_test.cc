#include "kube/cluster_ca.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "testing/fake_clock.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;

class ClusterCaTest : public ::testing::Test {
 protected:
  testing::FakeClock clock;
  std::string file = "one";
  std::optional<std::string> next;  // what the file has after it was read once
  ClusterCa ca{[this]() -> Result<std::string> {
                 if (file.empty()) return error(ErrorKind::NotFound, "cannot read it");
                 const std::string read = file;
                 if (next) file = *std::exchange(next, {});
                 return read;
               },
               "one", clock};
};

TEST_F(ClusterCaTest, FollowsItsFileWithinAMinuteAndAfterDistrust) {
  file = "two";
  EXPECT_EQ(ca.pem(), "one");
  clock.advance(1min);
  EXPECT_EQ(ca.pem(), "two");
  EXPECT_FALSE(ca.refresh("two")) << "nothing else is there";
  file = "three";
  EXPECT_TRUE(ca.refresh("two"));
  EXPECT_EQ(ca.pem(), "three");
  EXPECT_TRUE(ca.refresh("one")) << "somebody else has read it meanwhile";
}

TEST_F(ClusterCaTest, KeepsTheLastGoodTextWhileTheFileChangesOrCannotBeRead) {
  file = "tw";
  next = "two";
  EXPECT_FALSE(ca.refresh("one")) << "it was being written";
  file.clear();
  EXPECT_FALSE(ca.refresh("one"));
  clock.advance(1min);
  EXPECT_EQ(ca.pem(), "one");
}

TEST(FixedClusterCa, Stays) {
  ClusterCa fixed("text");
  EXPECT_FALSE(fixed.refresh("text"));
  EXPECT_EQ(fixed.pem(), "text");
}

}  // namespace
}  // namespace mist::kube
