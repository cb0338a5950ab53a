#include "base/url.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace mist {
namespace {

// "scheme|userinfo|host|port|path|query|fragment", or "none".
std::string parts_of(std::string_view text) {
  const auto url = split_url(text);
  if (!url) return "none";
  std::string all(url->scheme);
  const std::string port = url->port == 0 ? "" : std::to_string(url->port);
  for (const std::string_view part :
       {url->userinfo, url->host, std::string_view(port), url->path, url->query, url->fragment})
    all.append("|").append(part);
  return all;
}

TEST(SplitUrl, GivesThePartsAsTheyAreWritten) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://h", "https||h||||"},
      {"HTTPS://User:p%40w@H.example:6443/a/b?x=1&y#top", "HTTPS|User:p%40w|H.example|6443|/a/b|x=1&y|top"},
      {"https://h:/", "https||h||/||"},
      {"https://h?x=a/b", "https||h|||x=a/b|"},
      {"https://[2001:db8::1]:8443/x", "https||[2001:db8::1]|8443|/x||"},
      {"file:///srv/a", "file||||/srv/a||"},
      {"ssh://git@h:22/r", "ssh|git|h|22|/r||"},
      {"oci://h:5000/a:1.0@sha256:ab", "oci||h|5000|/a:1.0@sha256:ab||"},
      {"http://h//a/../%2e%2e/b", "http||h||//a/../%2e%2e/b||"},
      {"https://h/a@b?c@d#e@f", "https||h||/a@b|c@d|e@f"},
  };
  for (const auto& [text, parts] : cases) EXPECT_EQ(parts_of(text), parts) << text;
  EXPECT_EQ(split_url("https://u@h:1/a?b#c")->authority, "u@h:1");
  EXPECT_EQ(split_url("https://u@h:1/a?b#c")->server, "h:1");
  EXPECT_EQ(split_url("https://u@h:1/a?b#c")->target, "/a?b");
}

TEST(SplitUrl, ToleratesBehindTheAuthorityWhatShouldBeEscaped) {
  EXPECT_EQ(parts_of("https://h/a b|[c]\\d?e[f]={g}#h#i"), "https||h||/a b|[c]\\d|e[f]={g}|h#i");
  EXPECT_EQ(parts_of("https://h/\xc3\xa9%zz%4"), "https||h||/\xc3\xa9%zz%4||");
  EXPECT_EQ(parts_of(std::string_view("https://h/\0x", 12)), std::string("https||h||/\0x||", 15));
}

TEST(SplitUrl, TakesNoAuthorityThatOthersCouldReadOtherwise) {
  for (const char* text : {"",
                           "h",
                           "h/x",
                           "/x",
                           "//h/x",
                           "://h",
                           "mailto:a@h",
                           "https:",
                           "https:?",
                           "https:#",
                           "https:\"",
                           "https:/",
                           "git@h:r",
                           "1http://h/",
                           "ht tp://h/",
                           "https:/h/x",
                           "https://u@p@h/",
                           "https://evil@h:1@good/",
                           "https://u:p w@h/",
                           "https://u:p^w@h/",
                           "https://u:p\\w@h/",
                           "https://good\\@evil/",
                           "https://h:x/",
                           "https://h:-1/",
                           "https://h:1x/",
                           "https://h:*/",
                           "https://h:0/",
                           "https://h:65536/",
                           "https://h:99999999999999999999/",
                           "https://h:1:2/",
                           "https://[::1",
                           "https://[::1]x/",
                           "https://[::1]6443/",
                           "https://[h]/",
                           "https://[::1%25eth0]/",
                           "https://[::1%eth0]/",
                           "https://::1/",
                           "https://h%/",
                           "https://h%4/",
                           "https://h\"/",
                           "https://h\t/",
                           "https://\xc3\xa9/"})
    EXPECT_EQ(parts_of(text), "none") << text;
  EXPECT_EQ(parts_of(std::string_view("https://h\0.evil/", 16)), "none");
}

RC_GTEST_PROP(SplitUrl, PartsStandInTheTextInTheirOrder, (const std::string& path)) {
  const std::string text = "https://u:p@h:1/" + path;
  const auto url = split_url(text);
  RC_ASSERT(url.has_value());
  RC_ASSERT(url->host == "h");
  RC_ASSERT(url->server == "h:1");
  RC_ASSERT(text.starts_with(std::string("https://u:p@h:1").append(url->target)));
}

TEST(SchemeOf, IsInLowerCaseAndWantsAColon) {
  EXPECT_EQ(scheme_of("HttpS://h"), "https");
  EXPECT_EQ(scheme_of("mailto:x"), "mailto");
  EXPECT_EQ(scheme_of("x:?"), "x");
  EXPECT_EQ(scheme_of("git+ssh://h"), "git+ssh");
  for (const char* text :
       {"", ":", "x", "/a:b", "?a:b", "//h:1", "1a:b", "a b:c", " https://h", "-a:b", "%61:b"})
    EXPECT_EQ(scheme_of(text), "") << text;
}

