#include "http/txt_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mist::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string number(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}
std::string piece(const std::string& text) { return static_cast<char>(text.size()) + text; }
std::string record(unsigned type, const std::string& data) {
  return std::string("\xc0\x0c", 2) + number(type) + number(1) + number(0) + number(60) +
         number(static_cast<unsigned>(data.size())) + data;
}
std::string answer(const std::vector<std::string>& records) {
  std::string text = number(7) + number(0x8180) + number(1) + number(static_cast<unsigned>(records.size())) +
                     number(0) + number(0) + piece("a") + piece("example") + std::string(1, '\0') +
                     number(16) + number(1);
  for (const std::string& each : records) text += each;
  return text;
}

TEST(TxtRecords, AreTheTextsOfAnAnswer) {
  EXPECT_THAT(*txt_records_in(answer({})), IsEmpty());
  EXPECT_THAT(*txt_records_in(answer({record(5, piece("www")), record(16, piece("one")),
                                      record(16, piece("tw") + piece("o")), record(16, "")})),
              ElementsAre("one", "two", ""));
}

TEST(TxtRecords, OfALyingServerAreAnError) {
  const std::string whole = answer({record(16, piece("one")), record(16, piece("two"))});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(txt_records_in(whole.substr(0, size)).ok()) << size;
  EXPECT_FALSE(txt_records_in(answer({record(16, "\x05one")})).ok()) << "a piece longer than its record";
  std::string more = whole;
  more[7] = '\xff';
  EXPECT_FALSE(txt_records_in(more).ok()) << "more answers than there are";
  // A name that points at itself isn't followed.
  EXPECT_THAT(*txt_records_in(number(7) + number(0x8180) + number(1) + number(0) + number(0) + number(0) +
                              std::string("\xc0\x0c", 2) + number(16) + number(1)),
              IsEmpty());
}

TEST(TxtRecords, ServersAreAddressesWithAPort) {
  for (const char* server : {"127.0.0.1", "example.com:53", "127.0.0.1:", "127.0.0.1:99999", ":53"})
    EXPECT_EQ(txt_resolver(server).error().kind, ErrorKind::Invalid) << server;
  EXPECT_TRUE(txt_resolver("127.0.0.1:53").ok());
  EXPECT_TRUE(txt_resolver("").ok());
}

}  // namespace
}  // namespace mist::http
