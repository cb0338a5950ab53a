#include "kube/client_pool.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/fake_cluster.h"

namespace mist::kube {
namespace {

class ClientPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<Client> of(const std::string& user) {
    auto client = pool_.of(user);
    EXPECT_TRUE(client.ok());
    return client.ok() ? *std::move(client) : nullptr;
  }

  int made_ = 0;
  ClientPool pool_{[this](const std::string& user) -> Result<std::shared_ptr<Client>> {
                     if (user.empty()) return error(ErrorKind::Forbidden, "nobody");
                     ++made_;
                     return std::make_shared<testing::FakeCluster>();
                   },
                   2};
};

TEST_F(ClientPoolTest, OneUserHasOneClient) {
  const auto first = of("ada");
  EXPECT_EQ(of("ada"), first);
  EXPECT_NE(of("bob"), first);
  EXPECT_EQ(made_, 2);
}

TEST_F(ClientPoolTest, DropsTheLongestUnused) {
  of("ada");
  of("bob");
  of("cyd");
  of("ada");
  of("dan");  // bob goes
  EXPECT_EQ(pool_.size(), 3U);
  of("ada");
  of("cyd");
  EXPECT_EQ(made_, 4);
  of("bob");
  EXPECT_EQ(made_, 5);
}

TEST_F(ClientPoolTest, StaysSmallWhateverIsInvented) {
  for (int at = 0; at < 10'000; ++at) of(fmt::format("system:serviceaccount:a:{}", at));
  EXPECT_EQ(pool_.size(), 3U);
}

TEST_F(ClientPoolTest, KeepsWhatIsHeld) {
  const auto held = of("ada");
  for (int at = 0; at < 100; ++at) of(fmt::format("{}", at));
  EXPECT_EQ(of("ada"), held);
  EXPECT_EQ(pool_.size(), 4U);
}

TEST_F(ClientPoolTest, AnErrorIsNotKept) {
  EXPECT_FALSE(pool_.of("").ok());
  EXPECT_EQ(pool_.size(), 0U);
}

}  // namespace
}  // namespace mist::kube
