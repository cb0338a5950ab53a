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
  EXPECT_THAT(current(), ::testing::HasSubstr("is not a token"));
  EXPECT_THAT(current(), ::testing::Not(::testing::HasSubstr("s3cret")));
}

class CertificateFileTest : public ::testing::Test {
 protected:
  using Pair = std::pair<std::string, SecretString>;
  std::unique_ptr<CertificateFileCredentials> around(Credential inner) {
    return std::make_unique<CertificateFileCredentials>(
        std::make_unique<StaticCredentials>(std::move(inner)),
        [this]() -> Result<Pair> {
          if (now.first.empty()) return error(ErrorKind::NotFound, "cannot read it");
          const Pair read = now;
          if (next) now = *std::exchange(next, {});
          return read;
        },
        Pair{"one", SecretString("1")}, clock);
  }
  static std::string of(CredentialSource& source) {
    const auto credential = source.get({});
    return credential->client_certificate_pem + credential->client_key_pem.reveal();
  }
  testing::FakeClock clock;
  Pair now{"one", SecretString("1")};
  std::optional<Pair> next;
  Credential base{{}, "one", SecretString("1")};
};

TEST_F(CertificateFileTest, FollowsRotationWithinAMinuteAndAfterARefusal) {
  const auto source = around(base);
  now = {"two", SecretString("2")};
  EXPECT_EQ(of(*source), "one1");
  clock.advance(1min);
  EXPECT_EQ(of(*source), "two2");
  const auto rejected = source->get({});
  EXPECT_FALSE(source->refresh(*rejected)) << "nothing else is there";
  now = {"three", SecretString("3")};
  EXPECT_TRUE(source->refresh(*rejected));
  EXPECT_EQ(of(*source), "three3");
}

TEST_F(CertificateFileTest, KeepsTheLastGoodPairWhileTheFilesChangeOrCannotBeRead) {
  const auto source = around(base);
  now = {"two", SecretString("1")};
  next = {"two", SecretString("2")};
  clock.advance(1min);
  EXPECT_EQ(of(*source), "one1") << "the certificate was new, its key was not yet";
  now.first.clear();
  clock.advance(1min);
  EXPECT_EQ(of(*source), "one1");
}

TEST_F(CertificateFileTest, ThatOfAPluginCounts) {
  const auto source = around({{}, "plugin", SecretString("p")});
  now = {"two", SecretString("2")};
  clock.advance(1min);
  EXPECT_EQ(of(*source), "pluginp");
}

}  // namespace
}  // namespace mist::kube
