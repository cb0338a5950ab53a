#include "crypto/hmac_sha1.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::crypto {
namespace {

// RFC 2202, section 3, cases 1, 2 and 6.
TEST(HmacSha1, HasTheVectorsOfTheRfc) {
  const auto mac = [](const std::string& key, const std::string& message) {
    return hex(hmac_sha1(as_bytes(key), as_bytes(message)));
  };
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"), "b617318655057264e28bc0b6fb378c8ef146be00");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(mac(std::string(80, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

}  // namespace
}  // namespace mist::crypto
