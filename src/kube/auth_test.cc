#include "kube/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;

class TokenFileTest : public ::testing::Test {
 protected:
  void write(std::string_view token) { ASSERT_TRUE(fs.write(file, token).ok()); }
  std::string current() {
    const auto credential = source.get({});
    return credential ? credential->authorization->reveal() : credential.error().to_line();
  }
  HostFileSystem fs;
  testing::TempDir directory;
  testing::FakeClock clock;
  Path file = directory.path() / "token";
  TokenFileCredentials source{file, {}, fs, clock};
};

TEST_F(TokenFileTest, FollowsRotationWithinAMinute) {
  write("one\n");
  EXPECT_EQ(current(), "Bearer one");
  write("two");
  EXPECT_EQ(current(), "Bearer one");
  clock.advance(1min);
  EXPECT_EQ(current(), "Bearer two");
}

TEST_F(TokenFileTest, ReadsAgainAfterARefusal) {
  write("one");
  const auto rejected = source.get({});
  write("two");
  EXPECT_TRUE(source.refresh(*rejected));
  EXPECT_EQ(current(), "Bearer two");
  write("three");
  EXPECT_TRUE(source.refresh(*rejected)) << "of a token that was replaced meanwhile";
  EXPECT_EQ(current(), "Bearer two");
}

TEST_F(TokenFileTest, KeepsTheLastGoodTokenWhileTheFileIsUnreadable) {
  write("one");
  EXPECT_EQ(current(), "Bearer one");
  ASSERT_TRUE(fs.remove(file).ok());
  clock.advance(2min);
  EXPECT_EQ(current(), "Bearer one");
}

TEST_F(TokenFileTest, BadFilesAreErrorsWithoutTheirContent) {
  EXPECT_THAT(current(), ::testing::HasSubstr("cannot read"));
  write(" \n");
  EXPECT_THAT(current(), ::testing::HasSubstr("is empty"));
  write("s3cret\r\nX-Header: 1");
  EXPECT_THAT(current(), ::testing::HasSubstr("is no token"));
  EXPECT_THAT(current(), ::testing::Not(::testing::HasSubstr("s3cret")));
}

}  // namespace
}  // namespace mist::kube
