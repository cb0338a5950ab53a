#include "oci/tags.h"

#include <gtest/gtest.h>

namespace mist::oci {
namespace {

std::string newest(std::string_view range, const std::vector<std::string>& tags) {
  return newest_in(*encoding::SemVerRange::parse(range), tags).value_or("none");
}

TEST(OciTags, TheNewestVersionOfARangeIsChosen) {
  const std::vector<std::string> tags{"1.4.0", "latest", "1.10.0", "2.0.0", "1.9.9", "1.11.0-rc.1", "prod"};
  EXPECT_EQ(newest("^1.4", tags), "1.10.0");
  EXPECT_EQ(newest("*", tags), "2.0.0");
  EXPECT_EQ(newest("~1.9", tags), "1.9.9");
  EXPECT_EQ(newest(">=1.11.0-rc.0 <2", tags), "1.11.0-rc.1");
  EXPECT_EQ(newest("^3", tags), "none");
  EXPECT_EQ(newest("^1", {}), "none");
}

TEST(OciTags, BuildMetadataIsWrittenWithAnUnderscore) {
  EXPECT_EQ(tag_of_version("1.0.0+build.5"), "1.0.0_build.5");
  EXPECT_EQ(version_of_tag("1.0.0_build.5"), "1.0.0+build.5");
  EXPECT_EQ(version_of_tag("some_tag"), "some_tag");
  EXPECT_EQ(newest("^1", {"1.0.0_build.5", "1.0.0_build.6", "0.9.0"}), "1.0.0_build.6");
}

TEST(OciTags, OnlyWholeVersionsStayWhereTheyAre) {
  for (const char* tag : {"1.4.0", "v1.4.0", "1.4.0-rc.1", "1.4.0_b.1"})
    EXPECT_TRUE(is_fixed_version(tag)) << tag;
  for (const char* tag : {"1.4", "1", "latest", "main-1.2.3"}) EXPECT_FALSE(is_fixed_version(tag)) << tag;
}

TEST(OciTags, ThatMayMoveAreNoFixedVersions) {
  const std::vector<std::string> tags{"1.99", "v1.4.0", "latest", "1.4.0_b.1", "20240601", "1.5.0-rc.1"};
  EXPECT_EQ(fixed_versions(tags), (std::vector<std::string>{"v1.4.0", "1.4.0_b.1", "1.5.0-rc.1"}));
}

TEST(OciTags, FitAVersion) {
  for (const auto& [tag, version] : {std::pair{"1.4.2", "1.4.2"},
                                     {"v1.4.2", "1.4.2"},
                                     {"1.4.2", "v1.4.2"},
                                     {"1.4.2_build.5", "1.4.2+build.5"},
                                     {"1.4", "1.4.2"},
                                     {"1.4", "1.4"},
                                     {"1", "1.4.2"},
                                     {"prod", "1.4.2"},
                                     {"main-1.2.3", "1.4.2"},
                                     {"20240101", "1.4.2"}})
    EXPECT_TRUE(fits_version(tag, version)) << tag << " " << version;
  for (const auto& [tag, version] : {std::pair{"2.0.0", "1.4.2"},
                                     {"v1.4.3", "1.4.2"},
                                     {"1.4.2", "1.4.2+build.5"},
                                     {"1.4.2-rc.1", "1.4.2"},
                                     {"1.4", "1.5.0"},
                                     {"1.4", "1.40.0"},
                                     {"2.0", "1.0"}})
    EXPECT_FALSE(fits_version(tag, version)) << tag << " " << version;
}

TEST(OciTags, AreAsTheSpecificationHasThem) {
  EXPECT_TRUE(is_tag("_a.b-C9"));
  EXPECT_FALSE(is_tag(""));
  EXPECT_FALSE(is_tag(".a"));
  EXPECT_FALSE(is_tag("a+b"));
  EXPECT_FALSE(is_tag(std::string(129, 'a')));
}

TEST(OciTags, AreListedNewestFirst) {
  const std::vector<std::string> tags{"1.4.0", "latest", "1.10.0"};
  EXPECT_EQ(newest_first(tags), (std::vector<std::string>{"1.10.0", "1.4.0"}));
}

}  // namespace
}  // namespace mist::oci
