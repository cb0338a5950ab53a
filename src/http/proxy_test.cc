#include "http/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace mist::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Url url(std::string_view text) { return *Url::parse(text); }

// The cases of golang.org/x/net/http/httpproxy's tests that concern us, and some more.
TEST(NoProxy, MatchesAsGoDoes) {
  struct Case {
    const char* no_proxy;
    const char* target;
    bool bypasses;
  };
  for (const Case& c : {
           Case{"", "https://localhost/", true},
           Case{"", "https://127.0.0.1:6443/", true},
           Case{"", "https://127.2.3.4/", true},
           Case{"", "https://[::1]/", true},
           Case{"", "https://example.org/", false},
           Case{"*", "https://example.org/", true},
           Case{"example.org", "https://example.org/", true},
           Case{"example.org", "https://a.example.org/", true},
           Case{"example.org", "https://notexample.org/", false},
           Case{".example.org", "https://example.org/", false},
           Case{".example.org", "https://a.example.org/", true},
           Case{"*.example.org", "https://a.example.org/", true},
           Case{"*.example.org", "https://example.org/", false},
           Case{"EXAMPLE.org", "https://Example.ORG/", true},
           Case{"a.org, b.org ,c.org", "https://b.org/", true},
           Case{"example.org:443", "https://example.org/", true},
           Case{"example.org:80", "https://example.org/", false},
           Case{"10.1.2.3", "https://10.1.2.3/", true},
           Case{"10.1.2.3", "https://10.1.2.4/", false},
           Case{"10.1.2.3:6443", "https://10.1.2.3:6443/", true},
           Case{"10.1.2.3:6443", "https://10.1.2.3/", false},
           Case{"10.0.0.0/8", "https://10.200.1.1/", true},
           Case{"10.0.0.0/8", "https://11.0.0.1/", false},
           Case{"10.0.0.0/9", "https://10.200.1.1/", false},
           Case{"10.0.0.0/33", "https://10.0.0.0/", false},
           Case{"fe80::/16", "https://[fe80::5]/", true},
           Case{"fe80::1", "https://[fe80::1]/", true},
           Case{"[fe80::1]:6443", "https://[fe80::1]:6443/", true},
           Case{"[fe80::1]:6443", "https://[fe80::1]/", false},
           Case{",,", "https://example.org/", false},
       })
    EXPECT_EQ(bypasses_proxy(url(c.target), c.no_proxy), c.bypasses) << c.no_proxy << " " << c.target;
}

TEST(Proxy, IsChosenByScheme) {
  const ProxyEnvironment environment{.http_proxy = "http://a:1", .https_proxy = "b:2", .no_proxy = "c"};
  EXPECT_EQ(*proxy_for(url("http://x/"), environment), "http://a:1");
  EXPECT_EQ(*proxy_for(url("https://x/"), environment), "http://b:2");
  EXPECT_EQ(*proxy_for(url("https://c/"), environment), std::nullopt);
  EXPECT_EQ(*proxy_for(url("https://x/"), {}), std::nullopt);
}

TEST(Proxy, KnowsTheSchemesOfGo) {
  EXPECT_EQ(*normal_proxy("proxy.example:3128"), "http://proxy.example:3128");
  EXPECT_EQ(*normal_proxy("http://proxy.example"), "http://proxy.example:80");
  EXPECT_EQ(*normal_proxy("https://u:p@proxy.example/"), "https://u:p@proxy.example:443");
  EXPECT_EQ(*normal_proxy(" HTTPS://Proxy.example/x:1 "), "https://proxy.example:443");
  EXPECT_EQ(*normal_proxy("socks5://proxy.example"), "socks5h://proxy.example:1080");
  EXPECT_EQ(*normal_proxy("socks5h://[::1]:80"), "socks5h://[::1]:80");
  for (const char* bad :
       {"ftp://x", "http://", "http://u:geheim@x:y", "1x://h", "://h", "h:65536", "http://u:geheim@y@x"}) {
    const auto proxy = normal_proxy(bad);
    ASSERT_FALSE(proxy.ok()) << bad;
    EXPECT_EQ(proxy.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(proxy.error().to_line(), Not(HasSubstr("geheim")));
  }
}

TEST(ProxyEnvironmentFrom, PrefersUpperCaseAndDistrustsCgi) {
  std::map<std::string, std::string> variables = {
      {"HTTP_PROXY", "A"}, {"http_proxy", "a"}, {"https_proxy", "b"}, {"NO_PROXY", ""}, {"no_proxy", "c"}};
  const auto lookup = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  ProxyEnvironment environment = ProxyEnvironment::from(lookup);
  EXPECT_EQ(environment.http_proxy, "A");
  EXPECT_EQ(environment.https_proxy, "b");
  EXPECT_EQ(environment.no_proxy, "c");
  variables["REQUEST_METHOD"] = "GET";
  environment = ProxyEnvironment::from(lookup);
  EXPECT_EQ(environment.http_proxy, "");
  EXPECT_EQ(environment.https_proxy, "b");
}

}  // namespace
}  // namespace mist::http
