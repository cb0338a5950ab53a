#include "registry/remote_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/over_limit.h"
#include "testing/fake_transport.h"

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fetch(mist::testing::FakeTransport& web, const std::string& url) {
  const auto content = fetch_remote_file(web, url, Context());
  if (!content) return "error: " + content.error().to_line();
  return *content ? **content : "absent";
}

TEST(RemoteFile, ComesByRedirects) {
  mist::testing::FakeTransport web;
  web.reply(302, "", {{"Location", "https://b.example/c/d.yaml"}})
      .reply(301, "", {{"Location", "e.yaml"}})
      .reply(307, "", {{"Location", "/f.yaml"}})
      .reply(200, "kind: A\n");
  EXPECT_EQ(fetch(web, "https://a.example/x"), "kind: A\n");
  EXPECT_EQ(web.requests()[2].url, "https://b.example/c/e.yaml");
  EXPECT_EQ(web.requests()[3].url, "https://b.example/f.yaml");
}

TEST(RemoteFile, APageForPeopleOrNothingIsNoFile) {
  mist::testing::FakeTransport web;
  web.reply(404)
      .reply(200, "kind: A\n", {{"Content-Type", "text/html; charset=utf-8"}})
      .reply(200, "\n<!doctype html>");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(web, "https://a.example/x"), "absent");
}

TEST(RemoteFile, OnlyAddressesThatSayWhoAnswers) {
  mist::testing::FakeTransport web;
  web.otherwise(
      [](const http::Request&, const Context&) { return http::Response{.status = 200, .body = "x"}; });
  for (const char* good : {"http://localhost:80/x", "http://127.0.0.1/x", "http://[::1]:9/x"})
    EXPECT_EQ(fetch(web, good), "x");
  for (const char* bad :
       {"http://a.example/x", "ftp://a/x", "file:///etc/passwd", "http://localhost.a.example/x",
        "http://127.a.example/x", "http://localhost:1@a.example/x", "http://a.example?@localhost/x"})
    EXPECT_THAT(fetch(web, bad), HasSubstr("only https"));
  mist::testing::FakeTransport sneaky;
  sneaky.reply(302, "", {{"Location", "file:///etc/passwd"}});
  EXPECT_THAT(fetch(sneaky, "https://a.example/x"), HasSubstr("only https"));
}

constexpr std::string_view kCharts = "https://charts.example/stable";

// Of the repository at `repository`, which says where `url` is.
std::string fetch_of(mist::testing::FakeTransport& web, std::string_view repository, const std::string& url) {
  const http::Resolver resolve = [](const std::string&) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"1.1.1.1"};
  };
  const auto content =
      fetch_remote_file(web, url, Context(), {.repository = std::string(repository), .resolve = resolve});
  return content ? content->value_or("absent") : content.error().to_line() + " " + content.error().hint;
}

TEST(RemoteFile, ARepositoryLeadsToNoOtherServerOfThisMachineAndNotFromHttpsToHttp) {
  for (const char* to : {"http://127.0.0.1/x", "https://localhost:8443/x", "https://[::1]/x"}) {
    mist::testing::FakeTransport web;
    web.reply(302, "", {{"Location", to}}).reply(200, "secret");
    EXPECT_THAT(fetch_of(web, kCharts, "https://charts.example/stable/a.tgz"), HasSubstr("can't be trusted"))
        << to;
    EXPECT_EQ(web.count(), 1u) << to;
    EXPECT_THAT(fetch_of(web, kCharts, to), HasSubstr("can't be trusted")) << to;
    EXPECT_EQ(web.count(), 1u) << "nor by its index: " << to;
  }
  mist::testing::FakeTransport web;
  web.reply(302, "", {{"Location", "http://localhost:2/x"}}).reply(200, "kind: A\n");
  EXPECT_THAT(fetch_of(web, "https://localhost:1", "https://localhost:1/x"), HasSubstr("can't be trusted"));
  EXPECT_EQ(fetch_of(web, "http://127.0.0.1:1", "http://127.0.0.1:2/x"), "kind: A\n");
  EXPECT_FALSE(web.requests().back().public_only);
}

TEST(RemoteFile, ARepositoryLeadsToPublicServers) {
  mist::testing::FakeTransport web;
  web.reply(302, "", {{"Location", "/b.tgz"}})
      .reply(302, "", {{"Location", "https://cdn.example/b.tgz"}})
      .reply(200, "archive")
      .reply(200, "archive")
      .fail(error(ErrorKind::Forbidden, "10.0.0.1 is no public address"));
  EXPECT_EQ(fetch_of(web, kCharts, "https://charts.example/stable/a.tgz"), "archive");
  EXPECT_EQ(fetch_of(web, kCharts, "https://cdn.example/b.tgz"), "archive");
  EXPECT_THAT(fetch_of(web, "https://u:secret@charts.example", "https://10.0.0.1/b.tgz"),
              AllOf(HasSubstr("charts.example names it"), Not(HasSubstr("secret"))));
  ASSERT_EQ(web.count(), 5u);
  for (const http::Request& request : web.requests())
    EXPECT_EQ(request.public_only, !request.url.starts_with("https://charts.example/")) << request.url;
}

