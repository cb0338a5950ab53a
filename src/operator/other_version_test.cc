#include "operator/other_version.h"

#include <gtest/gtest.h>

#include "testing/fake_cluster.h"

namespace mist::operator_ {
namespace {

using apimachinery::GroupVersionKind;

const GroupVersionKind kOldKind{"example.com", "v1beta1", "Late"}, kNewKind{"example.com", "v1", "Late"};

class OtherVersionTest : public ::testing::Test {
 protected:
  void serve() { cluster_.register_kind({kNewKind, "lates", true, {}, true}); }

  testing::FakeCluster cluster_;
  const Error missing_ = error(ErrorKind::NotFound, "it isn't served");
};

TEST_F(OtherVersionTest, IsFoundOutOnceInALook) {
  OtherVersions look(cluster_);
  EXPECT_EQ(look.failure(kOldKind, true), nullptr);
  EXPECT_TRUE(look.find(kOldKind, true, missing_, Context()).is_nowhere);
  ASSERT_NE(look.failure(kOldKind, true), nullptr);
  EXPECT_EQ(look.failure(kOldKind, true)->message, missing_.message);
  EXPECT_EQ(look.failure(kOldKind, false), nullptr) << "those of others may be watched already";
  serve();
  EXPECT_TRUE(look.find(kOldKind, false, missing_, Context()).is_nowhere) << "nobody looks once more";
  EXPECT_NE(look.failure(kOldKind, false), nullptr);
  OtherVersions next(cluster_);
  const OtherVersion other = next.find(kOldKind, true, missing_, Context());
  EXPECT_FALSE(other.is_nowhere);
  EXPECT_EQ(other.of({"example.com/v1beta1", "Late", "default", "x"}),
            (reconcile::ObjectId{"example.com/v1", "Late", "default", "x"}));
}

// As one whose watch has just failed, or for another reason.
TEST_F(OtherVersionTest, AKindThatMayBeServedIsLookedForEachTime) {
  OtherVersions look(cluster_);
  serve();
  EXPECT_FALSE(look.find(kNewKind, true, missing_, Context()).is_served());
  EXPECT_EQ(look.failure(kNewKind, true), nullptr);
  const Error refused = error(ErrorKind::Forbidden, "not allowed");
  EXPECT_FALSE(look.find(kOldKind, true, refused, Context()).is_served());
  EXPECT_EQ(look.failure(kOldKind, true), nullptr);
  cluster_.set_api_down("example.com");
  EXPECT_FALSE(look.find(kOldKind, true, missing_, Context()).is_nowhere);
  EXPECT_EQ(look.failure(kOldKind, true), nullptr);
}

}  // namespace
}  // namespace mist::operator_
