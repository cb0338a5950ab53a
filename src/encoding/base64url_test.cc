#include "encoding/base64url.h"

#include <gtest/gtest.h>

namespace mist::encoding {
namespace {

TEST(Base64url, ReadsWhatItWrites) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"), std::string("foo"),
                                   std::string("\xff\xfe\xfb\x00", 4)})
    EXPECT_EQ(*base64url_decode(base64url_encode(bytes)), bytes);
  EXPECT_EQ(base64url_encode("\xff\xfe\xfb"), "__77");
}

TEST(Base64url, TakesNoOtherAlphabetAndNoPadding) {
  for (const char* text : {"//77", "Zg==", "Z", "Zm 9v", "Zm9v\n"})
    EXPECT_EQ(base64url_decode(text).error().kind, ErrorKind::Invalid) << text;
}

}  // namespace
}  // namespace mist::encoding
