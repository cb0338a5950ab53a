#include "registry/remote_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_transport.h"

namespace mist::registry {
namespace {

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

TEST(RemoteFile, FailuresSayWhatToDo) {
  mist::testing::FakeTransport web;
  web.reply(403).reply(503);
  EXPECT_EQ(fetch_remote_file(web, "https://u:secret@a.example/x", Context()).error().kind,
            ErrorKind::Forbidden);
  const auto later = fetch_remote_file(web, "https://u:secret@a.example/x", Context());
  EXPECT_EQ(later.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(later.error().to_line(), Not(HasSubstr("secret")));
  mist::testing::FakeTransport cycle;
  cycle.otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 302, .headers = {{"Location", "/x"}}};
  });
  EXPECT_THAT(fetch(cycle, "https://a.example/x"), HasSubstr("without end"));
}

}  // namespace
}  // namespace mist::registry
