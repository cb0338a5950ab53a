#include "base/secret_names.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

TEST(NamesSecret, KnowsTheNamesOfCredentials) {
  for (const char* const name :
       {"token", "private_token", "accessToken", "X-Amz-Signature", "X-Amz-Security-Token", "sig", "SIG",
        "x-sig", "client_secret", "password", "passwd", "apikey", "api_key", "AWSAccessKeyId", "credential"})
    EXPECT_TRUE(names_secret(name)) << name;
}

TEST(NamesSecret, TakesNoOtherWordForOne) {
  for (const char* const name : {"", "ref", "design", "signed", "sigma", "limit", "continue", "key"})
    EXPECT_FALSE(names_secret(name)) << name;
}

}  // namespace
}  // namespace mist
