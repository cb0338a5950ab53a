#include "encoding/cbor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mist::encoding {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

// RFC 8949, appendix A.
TEST(Cbor, ReadsTheExamplesOfItsSpecification) {
  for (const auto& [bytes, number] : {std::pair("\x00"s, std::int64_t{0}),
                                      {"\x17"s, 23},
                                      {"\x18\x18"s, 24},
                                      {"\x19\x03\xe8"s, 1000},
                                      {"\x1a\x00\x0f\x42\x40"s, 1000000},
                                      {"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00"s, 1000000000000},
                                      {"\x20"s, -1},
                                      {"\x29"s, -10},
                                      {"\x39\x03\xe7"s, -1000},
                                      {"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"s, INT64_MIN}}) {
    CborReader reader(bytes);
    EXPECT_EQ(*reader.integer(), number);
    EXPECT_TRUE(reader.end().ok());
  }
  EXPECT_EQ(*CborReader("\x44\x01\x02\x03\x04").bytes(), "\x01\x02\x03\x04");
  EXPECT_EQ(*CborReader("\x64IETF").text(), "IETF");
  const std::string pairs = "\xa2\x61"s + "a\x01\x61" + "b\x82\x02\x03";
  CborReader map(pairs);
  EXPECT_EQ(*map.map(), 2U);
  EXPECT_EQ(*map.text(), "a");
  EXPECT_EQ(*map.integer(), 1);
  EXPECT_EQ(*map.text(), "b");
  EXPECT_EQ(*map.array(), 2U);
  EXPECT_TRUE(map.skip().ok());
  EXPECT_FALSE(map.at_end());
  EXPECT_EQ(*map.integer(), 3);
  EXPECT_TRUE(map.at_end());
}

TEST(Cbor, SkipsWhateverThereIs) {
  for (const std::string& bytes :
       {"\x83\x01\x82\x02\x03\x82\x04\x05"s, "\xf4"s, "\xf6"s, "\xf9\x3c\x00"s, "\xfa\x47\xc3\x50\x00"s,
        "\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a"s, "\xa1\x01\xa1\x02\x40"s, "\x80"s}) {
    const std::string input = bytes + "\x07";
    CborReader reader(input);
    EXPECT_TRUE(reader.skip().ok());
    EXPECT_EQ(*reader.integer(), 7);
  }
}

TEST(Cbor, RefusesWhatIsCutOffOrWrittenOtherwise) {
  for (const auto& [bytes, why] : {std::pair(""s, "missing"),
                                   {"\x18"s, "cut off"},
                                   {"\x18\x17"s, "as short"},
                                   {"\x19\x00\xff"s, "as short"},
                                   {"\x1a\x00\x00\xff\xff"s, "as short"},
                                   {"\x1b\x00\x00\x00\x00\xff\xff\xff\xff"s, "as short"},
                                   {"\x42\x01"s, "cut off"},
                                   {"\x62\xff\xfe"s, "UTF-8"},
                                   {"\x5f\x41\x01\xff"s, "length"},
                                   {"\x9f\xff"s, "length"},
                                   {"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"s, "cut off"},
                                   {"\xbb\x7f\xff\xff\xff\xff\xff\xff\xff"s, "cut off"},
                                   {"\x5b\xff\xff\xff\xff\xff\xff\xff\xff"s, "cut off"},
                                   {"\xc0\x60"s, "tags"},
                                   {"\xe0"s, "no meaning"},
                                   {"\xf8\x20"s, "no meaning"},
                                   {"\x1c"s, "length"},
                                   {"\x82\x01"s, "cut off"}}) {
    CborReader reader(bytes);
    const Status skipped = reader.skip();
    ASSERT_FALSE(skipped.ok()) << why;
    EXPECT_EQ(skipped.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(skipped.error().because, HasSubstr(why));
    EXPECT_EQ(reader.offset(), 0U);
  }
  EXPECT_FALSE(CborReader("\x1b\xff\xff\xff\xff\xff\xff\xff\xff").integer().ok());
}

TEST(Cbor, AnItemOfAnotherKindIsRefusedAndStays) {
  CborReader reader(
      "\x61"
      "a");
  EXPECT_FALSE(reader.integer().ok());
  EXPECT_FALSE(reader.bytes().ok());
  EXPECT_FALSE(reader.map().ok());
  EXPECT_FALSE(reader.array().ok());
  EXPECT_FALSE(reader.end().ok());
  EXPECT_EQ(*reader.text(), "a");
}

TEST(Cbor, NestsOnlySoDeep) {
  const auto skipped = [](const std::string& bytes) { return CborReader(bytes).skip(); };
  EXPECT_TRUE(skipped(std::string(CborReader::kDeepest, '\x81') + "\x01").ok());
  EXPECT_THAT(skipped(std::string(CborReader::kDeepest + 1, '\x81') + "\x01").error().because,
              HasSubstr("deeply"));
  EXPECT_FALSE(skipped(std::string(1 << 20, '\x81')).ok());
}

}  // namespace
}  // namespace mist::encoding
