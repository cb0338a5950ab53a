#include "registry/install_notice.h"

#include <gtest/gtest.h>

#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using namespace std::chrono_literals;

class InstallNoticeTest : public ::testing::Test {
 protected:
  Status notify(const std::string& package, const std::string& version = "1.0.0") {
    return notify_of_install({"https://catalog.example", package, version}, temp_.path() / "told", files_,
                             clock_, web_, Context());
  }

  mist::testing::TempDir temp_;
  HostFileSystem files_;
  mist::testing::FakeClock clock_;
  mist::testing::FakeTransport web_;
};

TEST_F(InstallNoticeTest, SaysNothingButThePackageAndOnceADay) {
  web_.reply(204).reply(204).reply(204);
  ASSERT_TRUE(notify("etcd").ok());
  ASSERT_TRUE(notify("etcd").ok());
  ASSERT_TRUE(notify("etcd", "1.1.0").ok()) << "another version of the same package, the same day";
  ASSERT_EQ(web_.count(), 1U);
  const http::Request sent = web_.requests()[0];
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url, "https://catalog.example/api/v1/packages/etcd/versions/1.0.0/installs");
  EXPECT_EQ(sent.body, "");
  EXPECT_TRUE(sent.headers.empty());
  ASSERT_TRUE(notify("zoo").ok());
  EXPECT_EQ(web_.count(), 2U);
  clock_.advance(24h);
  ASSERT_TRUE(notify("etcd").ok());
  EXPECT_EQ(web_.count(), 3U);
}

TEST_F(InstallNoticeTest, ACatalogThatFailsIsNotAskedAgainThatDay) {
  web_.reply(503);
  EXPECT_EQ(notify("etcd").error().kind, ErrorKind::Retryable);
  EXPECT_TRUE(notify("etcd").ok());
  EXPECT_EQ(web_.count(), 1U);
}

}  // namespace
}  // namespace mist::registry