TEST(RemoteFile, CredentialsFollowARedirectWithinTheirServerAlone) {
  mist::testing::FakeTransport web;
  web.reply(302, "", {{"Location", "https://a.example/y?z=1"}})
      .reply(302, "", {{"Location", "//a.example:443/z"}})
      .reply(302, "", {{"Location", "https://a.example:8443/x"}})
      .reply(302, "", {{"Location", "https://a.example/x"}})
      .reply(200, "kind: A\n");
  EXPECT_EQ(fetch(web, "https://u:p@a.example/x"), "kind: A\n");
  std::vector<std::string> urls;
  for (const http::Request& request : web.requests()) urls.push_back(request.url);
  EXPECT_THAT(urls,
              ElementsAre("https://u:p@a.example/x", "https://u:p@a.example/y?z=1", "https://u:p@a.example/z",
                          "https://a.example:8443/x", "https://a.example/x"));
}

TEST(RemoteFile, AServerThatHangsIsAwayAsLongAsTheCallerHasTime) {
  const auto hang = [](const http::Request&, const Context&) -> Result<http::Response> {
    return error(ErrorKind::Timeout, "it took too long");
  };
  mist::testing::FakeTransport web;
  web.otherwise(hang);
  EXPECT_EQ(fetch_remote_file(web, "https://a.example/x", Context()).error().kind, ErrorKind::Retryable);
  const Context over = Context().with_timeout(Duration::zero());
  EXPECT_EQ(fetch_remote_file(web, "https://a.example/x", over).error().kind, ErrorKind::Timeout);
}

TEST(RemoteFile, ALargerFileMayTakeLonger) {
  const auto time_for = [](std::uint64_t most) {
    Duration left{};
    mist::testing::FakeTransport web;
    web.otherwise([&](const http::Request&, const Context& context) {
      left = context.remaining().value_or(Duration::zero());
      return http::Response{.status = 200, .body = "x"};
    });
    EXPECT_TRUE(fetch_remote_file(web, "https://a.example/x", Context(), {}, most).ok());
    return left;
  };
  const Duration small = time_for(1 << 10), large = time_for(64 << 20);
  // 25 MiB at 3 Mbit/s.
  EXPECT_GT(large, std::chrono::seconds(70));
  EXPECT_LT(small, large);
}

TEST(RemoteFile, AServerThatLeadsToWhereNobodyMayFollowGivesTheFileToNobody) {
  const auto is_refused = [](mist::testing::FakeTransport& web, const std::string& url) {
    const auto content = fetch_remote_file(web, url, Context());
    return !content && content.error().detail<FileRefused>() != nullptr;
  };
  const auto leading_to = [](mist::testing::FakeTransport& web, std::string where) {
    web.reply(302, "", {{"Location", std::move(where)}});
  };
  mist::testing::FakeTransport web;
  leading_to(web, "http://b.example/login");
  EXPECT_TRUE(is_refused(web, "https://a.example/x"));
  leading_to(web, "https://login.internal/");
  web.fail(error(ErrorKind::Forbidden, "login.internal is not a server of the Internet"));
  EXPECT_TRUE(is_refused(web, "https://a.example/x"));
  leading_to(web, "https://b.example/x");
  web.fail(error(ErrorKind::Retryable, "b.example can't be reached"));
  EXPECT_FALSE(is_refused(web, "https://a.example/x")) << "it may be there the next time";
  leading_to(web, "https://b.example/x");
  web.fail(error(ErrorKind::Invalid, "it is too large").with_detail(http::OverLimit()));
  EXPECT_FALSE(is_refused(web, "https://a.example/x")) << "there is a file";
  EXPECT_FALSE(is_refused(web, "http://a.example/x")) << "nobody led there";
}

TEST(RemoteFile, FailuresSayWhatToDo) {
  mist::testing::FakeTransport web;
  web.reply(403).reply(503);
  const auto refused = fetch_remote_file(web, "https://u:secret@a.example/x", Context());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(refused.error().detail<FileRefused>(), nullptr);
  const auto later = fetch_remote_file(web, "https://u:secret@a.example/x", Context());
  EXPECT_EQ(later.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(later.error().detail<FileRefused>(), nullptr);
  EXPECT_THAT(later.error().to_line(), Not(HasSubstr("secret")));
  mist::testing::FakeTransport cycle;
  cycle.otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 302, .headers = {{"Location", "/x"}}};
  });
  EXPECT_THAT(fetch(cycle, "https://a.example/x"), HasSubstr("without end"));
}

}  // namespace
}  // namespace mist::registry
