#include "operator/watched_namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WatchedNamespaces, HoldWhatIsInThemAndNothingElse) {
  const WatchedNamespaces some({"shop", "blog", "shop"});
  EXPECT_THAT(some.names(), ElementsAre("blog", "shop"));
  EXPECT_TRUE(some.has("shop"));
  EXPECT_TRUE(some.check_namespace("blog").ok());
  const Status outside = some.check_namespace("bank");
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(
      outside.error().message,
      "this operator works only in namespaces blog, shop (--watch-namespace), and namespace bank is none "
      "of them");
  EXPECT_TRUE(some.check_kind("Deployment", true).ok());
  const Status nowhere = some.check_kind("ClusterRole", false);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().kind, ErrorKind::Forbidden);
  EXPECT_THAT(nowhere.error().message, HasSubstr("objects of kind ClusterRole are in no namespace"));
}

TEST(WatchedNamespaces, AreAllWithoutAny) {
  const WatchedNamespaces all;
  EXPECT_TRUE(all.are_all());
  EXPECT_TRUE(all.check_namespace("bank").ok());
  EXPECT_TRUE(all.check_kind("ClusterRole", false).ok());
  EXPECT_EQ(all.display(), "all namespaces");
  EXPECT_EQ(WatchedNamespaces({"shop"}).display(), "namespace shop");
}

}  // namespace
}  // namespace mist::operator_