TEST(IsHttp, IgnoresCase) {
  for (const char* text : {"http://h", "HTTPS://h", "https:x"}) EXPECT_TRUE(is_http(text)) << text;
  for (const char* text : {"", "httpx://h", "oci://h", "http//h", "xhttp://h"})
    EXPECT_FALSE(is_http(text)) << text;
}

TEST(IsUrl, IsForWhatBeginsAsOne) {
  for (const char* text : {"https://", "oci://h/a:1", "https://h:x"}) EXPECT_TRUE(is_url(text)) << text;
  for (const char* text : {"", "://h", "h:80/x", "a/https://h", "git::https://h", "C:/x"})
    EXPECT_FALSE(is_url(text)) << text;
}

// RFC 3986 sections 5.4.1 and 5.4.2.
TEST(ResolvedUrl, IsWhatTheReferenceMeansThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"g?y#s", "http://a/b/c/g?y#s"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y#s"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"/..", "http://a/"},
      {"/../..?x", "http://a/?x"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"?", "http://a/b/c/d;p?"},
      {"#", "http://a/b/c/d;p?q#"},
      {"\"", "http://a/b/c/%22"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/../x", "http://a/b/c/g#s/../x"},
      {"//g//h/./i", "http://g//h/i"},
      {"//g/../h?y", "http://g/h?y"},
      {"/a/../..//x", "http://a//x"},
      {"/x?u=https://h/y", "http://a/x?u=https://h/y"},
      // An escaped dot is a dot: it leads nowhere else than the plain one.
      {"%2e%2E/g", "http://a/b/g"},
      {"/%2e%2e/%2E./g", "http://a/g"},
      // Escaped, as browsers do it.
      {"a b|[c]?d[e]", "http://a/b/c/a%20b%7C%5Bc%5D?d%5Be%5D"},
      {"50%", "http://a/b/c/50%25"},
      {"\\\\evil/x", "http://a/b/c/%5C%5Cevil/x"},
      {"g\r\nh", "http://a/b/c/g%0D%0Ah"},
  };
  for (const auto& [reference, url] : cases)
    EXPECT_EQ(resolved_url("http://a/b/c/d;p?q", reference), url) << reference;
  EXPECT_EQ(resolved_url("https://h?t=a/b", "c"), "https://h/c");
  EXPECT_EQ(resolved_url("https://h", "../c"), "https://h/c");
  EXPECT_EQ(resolved_url("https://h/a[b]?c|d#e", "f"), "https://h/f");
}

TEST(ResolvedUrl, GivesWhatIsNoUrlWhereItCanNotBeOne) {
  for (const char* reference : {"//h:x/y", "//u@p@h/", "//[::1/", "//h%/"}) {
    EXPECT_EQ(resolved_url("https://a/b", reference), reference);
    EXPECT_FALSE(split_url(resolved_url("https://a/b", reference)));
  }
  EXPECT_FALSE(split_url(resolved_url("no scheme", "//h/x")));
}

TEST(SameOrigin, IsSchemeHostAndPort) {
  EXPECT_TRUE(same_origin("https://h/a", "HTTPS://u:p@H:443/b?c"));
  EXPECT_TRUE(same_origin("http://h:80", "http://h:"));
  EXPECT_TRUE(same_origin("https://[::1]:8443/a", "https://[::1]:8443"));
  for (const auto& [one, other] :
       {std::pair("https://h", "http://h"), std::pair("https://h", "https://h:8443"),
        std::pair("https://h", "https://h.evil"), std::pair("https://h", "https://h@evil"),
        std::pair("https://h:x", "https://h:x"), std::pair("", "")})
    EXPECT_FALSE(same_origin(one, other)) << one << " " << other;
}

TEST(WithUserinfo, ReplacesThatOfTheUrl) {
  EXPECT_EQ(with_userinfo("https://h/a?b", "u:p"), "https://u:p@h/a?b");
  EXPECT_EQ(with_userinfo("https://x:y@h:1", "u"), "https://u@h:1");
  EXPECT_EQ(with_userinfo("https://h:x/", "u:p"), "https://h:x/");
  EXPECT_EQ(with_userinfo("file:///a", "u:p"), "file:///a");
}

TEST(Percent, EncodesAllButUnreservedCharactersAndThoseKept) {
  EXPECT_EQ(percent_encoded("a-b.c_d~9"), "a-b.c_d~9");
  EXPECT_EQ(percent_encoded("a/b c%\xc3\xa9"), "a%2Fb%20c%25%C3%A9");
  EXPECT_EQ(percent_encoded("a/b:c d", "/:"), "a/b:c%20d");
  EXPECT_EQ(percent_decoded("a%2fb%2F%"), "a/b/%");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
}

RC_GTEST_PROP(Percent, DecodingIsTheInverse, (const std::string& text)) {
  RC_ASSERT(percent_decoded(percent_encoded(text)) == text);
  RC_ASSERT(percent_decoded(percent_encoded(text, "/")) == text);
}

}  // namespace
}  // namespace mist
