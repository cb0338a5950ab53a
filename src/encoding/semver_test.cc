#include "encoding/semver.h"

#include <gtest/gtest.h>

namespace mist::encoding {
namespace {

SemVer version(std::string_view text) {
  auto result = SemVer::parse(text);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? *result : SemVer{};
}

bool in_range(std::string_view range, std::string_view text) {
  const auto parsed = SemVerRange::parse(range);
  EXPECT_TRUE(parsed.ok()) << range << ": " << (parsed.ok() ? "" : parsed.error().to_line());
  return parsed.ok() && parsed->contains(version(text));
}

TEST(SemVer, ReadsAndPrintsWhatSemverOrgAllows) {
  for (const std::string_view text :
       {"0.0.0", "1.2.3", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x-y-z.--",
        "1.0.0+20130313144700", "1.0.0-beta+exp.sha.5114f85", "1.0.0+001"})
    EXPECT_EQ(version(text).to_string(), text);
  for (const std::string_view text :
       {"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+",
        "1.2.3+a+b", "1.2.x", "-1.2.3", "1.2.3 ", "99999999999999999999.0.0", "1.2.3-é"})
    EXPECT_FALSE(SemVer::parse(text).ok()) << text;
}

TEST(SemVer, LenientFormFillsWithZeros) {
  EXPECT_EQ(SemVer::parse_lenient("v1.2")->to_string(), "1.2.0");
  EXPECT_EQ(SemVer::parse_lenient("1")->to_string(), "1.0.0");
  for (const std::string_view text : {"", "v", "x", "1.x", "latest", "vv1"})
    EXPECT_FALSE(SemVer::parse_lenient(text).ok()) << text;
}

TEST(SemVer, OrderIsThatOfSemverOrg) {
  const std::vector<std::string_view> ascending = {
      "0.0.9",      "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
      "1.0.0",      "1.0.1",        "1.2.0",         "1.10.0",
      "2.0.0"};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(version(ascending[i]) <=> version(ascending[j]), i <=> j)
          << ascending[i] << " " << ascending[j];
  EXPECT_EQ(version("1.0.0+a"), version("1.0.0+b"));
}

struct RangeCase {
  std::string_view range;
  std::vector<std::string_view> in;
  std::vector<std::string_view> out;
};

TEST(SemVerRange, ContainsExactlyWhatItSays) {
  const RangeCase cases[] = {
      {"1.2.3", {"1.2.3"}, {"1.2.4", "1.2.2"}},
      {"=1.2.3", {"1.2.3"}, {"1.2.4"}},
      {"1.2", {"1.2.0", "1.2.9"}, {"1.3.0", "1.1.9"}},
      {"1", {"1.0.0", "1.9.9"}, {"2.0.0", "0.9.9"}},
      {"1.2.x", {"1.2.0", "1.2.9"}, {"1.3.0"}},
      {"1.*", {"1.0.0", "1.9.9"}, {"2.0.0"}},
      {"*", {"0.0.1", "9.9.9"}, {"1.0.0-rc.1"}},
      {"", {"1.0.0"}, {}},
      {"!=1.2.3", {"1.2.4"}, {"1.2.3"}},
      {">1.2.3", {"1.2.4", "2.0.0"}, {"1.2.3"}},
      {">1.2", {"1.3.0"}, {"1.2.0", "1.2.9"}},
      {">=1.2", {"1.2.0"}, {"1.1.9"}},
      {"<2", {"1.9.9"}, {"2.0.0", "2.0.0-rc.1"}},
      {"<=2", {"2.0.0", "2.9.9"}, {"3.0.0"}},
      {"<=2.1.3", {"2.1.3"}, {"2.1.4"}},
      {"^1.2.3", {"1.2.3", "1.9.0"}, {"2.0.0", "1.2.2", "2.0.0-alpha"}},
      {"^0.2.3", {"0.2.3", "0.2.9"}, {"0.3.0"}},
      {"^0.0.3", {"0.0.3"}, {"0.0.4"}},
      {"^0.0", {"0.0.0", "0.0.9"}, {"0.1.0"}},
      {"^0", {"0.0.0", "0.9.0"}, {"1.0.0"}},
      {"^1.x", {"1.0.0", "1.5.0"}, {"2.0.0"}},
      {"~1.2.3", {"1.2.3", "1.2.9"}, {"1.3.0"}},
      {"~1.2", {"1.2.0"}, {"1.3.0"}},
      {"~1", {"1.9.0"}, {"2.0.0"}},
      {">= 1.2.0, < 2.0.0", {"1.2.0", "1.9.9"}, {"2.0.0", "1.1.0"}},
      {">=1.2.0 <2.0.0", {"1.2.0"}, {"2.0.0"}},
      {"<1.0.0 || >=2.0.0", {"0.5.0", "2.0.0"}, {"1.5.0"}},
      {"1.2 - 2.3", {"1.2.0", "2.3.9"}, {"2.4.0", "1.1.0"}},
      {"1.2.3 - 2.3.4", {"1.2.3", "2.3.4"}, {"2.3.5"}},
      {"1.9 < x <= 1.10", {"1.9.1", "1.10.0"}, {"1.9.0", "1.10.1"}},
      {"2 > x >= 1", {"1.0.0", "1.9.9"}, {"2.0.0", "0.9.0"}},
      {"1.9 < x", {"1.9.1", "7.0.0"}, {"1.9.0"}},
      {">=1.0.0-rc.1", {"1.0.0-rc.1", "1.0.0-rc.2", "1.0.0"}, {"1.0.1-rc.1", "1.0.0-beta"}},
      {"^1.2.3-beta.2", {"1.2.3-beta.4", "1.5.0"}, {"1.2.4-beta.2", "1.2.3-beta.1"}},
      {"1.2.3-rc.1", {"1.2.3-rc.1"}, {"1.2.3"}},
      {"v1.2.3", {"1.2.3"}, {}},
      {"!=1.2", {"1.1.9", "1.3.0"}, {"1.2.0", "1.2.7"}},
      {"!=1.x", {"0.9.0", "2.0.0"}, {"1.0.0", "1.9.9"}},
      {">=1.19-0", {"1.19.0-gke.1", "1.19.0", "2.0.0"}, {"1.18.9", "1.20.0-gke.1"}},
      {"^1.2.3 >=2.0.0-alpha", {}, {"2.0.0-beta", "2.0.0"}},
      {"^18446744073709551615.0.0", {"18446744073709551615.7.0"}, {"1.0.0"}},
      {"~1.18446744073709551615", {"1.18446744073709551615.1"}, {"2.0.0"}},
      {">18446744073709551615", {}, {"18446744073709551615.0.0", "0.0.0"}},
  };
  for (const RangeCase& one : cases) {
    for (const std::string_view text : one.in)
      EXPECT_TRUE(in_range(one.range, text)) << one.range << " " << text;
    for (const std::string_view text : one.out)
      EXPECT_FALSE(in_range(one.range, text)) << one.range << " " << text;
  }
}

TEST(SemVerRange, AsHelmAnyPrereleaseStandsForAll) {
  const RangeCase cases[] = {
      {">0.0.0-0", {"1.0.0", "2.0.0-rc.1"}, {}},
      {"*", {"1.0.0"}, {"2.0.0-rc.1"}},
      {">=1.0.0-beta", {"1.0.0-beta", "1.1.0-alpha", "3.0.0"}, {"1.0.0-alpha"}},
      {"^1.2.0-0", {"1.2.0-rc", "1.9.0-rc", "1.9.0"}, {"2.0.0-rc", "2.0.0"}},
      {"<2.0.0-0", {"1.9.0-rc"}, {"2.0.0-rc"}},
      {">=1.0.0-0 <2 || 3", {"1.5.0-rc", "3.0.0"}, {"3.0.1-rc"}},
      {">=1.19-0", {"1.19.0-rc", "1.20.0-rc", "2.0.0"}, {"1.18.9"}},
      {"*-0", {"0.0.1-rc", "2.0.0"}, {}},
      {"<=1.2-0", {"1.2.0-rc", "1.2.9-rc", "1.2.9"}, {"1.3.0-rc", "1.3.0"}},
      {">1.2-0", {"1.3.0-rc", "1.3.0"}, {"1.2.9"}},
  };
  for (const RangeCase& one : cases) {
    const SemVerRange range = *SemVerRange::parse(one.range);
    for (const std::string_view text : one.in)
      EXPECT_TRUE(range.contains_as_helm(*SemVer::parse(text))) << one.range << " " << text;
    for (const std::string_view text : one.out)
      EXPECT_FALSE(range.contains_as_helm(*SemVer::parse(text))) << one.range << " " << text;
  }
}

TEST(SemVerRange, SaysWhatItDoesNotUnderstand) {
  for (const std::string_view text :
       {"abc", ">", ">=", "1.2.3.4", "1.2 -", "1.2 - ", "1 < x >= 2", "^a", "1.x.3", "||a", "||", "^1 ||",
        "|| ^1", "^1 || || ^2", "1.9 < x <=", "latest"})
    EXPECT_FALSE(SemVerRange::parse(text).ok()) << text;
  const auto message = [](std::string_view text) { return SemVerRange::parse(text).error().message; };
  EXPECT_EQ(message(">=1.0 || ^a"),
            "\"a\" is not a version, at character 11 of the version range \">=1.0 || ^a\"");
  EXPECT_EQ(message("^1 <"), "a version must follow \"<\", at character 5 of the version range \"^1 <\"");
  EXPECT_EQ(message("^1 ||"),
            "a version is missing beside \"||\", at character 6 of the version range \"^1 ||\"");
  EXPECT_EQ(
      message("1 < x >= 2"),
      "\"<\" and \">=\" point in opposite directions, at character 7 of the version range \"1 < x >= 2\"");
  EXPECT_EQ(message("1.2 - "), "a version must follow \"-\", at character 7 of the version range \"1.2 - \"");
  EXPECT_FALSE(SemVerRange::parse("^a").error().hint.empty());
}

TEST(SemVerRange, HasABound) {
  std::string text = "^1";
  for (int i = 0; i < 200; ++i) text += fmt::format(" !=1.0.{}", i);
  EXPECT_TRUE(SemVerRange::parse(text).ok());
  for (int i = 0; i < 300; ++i) text += fmt::format(" !=1.1.{}", i);
  EXPECT_NE(SemVerRange::parse(text).error().message.find("more than 4096 characters"), std::string::npos);
}

TEST(SemVerRange, KnowsWhetherItIsExact) {
  EXPECT_TRUE(SemVerRange::parse("1.2.3")->is_exact());
  EXPECT_TRUE(SemVerRange::parse("=1.2.3")->is_exact());
  EXPECT_FALSE(SemVerRange::parse("1.2")->is_exact());
  EXPECT_FALSE(SemVerRange::parse("^1.2.3")->is_exact());
}

}  // namespace
}  // namespace mist::encoding
