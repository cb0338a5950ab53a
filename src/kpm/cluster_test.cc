#include "kpm/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_cluster.h"

namespace mist::kpm {
namespace {

using testing::FakeCall;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class InstalledTest : public ::testing::Test {
 protected:
  InstalledTest() {
    install("web");
    install("db");
  }

  void install(const std::string& name) {
    SystemRandom random;
    release::Anchor anchor;
    anchor.id = {"default", name};
    anchor.seals = release::Seals::draw(random, 0);
    anchor.seed = SecretString(std::string(32, 's'));
    anchor.frozen_clock = "2026-01-01T00:00:00Z";
    anchor.head.deployed = 0;
    anchor.head.latest = 0;
    anchor.head.package = name == "db" ? "oci://registry.example/mariadb:1.0.0" : "./web";
    auto made = store.create_anchor(std::move(anchor), Context());
    ASSERT_TRUE(made.ok()) << made.error().to_line();
    release::Revision revision;
    revision.number = 0;
    revision.action = "install";
    revision.attempt = "abcd";
    revision.package.name = name;
    revision.package.version = "1.0.0";
    ASSERT_TRUE(store.create_revision(*made, revision, *release::Store::pack(revision), Context()).ok());
  }
  // Reading this revision fails.
  void refuse(const std::string& release, ErrorKind kind) {
    cluster.set_before([=](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "get" && call.key.name == release::revision_name({"default", release}, 0))
        return error(kind, "not now");
      return std::nullopt;
    });
  }
  Result<InstalledPackages> read() { return installed_packages(store, "default", Context()); }

  mist::testing::FakeCluster cluster;
  release::Store store{cluster};
};

TEST_F(InstalledTest, AReleaseThatCannotBeReadIsNamed) {
  auto all = read();
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_THAT(all->packages, SizeIs(2));
  EXPECT_THAT(all->unreadable, IsEmpty());

  refuse("db", ErrorKind::Forbidden);
  all = read();
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  ASSERT_THAT(all->packages, SizeIs(1));
  EXPECT_EQ(all->packages[0].package, "web");
  ASSERT_THAT(all->unreadable, SizeIs(1));
  EXPECT_EQ(all->unreadable[0].release.name, "db");
  EXPECT_TRUE(may_be_of(all->unreadable[0], "db"));
  EXPECT_TRUE(may_be_of(all->unreadable[0], "mariadb")) << "by the reference of its package";
  EXPECT_FALSE(may_be_of(all->unreadable[0], "web"));

  cluster.set_before({});
  cluster.drop({{"", "Secret"}, "default", release::revision_name({"default", "db"}, 0)});
  all = read();
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_THAT(all->packages, SizeIs(1));
  ASSERT_THAT(all->unreadable, SizeIs(1));
  EXPECT_THAT(all->unreadable[0].why.message, HasSubstr("its revision 0 is missing"));
}

// Else a server that is busy for a moment would get a second database.
TEST_F(InstalledTest, AServerThatDoesNotAnswerIsAnError) {
  for (const ErrorKind kind : {ErrorKind::Retryable, ErrorKind::Timeout, ErrorKind::Cancelled}) {
    refuse("db", kind);
    const auto all = read();
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().kind, kind);
  }
}

}  // namespace
}  // namespace mist::kpm
