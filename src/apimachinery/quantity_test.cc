#include "apimachinery/quantity.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace mist::apimachinery {
namespace {

TEST(Quantity, IsWhatAServerTakesForOne) {
  for (const char* text : {"1", "500m", "0.5", "64Mi", "1e3", "-1", "+2Ki", ".5", "1.", " 1Gi ", "1E"})
    EXPECT_TRUE(is_quantity(text)) << text;
  for (const char* text : {"", "64Mb", "64 Mi", "abc", "1mi", "1K", "0x10", "1.2.3", "m"})
    EXPECT_FALSE(is_quantity(text)) << text;
}

TEST(Quantity, EverySuffixIsRead) {
  constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"1n", "0.000000001"},    {"1u", "0.000001"},          {"1m", "0.001"},
      {"1k", "1000"},           {"1M", "1000000"},           {"1G", "1000000000"},
      {"1T", "1000000000000"},  {"1P", "1000000000000000"},  {"1E", "1000000000000000000"},
      {"1Ki", "1024"},          {"1Mi", "1048576"},          {"1Gi", "1073741824"},
      {"1Ti", "1099511627776"}, {"1Pi", "1125899906842624"}, {"1Ei", "1152921504606846976"},
      {"1E3", "1000"},          {"1e0003", "1000"},          {"1e+3", "1000"},
      {"1E-3", "0.001"},        {"1e4294967299", "1000"},  // Go keeps 32 bits
  };
  for (const auto& [text, plain] : kSame) {
    EXPECT_TRUE(is_quantity(text)) << text;
    EXPECT_TRUE(same_quantity(text, plain)) << text;
  }
  for (const char* text : {"1e", "1e+", "1E-", "1e+-3", "1e--3", "1Eii", "1Ei3", "1e3i", "1e1.5",
                           "1e9223372036854775808", "1ki", "1Ni"})
    EXPECT_FALSE(is_quantity(text)) << text;
}

TEST(Quantity, TheServerKeepsItsUnitsWhereItsCanonicalFormHasThem) {
  constexpr std::pair<std::string_view, std::string_view> kStored[] = {
      {"0.5", "500m"},  {"1024Mi", "1Gi"},          {"0.1Gi", "107374182400m"}, {"0Gi", "0"},
      {"0.5Ki", "512"}, {"1.0009765625Ki", "1025"}, {"12e2", "1200"},           {"1e4", "10e3"},
      {"0e3", "0"},     {"12e0", "12e0"},
  };
  for (const auto& [wanted, stored] : kStored) EXPECT_TRUE(quantity_stored_as(wanted, stored)) << wanted;
  // These are what somebody else wrote there.
  for (const auto& [wanted, stored] : {std::pair("1Gi", "1073741824"),
                                       {"1073741824", "1Gi"},
                                       {"2Ki", "2048"},
                                       {"1e3", "1k"},
                                       {"1k", "1e3"},
                                       {"1e-3", "1m"},
                                       {"0.5Ki", "513"},
                                       {"30000Mi", "31457280k"}})
    EXPECT_FALSE(quantity_stored_as(wanted, stored)) << wanted << " " << stored;
}

TEST(Quantity, TheNearestIsWhatWasMeant) {
  EXPECT_EQ(nearest_quantity("64Mb"), "64M");
  EXPECT_EQ(nearest_quantity("64 MiB"), "64Mi");
  EXPECT_EQ(nearest_quantity("1K"), "1k");
  EXPECT_EQ(nearest_quantity("2gib"), "2Gi");
  EXPECT_EQ(nearest_quantity("1,000"), "1000");
  EXPECT_EQ(nearest_quantity("lots"), "");
}

}  // namespace
}  // namespace mist::apimachinery
