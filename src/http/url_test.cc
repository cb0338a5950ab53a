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

TEST(Escape, LeavesOnlyUnreservedCharacters) {
  EXPECT_EQ(escape_segment("a-b.c_d~9"), "a-b.c_d~9");
  EXPECT_EQ(escape_segment("a/b c%é"), "a%2Fb%20c%25%C3%A9");
  EXPECT_EQ(escape_query("a=b,c in (d)&e+f"), "a%3Db%2Cc%20in%20%28d%29%26e%2Bf");
  EXPECT_EQ(unescape("a%2fb%"), "a/b%");
  EXPECT_EQ(unescape("%zz%4"), "%zz%4");
}

RC_GTEST_PROP(Escape, AndUnescapeAreInverse, (const std::string& text)) {
  RC_ASSERT(unescape(escape_segment(text)) == text);
  const auto url = Url::parse("https://h/" + escape_segment(text) + "?q=" + escape_query(text));
  RC_ASSERT(url.ok());
  RC_ASSERT(unescape(url->path.substr(1)) == text);
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

// RFC 3986 sections 5.4.1 and 5.4.2, but for ";x", which we never meet.
TEST(ResolvedUrl, IsWhatTheReferenceMeansThere) {
  const auto resolved = [](std::string_view to) { return resolved_url("http://a/b/c/d;p?q", to); };
  EXPECT_EQ(resolved("g:h"), "g:h");
  EXPECT_EQ(resolved("g"), "http://a/b/c/g");
  EXPECT_EQ(resolved("./g/"), "http://a/b/c/g/");
  EXPECT_EQ(resolved("/g"), "http://a/g");
  EXPECT_EQ(resolved("//g"), "http://g");
  EXPECT_EQ(resolved("//g/../h?y"), "http://g/h?y");
  EXPECT_EQ(resolved("//g//h/./i"), "http://g//h/i");
  EXPECT_EQ(resolved("?y"), "http://a/b/c/d;p?y");
  EXPECT_EQ(resolved("g?y#s"), "http://a/b/c/g?y#s");
  EXPECT_EQ(resolved("#s"), "http://a/b/c/d;p?q#s");
  EXPECT_EQ(resolved(""), "http://a/b/c/d;p?q");
  EXPECT_EQ(resolved("."), "http://a/b/c/");
  EXPECT_EQ(resolved(".."), "http://a/b/");
  EXPECT_EQ(resolved("../../../g"), "http://a/g");
  EXPECT_EQ(resolved("/./g/../h"), "http://a/h");
  EXPECT_EQ(resolved("g?y/../x"), "http://a/b/c/g?y/../x");
  EXPECT_EQ(resolved("/x?u=https://h/y"), "http://a/x?u=https://h/y");
  EXPECT_EQ(resolved_url("https://h?t=a/b", "c"), "https://h/c");
  EXPECT_EQ(resolved_url("https://h", "../c"), "https://h/c");
  EXPECT_EQ(resolved_url("no-scheme", "//h/x"), "h/x");
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
