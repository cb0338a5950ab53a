#include "action/authoring/secret_traces.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::action {
namespace {

TEST(SecretTraces, FindsASecretInEveryCommonEncoding) {
  const std::string secret = "pa/ss+w\"rd?7";
  const SecretTraces traces({secret});
  for (const std::string& text :
       {secret, "x" + secret + "y", std::string(secret.rbegin(), secret.rend()), base64_encode(secret),
        base64_encode(":" + secret), base64_encode("u:" + secret), base64_encode("u:p" + secret + "tail"),
        base64_encode(base64_encode(secret)), base64_encode("a" + base64_encode(secret)),
        std::string("pg://u:pa%2Fss%2Bw%22rd%3F7@h"), std::string("pa%2fss%2bw%22rd%3f7"),
        std::string("%70%61%2f%73%73%2b%77%22%72%64%3f%37"), std::string("70612f73732b772272643f37"),
        std::string("70612F73732B772272643F37"), std::string(R"({"p":"pa/ss+w\"rd?7"})")})
    EXPECT_TRUE(traces.finds(text)) << text;
}

TEST(SecretTraces, ADigestIsNoTrace) {
  const SecretTraces traces({"tr0ub4dor"});
  EXPECT_FALSE(traces.finds(crypto::sha256("tr0ub4dor").str()));
  EXPECT_FALSE(traces.finds(""));
  EXPECT_FALSE(SecretTraces({"ab", ""}).finds("abab"));
}

TEST(SecretTraces, ADigestIsCleanWhereNoPartOfASecretStandsInIt) {
  const std::string secret = "Tr0ub4dor&3xyzXYZ012", token = "0f1e2d3c4b5a69788796a5b4c3d2e1f0aabbccdd";
  const SecretTraces traces({secret, token});
  const std::string sum = crypto::sha256(secret).hex();
  for (const std::string& text : {sum, "sha256:" + sum, sum.substr(0, 32), sum.substr(0, 63)})
    EXPECT_TRUE(traces.is_clean_digest(text)) << text;
  const auto digits = [](std::string_view text) {
    std::string all;
    for (const char c : text) all += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return all;
  };
  const std::string backwards(token.rbegin(), token.rend());
  for (const std::string& text :
       {std::string(), std::string("9c1a0f3e"), sum.substr(0, 31), sum + sum + "0",
        fmt::format("{} {}", sum, sum), secret.substr(0, 16), "sha256:" + secret,
        digits(secret.substr(0, 16)), digits(secret.substr(3, 16)), "f" + digits(secret.substr(0, 16)),
        digits(lower_case(secret).substr(0, 16)), token.substr(0, 32), backwards.substr(0, 32),
        sum.substr(0, 40) + token.substr(3, 10), "md5:" + token.substr(1, 32)})
    EXPECT_FALSE(traces.is_clean_digest(text)) << text;
}

TEST(SecretTraces, FindsBytesAndLinesOfAKey) {
  const SecretTraces bytes({base64_encode("0123456789abcdef")});
  EXPECT_TRUE(bytes.finds("30313233343536373839616263646566"));
  const SecretTraces key({"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n"});
  EXPECT_TRUE(key.finds("-----BEGIN PRIVATE KEY-----\r\n  MIGHAgEAMBMGByqGSM49\r\n"));
  EXPECT_FALSE(key.finds("-----BEGIN PRIVATE KEY-----"));
}

}  // namespace
}  // namespace mist::action
