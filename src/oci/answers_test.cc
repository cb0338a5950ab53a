#include "oci/answers.h"

#include <gtest/gtest.h>

#include "oci/challenge.h"

namespace mist::oci {
namespace {

TEST(OciChallenge, ReadsWhatRegistriesSend) {
  const auto bearer = parse_challenges(
      R"(Bearer realm="https://auth.example/token",service="reg",scope="repository:a/b:pull,push",error="invalid_token")");
  ASSERT_EQ(bearer.size(), 1u);
  EXPECT_EQ(bearer[0].scheme, Challenge::Scheme::Bearer);
  EXPECT_EQ(bearer[0].realm, "https://auth.example/token");
  EXPECT_EQ(bearer[0].service, "reg");
  EXPECT_EQ(bearer[0].scope, "repository:a/b:pull,push");
  EXPECT_EQ(bearer[0].problem, "invalid_token");
  const auto basic = parse_challenges(R"(basic realm="a \"quoted\" one")");
  ASSERT_EQ(basic.size(), 1u);
  EXPECT_EQ(basic[0].realm, "a \"quoted\" one");
}

TEST(OciChallenge, LeavesOutOtherSchemesAndRubbish) {
  const auto several = parse_challenges(R"(Negotiate, Digest realm="x", nonce=1, Basic realm="b")");
  ASSERT_EQ(several.size(), 1u);
  EXPECT_EQ(several[0].realm, "b");
  for (const char* text : {"", ",,,", "=", "Bearer realm=\"", "\"\"\"", "Bearer =x"})
    (void)parse_challenges(text);
  EXPECT_TRUE(parse_challenges(std::string(100 << 10, 'a')).empty());
}

TEST(OciAnswers, WordsOfErrorsAreHarmless) {
  EXPECT_EQ(
      words_of(R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"a":1}}]})"),
      "manifest unknown (MANIFEST_UNKNOWN)");
  EXPECT_EQ(words_of("{\"errors\":[{\"code\":\"A\"},{\"message\":\"b\\u001b[31m\"}]}"), "A; b\\x1b[31m");
  EXPECT_EQ(words_of("404 page not found\nmore"), "404 page not found");
  EXPECT_EQ(words_of("<html><body>no</body></html>"), "");
  EXPECT_EQ(words_of(""), "");
  EXPECT_LE(words_of(std::string(5000, 'x')).size(), 300u);
}

TEST(OciAnswers, TagsComeInPages) {
  EXPECT_EQ(*parse_tags(R"({"name":"a","tags":["1.0.0","latest","not a tag"]})"),
            (std::vector<std::string>{"1.0.0", "latest"}));
  EXPECT_TRUE(parse_tags(R"({"name":"a","tags":null})")->empty());
  EXPECT_FALSE(parse_tags("<html>").ok());
  EXPECT_FALSE(parse_tags(R"({"tags":{}})").ok());
  EXPECT_EQ(next_page(R"(</v2/a/tags/list?last=b&n=2>; rel="next")"), "/v2/a/tags/list?last=b&n=2");
  EXPECT_FALSE(next_page(R"(</v2/a>; rel="prev")"));
  EXPECT_FALSE(next_page(""));
}

TEST(OciAnswers, TokensAreTokens) {
  EXPECT_EQ(parse_token(R"({"token":"abc","access_token":"d"})")->reveal(), "abc");
  EXPECT_EQ(parse_token(R"({"access_token":"d"})")->reveal(), "d");
  EXPECT_FALSE(parse_token(R"({"token":"a\r\nX: y"})").ok());
  EXPECT_FALSE(parse_token("{}").ok());
  EXPECT_FALSE(parse_token("no").ok());
}

}  // namespace
}  // namespace mist::oci
