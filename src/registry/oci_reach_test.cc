#include "registry/oci_reach.h"

#include <gtest/gtest.h>

namespace mist::registry {
namespace {

const http::Resolver kPrivate = [](const std::string&) -> Result<std::vector<std::string>> {
  return std::vector<std::string>{"10.1.2.3"};
};
const http::Resolver kPublic = [](const std::string&) -> Result<std::vector<std::string>> {
  return std::vector<std::string>{"1.1.1.1"};
};

bool limited(std::string_view origin, std::string_view url, const http::Resolver& resolve) {
  return must_be_public(origin, *http::Url::parse(url), resolve);
}

TEST(OciReach, TheRegistryItselfIsWhereItIs) {
  EXPECT_FALSE(limited("https://reg.example", "https://reg.example:443/v2/x", kPublic));
  EXPECT_FALSE(limited("http://10.0.0.1:5000", "http://10.0.0.1:5000/v2/x", kPrivate));
  EXPECT_FALSE(limited("http://localhost:5000", "http://127.0.0.1:5001/token", kPublic));
}

TEST(OciReach, WhatAPublicRegistryNamesIsPublic) {
  for (const char* url : {"https://cdn.example/x", "https://reg.corp.example:8443/x",
                          "https://auth.corp.example/x", "http://0.0.0.0:9002/x",
                          "http://[::ffff:127.0.0.1]:9002/x", "http://2130706433/x", "http://0x7f.1/x"})
    EXPECT_TRUE(limited("https://reg.corp.example", url, kPublic)) << url;
  const http::Resolver nowhere = [](const std::string&) -> Result<std::vector<std::string>> {
    return error(ErrorKind::Retryable, "no such host");
  };
  EXPECT_TRUE(limited("https://reg.corp.example", "https://reg.corp.example:8443/x", nowhere));
}

TEST(OciReach, NothingLeadsFromHttpsToHttp) {
  for (const char* from : {"https://reg.example", "HTTPS://cdn.example/x"}) {
    EXPECT_FALSE(may_follow("reg.example", from, *http::Url::parse("http://cdn.example/y"))) << from;
    EXPECT_TRUE(may_follow("reg.example", from, *http::Url::parse("HttpS://cdn.example/y"))) << from;
  }
  EXPECT_TRUE(may_follow("reg.example", "http://reg.example", *http::Url::parse("http://cdn.example/y")));
}

TEST(OciReach, APrivateRegistryMayNameItsHostAndByHttpsItsDomain) {
  EXPECT_FALSE(limited("http://reg.corp.example:5000", "http://reg.corp.example:5001/x", kPrivate));
  for (const char* url : {"https://git.corp.example/jwt/auth", "https://corp.example/x",
                          "https://reg.west.data.corp.example/x"})
    EXPECT_FALSE(limited("https://reg.corp.example", url, kPrivate)) << url;
  for (const char* url : {"http://git.corp.example/x", "https://git.example/x", "https://evilcorp.example/x",
                          "https://10.0.0.1/x", "https://127.0.0.1/x", "https://localhost/x"})
    EXPECT_TRUE(limited("https://reg.corp.example", url, kPrivate)) << url;
  // Domains that others share.
  EXPECT_TRUE(limited("https://evil.co.uk", "https://bank.co.uk/x", kPrivate));
  EXPECT_TRUE(limited("https://evil.example", "https://bank.example/x", kPrivate));
  EXPECT_TRUE(limited("http://192.0.2.2:9003", "https://10.0.2.2/x", kPrivate));
}

}  // namespace
}  // namespace mist::registry
