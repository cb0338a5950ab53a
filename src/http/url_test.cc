#include "base/url.h"
#include "http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace mist::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Url, TakesApart) {
  const auto url = Url::parse("HTTPS://user:pw@Example.ORG:6443/api/v1?x=1&y=%20");
  ASSERT_TRUE(url.ok()) << url.error().to_line();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->user, "user:pw");
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, 6443);
  EXPECT_EQ(url->path, "/api/v1");
  EXPECT_EQ(url->query, "x=1&y=%20");
  EXPECT_EQ(url->authority(), "example.org:6443");
  EXPECT_EQ(url->origin(), "https://example.org:6443");
  EXPECT_EQ(url->str(), "https://example.org:6443/api/v1?x=1&y=%20");
}

TEST(Url, FillsInDefaults) {
  EXPECT_EQ(Url::parse("http://h")->port, 80);
  EXPECT_EQ(Url::parse("https://h:")->port, 443);
  EXPECT_EQ(Url::parse("https://h?x=1")->path, "/");
  EXPECT_EQ(Url::parse("https://h?x=1")->query, "x=1");
  EXPECT_EQ(Url::parse("https://h/")->origin(), "https://h");
}

TEST(Url, Ipv6AddressesStandInBrackets) {
  const auto url = Url::parse("https://[FE80::1]:6443/x");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "fe80::1");
  EXPECT_EQ(url->authority(), "[fe80::1]:6443");
  EXPECT_EQ(url->str(), "https://[fe80::1]:6443/x");
}

TEST(Url, RefusesWhatCanNotBeAsked) {
  for (const char* bad : {"",
                          "example.org",
                          "ftp://h/",
                          "https://",
                          "https:///x",
                          "https://h:0/",
                          "https://h:65536/",
                          "https://h:6443x/",
                          "https://h:-1/",
                          "https://[::1",
                          "https://[x]/",
                          "https://[v1.x:y]/",
                          "https://[::1%25eth0]/",
                          "https://u@p@h/",
                          "https://h:*/",
                          "https://a!b/",
                          "https://[::1]6443/",
                          "https://h/a b",
                          "https://h/\n",
                          "https://h/#top",
                          "https://h\"x/",
                          "https://hé/",
                          "https://metadata.google.interna%6c/",
                          "https://127.0.0.%31/",
                          "https://h%/",
                          "https://h%2ex/"}) {
    const auto url = Url::parse(bad);
    ASSERT_FALSE(url.ok()) << bad;
    EXPECT_EQ(url.error().kind, ErrorKind::Invalid);
  }
  EXPECT_THAT(Url::parse("https://u:geheim@h:x/").error().to_line(), Not(HasSubstr("geheim")));
}

RC_GTEST_PROP(Escape, AndUnescapeAreInverse, (const std::string& text)) {
  RC_ASSERT(percent_decoded(escape_segment(text)) == text);
  const auto url = Url::parse("https://h/" + escape_segment(text) + "?q=" + escape_query(text));
  RC_ASSERT(url.ok());
  RC_ASSERT(percent_decoded(url->path.substr(1)) == text);
}

TEST(Query, JoinsParameters) {
  const std::array<std::pair<std::string, std::string>, 2> parameters = {
      {{"labelSelector", "a=b,c"}, {"limit", "500"}}};
  EXPECT_EQ(query_of(parameters), "labelSelector=a%3Db%2Cc&limit=500");
}

TEST(JoinUrl, HasOneSlashBetween) {
  EXPECT_EQ(join_url("https://h", "api"), "https://h/api");
  EXPECT_EQ(join_url("https://h/base/", "/api/v1"), "https://h/base/api/v1");
}

TEST(LoggableUrl, HidesCredentials) {
  EXPECT_EQ(loggable_url("https://u:p@h:1/a?limit=5&X-Amz-Signature=abc&token=t&continue=x"),
            "https://h:1/a?limit=5&X-Amz-Signature=***&token=***&continue=x");
  EXPECT_EQ(loggable_url("https://u:pa/ss@h/a"), "https://h/a");
  EXPECT_EQ(loggable_url("https://ci:p@s/s@h/charts"), "https://h/charts");
  EXPECT_EQ(loggable_url("no url at all"), "no url at all");
  EXPECT_EQ(loggable_url("https://h/a@b?x"), "https://h/a@b?x");
  EXPECT_EQ(loggable_url("https://gh.example/https://token@h/r"), "https://gh.example/https://***@h/r");
}

}  // namespace
}  // namespace mist::http
