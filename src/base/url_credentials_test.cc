#include "base/url_credentials.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace mist {
namespace {

struct Case {
  std::string_view text, safe;
};

TEST(RedactUrls, HidesCredentialsAndNothingElse) {
  const Case cases[] = {
      {"https://h/x.git", "https://h/x.git"},
      {"https://user:pw@h/x", "https://***@h/x"},
      {"https://ghp_token@h/x", "https://***@h/x"},
      {"https://u:p@ss@h/x", "https://***@h/x"},
      {"ssh://git@h/x", "ssh://git@h/x"},
      {"ssh://git:pw@h/x", "ssh://git:***@h/x"},
      {"git+ssh://git:pw@h/x//p?ref=m", "git+ssh://git:***@h/x//p?ref=m"},
      {"git@h:o/r.git", "git@h:o/r.git"},
      {"https://h/x?private_token=abc&ref=main", "https://h/x?private_token=***&ref=main"},
      {"https://h/a@b", "https://h/a@b"},
      {"fatal: unable to access 'https://u:p@h/x/': no", "fatal: unable to access 'https://***@h/x/': no"},
      {"two: http://a:b@c and https://d:e@f.", "two: http://***@c and https://***@f."},
      {"://a:b@c", "://***@c"},
      {"https://u:p@h", "https://***@h"},
      {"https://u:p@[::1]:8/x", "https://***@[::1]:8/x"},
      {"https://acct.blob.example/charts?sv=2024&sig=abc",
       "https://acct.blob.example/charts?sv=2024&sig=***"},
      {"git+https://ci:pa'ss@h/r.git//web", "git+https://***@h/r.git//web"},
      {"git+https://ci:pa\"<s>s`@h/r.git", "git+https://***@h/r.git"},
      {"https://h/x?token=a'b", "https://h/x?token=***"},
      {"fatal: unable to access 'https://u:p'a'ss@h/x/': no",
       "fatal: unable to access 'https://***@h/x/': no"},
      {"of 'https://h' and 'u@h'", "of 'https://h' and 'u@h'"},
      {"'https://h/x' 'https://u:p@h'", "'https://h/x' 'https://***@h'"},
      {"https://h/x'https://u:p@h", "https://h/x'https://***@h"},
      {"git+https://ci:pa/ss@h/r.git", "git+https://***@h/r.git"},
      {"git+https://ci:pa#ss@h/r.git", "git+https://***@h/r.git"},
      {"git+https://ci:pa?ss@h/r.git", "git+https://***@h/r.git"},
      {"git+https://ci:pa ss@h/r.git", "git+https://***@h/r.git"},
      {"https://ci:/ss@h/r.git", "https://***@h/r.git"},
      {"https://ci:123456/ss@h/r.git", "https://***@h/r.git"},
      {"https://ci:p@s/s@h/r.git?x=a@b", "https://***@h/r.git?x=a@b"},
      {"ssh://git:pa/ss@h/x", "ssh://git:***@h/x"},
      {"unable to access 'https://ci:pa/ss@h/r.git/': no", "unable to access 'https://***@h/r.git/': no"},
      {"https://h:8443/@scope/x", "https://h:8443/@scope/x"},
      {"https://[::1]:8443/@scope/x", "https://[::1]:8443/@scope/x"},
      {"oci://h:5000/a:1@sha256:0", "oci://h:5000/a:1@sha256:0"},
      {"oci://h:5000/a@latest", "oci://h:5000/a@latest"},
      {"oci://ci:123/456@h/a:1", "oci://***@h/a:1"},
      {"oci://ci:123/456@h/a@sha256:0", "oci://***@h/a@sha256:0"},
      {"oci://ci:p@s/s@h/a@sha256:0", "oci://***@h/a@sha256:0"},
      {"oci://ci:pw@h", "oci://***@h"},
      {"https://h/x is unknown to a@b", "https://h/x is unknown to a@b"},
      {"https://gh.example/https://TOKEN@h/o/r.git", "https://gh.example/https://***@h/o/r.git"},
      {"https://u@gh.example/https://TOKEN@h/o/r.git", "https://***@gh.example/https://***@h/o/r.git"},
      {"https://gw/?url=https://u:p@h/?token=x&ref=main",
       "https://gw/?url=https://***@h/?token=***&ref=main"},
      {"https://gw/?token=https://u:p@h/&a", "https://gw/?token=***&a"},
      {"https://h/a,https://x:y@z", "https://h/a,https://***@z"},
      {"at 'https://gh.example/https://T@h/x', not a@b", "at 'https://gh.example/https://***@h/x', not a@b"},
      {"no url at all", "no url at all"},
      {"", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(redact_urls(c.text), c.safe) << c.text;
}

TEST(WithoutCredentials, LeavesAnAddressThatCanBeUsed) {
  const Case cases[] = {
      {"git+https://ci:pw@h/r.git//x?ref=main", "git+https://h/r.git//x?ref=main"},
      {"https://u:p@ss@h/x", "https://h/x"},
      {"ssh://git:pw@h/x", "ssh://git@h/x"},
      {"ssh://git@h/x", "ssh://git@h/x"},
      {"git@h:o/r.git", "git@h:o/r.git"},
      {"https://h/x?private_token=abc&ref=main", "https://h/x?ref=main"},
      {"https://h/x?token=abc", "https://h/x"},
      {"https://h/charts?sv=2024&sig=abc", "https://h/charts?sv=2024"},
      {"git+https://ci:pa'ss@h/r.git//web", "git+https://h/r.git//web"},
      {"git+https://ci:pa/ss@h/r.git//web", "git+https://h/r.git//web"},
      {"https://u:p@h/@scope/x", "https://h/@scope/x"},
      {"oci://ci:123/456@h/a@sha256:0", "oci://h/a@sha256:0"},
      {"git+https://gh.example/https://TOKEN@h/o/r.git", "git+https://gh.example/https://h/o/r.git"},
      {"https://gw/?url=https://u:p@h/&ref=main", "https://gw/?url=https://h/&ref=main"},
      {"team/web:1.0.0", "team/web:1.0.0"},
  };
  for (const Case& c : cases) EXPECT_EQ(without_credentials(c.text), c.safe) << c.text;
}

TEST(RedactUrls, UrlsWithinUrlsWithoutEndAreHiddenWhole) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "http://a/?";
  text += "http://u:geheim@h/";
  EXPECT_FALSE(redact_urls(text).contains("geheim"));
  EXPECT_FALSE(without_credentials(text).contains("geheim"));
}

TEST(RedactUrls, TellsAPortFromAPasswordWithASlash) {
  for (const char* server : {"h", "h:1", "h:65535", "[::1]", "[::1]:8"})
    EXPECT_EQ(redact_urls(fmt::format("https://{}/a@b", server)), fmt::format("https://{}/a@b", server));
  for (const char* password : {"h:", "h:x", "h:1x", "h:0", "h:65536", "h:-1", "[::1]:x", "[::1:x"})
    EXPECT_EQ(redact_urls(fmt::format("https://{}/a@b", password)), "https://***@b") << password;
}

}  // namespace
}  // namespace mist
