#include "config/redact.h"

#include <gtest/gtest.h>

namespace mist::config {
namespace {

using encoding::Value;

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
      {"team/web:1.0.0", "team/web:1.0.0"},
  };
  for (const Case& c : cases) EXPECT_EQ(without_credentials(c.text), c.safe) << c.text;
}

TEST(Redact, WorksOnWholeDocuments) {
  const Value value = Value::object(
      {{"url", "https://u:p@h"},
       {"accessToken", "abc"},
       {"list", Value::array({Value("https://u:p@h"), Value(1), Value::object({{"password", "x"}})})}});
  const Value expected = Value::object(
      {{"url", "https://***@h"},
       {"accessToken", "***"},
       {"list", Value::array({Value("https://***@h"), Value(1), Value::object({{"password", "***"}})})}});
  EXPECT_EQ(redact(value), expected);
}

}  // namespace
}  // namespace mist::config
