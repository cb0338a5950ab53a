#include "formats/trusted_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/chart_repository.h"
#include "registry/remote_file.h"
#include "testing/fake_transport.h"

namespace mist::formats {
namespace {

using mist::testing::FakeTransport;
using ::testing::HasSubstr;

TEST(TrustedServers, AreHostAndPort) {
  const auto same = [](std::string_view trusted, std::string_view address) {
    TrustedServers servers;
    servers.add(trusted);
    return servers.contains(address);
  };
  EXPECT_TRUE(same("https://me:pw@Git.example/a", "https://git.example:443/b?c"));
  EXPECT_TRUE(same("ssh://git@git.example:22/a", "https://git.example/b"));
  EXPECT_TRUE(same("git@git.example:a", "ssh://git.example/b"));
  EXPECT_TRUE(same("SSH://git@Git.example/a", "git@git.example:b"));
  EXPECT_TRUE(same("http://127.0.0.1:9001/a", "http://127.0.0.1:9001/b"));
  EXPECT_TRUE(same("https://[::1]:9001/a", "http://[::1]:9001/"));
  EXPECT_TRUE(same("oci://127.0.0.1:5000/a:1 at sha256", "http://127.0.0.1:5000/b"));
  for (const auto& [trusted, address] : std::initializer_list<std::pair<const char*, const char*>>{
           {"http://127.0.0.1:9001/a", "http://127.0.0.1:9002/a"},
           {"https://127.0.0.1/a", "http://127.0.0.1/a"},
           {"https://git.example/a", "https://evil.git.example/a"},
           {"https://git.example/a", "https://git.example@evil.example/a"},
           {"https://git.example/a", "https://evil.example?@git.example/a"},
           {"https://git.example/a", "https://git.example:22/a"},
           {"https://git.example/a", "ssh://git.example:443/a"},
           {"https://git.example/a", "https://git.exampl%65/a"},
           {"https://git.example/a", "https://evil.example\\@git.example/a"},
           {"https://git.example/a", "https://evil.example@x@git.example/a"},
           {"https://git.example:99999/a", "https://git.example:99999/a"},
           {"file:///srv/a", "file:///srv/a"},
           {"/srv/a", "/srv/a"},
           {"", ""}})
    EXPECT_FALSE(same(trusted, address)) << trusted << " " << address;
}

class LimitedTransportTest : public ::testing::Test {
 protected:
  LimitedTransportTest() : web(*new FakeTransport), limited(own(), trusted, "the hint") {
    trusted.add("http://127.0.0.1:9001/evil.git");
  }
  std::string file(const std::string& url) {
    const auto content = registry::fetch_remote_file(limited, url, Context());
    return content ? content->value_or("absent") : content.error().to_line() + " " + content.error().hint;
  }
  TrustedServers trusted;
  FakeTransport& web;
  LimitedTransport limited;

 private:
  std::unique_ptr<http::Transport> own() { return std::unique_ptr<http::Transport>(&web); }
};

TEST_F(LimitedTransportTest, ARedirectLeavesATrustedServerForPublicOnesOnly) {
  web.reply(302, "", {{"Location", "/y"}})
      .reply(302, "", {{"Location", "https://cdn.example/y"}})
      .reply(200, "kind: A\n");
  EXPECT_EQ(file("http://127.0.0.1:9001/x"), "kind: A\n");
  ASSERT_EQ(web.count(), 3u);
  EXPECT_FALSE(web.requests()[0].public_only);
  EXPECT_FALSE(web.requests()[1].public_only);
  EXPECT_TRUE(web.requests()[2].public_only);
}

TEST_F(LimitedTransportTest, ARedirectReachesNoOtherServerOfThisMachineByHttp) {
  web.reply(302, "", {{"Location", "http://127.0.0.1:9002/api/v1/secrets"}}).reply(200, "secret");
  const std::string said = file("http://127.0.0.1:9001/x");
  EXPECT_THAT(said, AllOf(HasSubstr("127.0.0.1:9002"), HasSubstr("the hint")));
  EXPECT_EQ(web.count(), 1u);
}

TEST_F(LimitedTransportTest, APublicServerMayRedirectToATrustedOneOnly) {
  web.reply(302, "", {{"Location", "http://127.0.0.1:9001/y"}}).reply(200, "kind: A\n");
  EXPECT_EQ(file("https://files.example/x"), "kind: A\n");
  EXPECT_TRUE(web.requests()[0].public_only);
  web.reply(302, "", {{"Location", "http://localhost:8001/api"}}).reply(200, "secret");
  EXPECT_THAT(file("https://files.example/x"), HasSubstr("the hint"));
}

TEST_F(LimitedTransportTest, WhatAnIndexNamesIsJudgedByItsOwnServer) {
  const registry::ChartReference chart{"http://127.0.0.1:9001/charts", "web", "1.0.0", false};
  const auto index = [](std::string_view url) {
    return fmt::format("apiVersion: v1\nentries:\n  web:\n  - {{version: 1.0.0, urls: ['{}']}}\n", url);
  };
  web.reply(200, index("http://127.0.0.1:9002/api/v1/nodes/x/proxy/run")).reply(200, "secret");
  const auto refused = registry::fetch_chart(limited, chart, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(web.count(), 1u);
  FakeTransport& other = *new FakeTransport;
  LimitedTransport again(std::unique_ptr<http::Transport>(&other), trusted, "the hint");
  other.reply(200, index("https://10.0.0.1/web.tgz")).reply(200, "archive");
  EXPECT_TRUE(registry::fetch_chart(again, chart, Context()).ok());
  EXPECT_TRUE(other.requests()[1].public_only);
}

TEST_F(LimitedTransportTest, OnlyWhatWasLimitedGetsTheHint) {
  web.fail(error(ErrorKind::Forbidden, "no server of the Internet"))
      .fail(error(ErrorKind::Forbidden, "a certificate"))
      .fail(error(ErrorKind::Retryable, "gone"));
  EXPECT_THAT(file("https://files.example/x"), HasSubstr("the hint"));
  trusted.add("https://git.corp/");
  EXPECT_THAT(file("https://git.corp/x"), Not(HasSubstr("the hint")));
  EXPECT_THAT(file("https://files.example/x"), Not(HasSubstr("the hint")));
}

}  // namespace
}  // namespace mist::formats
