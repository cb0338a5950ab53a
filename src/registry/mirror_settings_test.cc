#include "registry/mirror_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/oci_mirrors.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using config::Mirror;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MirrorSettingsTest : public ::testing::Test {
 protected:
  MirrorSettingsTest() {
    paths.home = temp.path();
    paths.config_file = temp.path() / "home" / "config.yaml";
  }
  MirrorSettings settings() { return MirrorSettings({files, events, paths, "/work"}); }
  Result<Mirror> add(std::string prefix, std::vector<std::string> places, std::optional<bool> only = {},
                     MirrorOrder order = MirrorOrder::Last) {
    return settings().add({std::move(prefix), std::move(places), only, order}, Context());
  }
  Result<Mirror> remove(const std::string& prefix, const std::vector<std::string>& places = {}) {
    return settings().remove(prefix, places, Context());
  }
  std::vector<Mirror> list() {
    const auto all = settings().list();
    EXPECT_TRUE(all.ok()) << all.error().to_line();
    return all.ok() ? *all : std::vector<Mirror>();
  }

  mist::testing::TempDir temp;
  mist::testing::RecordedEvents events;
  HostFileSystem files;
  config::Paths paths;
};

TEST_F(MirrorSettingsTest, PlacesAreAskedInTheOrderInWhichTheyWereAdded) {
  ASSERT_TRUE(add("oci://Registry.example:443/", {"oci-layout:m", "oci://m.example/copies/"}).ok());
  ASSERT_TRUE(add("registry.example", {"oci-archive:/a.tar"}).ok());
  ASSERT_TRUE(
      add("registry.example", {"oci://near.example", "oci://far.example"}, {}, MirrorOrder::First).ok());
  EXPECT_THAT(list(), ElementsAre(Mirror{"registry.example",
                                         {"oci://near.example", "oci://far.example", "oci-layout:/work/m",
                                          "oci://m.example/copies", "oci-archive:/a.tar"},
                                         false}));
}

TEST_F(MirrorSettingsTest, OnlyStaysAsItWasUnlessSomebodySaysSo) {
  ASSERT_TRUE(add("a.example", {"oci://m.example"}, true).ok());
  ASSERT_TRUE(add("a.example", {"oci://n.example"}).ok());
  EXPECT_TRUE(list().front().only);
  ASSERT_TRUE(add("a.example", {"oci://o.example"}, false).ok());
  EXPECT_FALSE(list().front().only);
  // Of places that are there it can be changed too.
  ASSERT_TRUE(add("a.example", {"oci://n.example"}, true).ok());
  EXPECT_THAT(list(), ElementsAre(Mirror{
                          "a.example", {"oci://m.example", "oci://n.example", "oci://o.example"}, true}));
  EXPECT_EQ(add("a.example", {"oci://n.example"}, true).error().kind, ErrorKind::Conflict);
}

TEST_F(MirrorSettingsTest, WhatWouldNotWorkIsRefusedAndNothingIsWritten) {
  struct Case {
    std::string prefix;
    std::vector<std::string> places;
    ErrorKind kind;
    std::string text;
  };
  ASSERT_TRUE(add("a.example", {"oci-layout:/m", "oci://m.example:443/x"}).ok());
  const std::string before = *files.read(paths.config_file);
  const Case cases[] = {
      {"", {"oci-layout:/n"}, ErrorKind::Invalid, "names no OCI registry"},
      {"oci://", {"oci-layout:/n"}, ErrorKind::Invalid, "names no OCI registry"},
      {"https://me:secret@a.example", {"oci-layout:/n"}, ErrorKind::Invalid, "names no OCI registry"},
      {"a.example/team:1.0.0", {"oci-layout:/n"}, ErrorKind::Invalid, "names one package"},
      {"a_b", {"oci-layout:/n"}, ErrorKind::Invalid, "is not a host name"},
      {"a.example", {"/n"}, ErrorKind::Invalid, "is not a place for copies"},
      {"a.example", {"oci://n.example/x:1.0.0"}, ErrorKind::Invalid, "names one package"},
      {"a.example", {"oci://me:secret@n.example"}, ErrorKind::Invalid, "it holds credentials"},
      {"a.example", {"oci-layout:/n", "oci-layout:/x/../n/"}, ErrorKind::Invalid, "is named twice"},
      {"a.example", {"oci://a.example:443"}, ErrorKind::Invalid, "is the registry itself"},
      {"a.example", {"oci-layout:../m"}, ErrorKind::Conflict, "is a mirror of a.example already"},
      {"A.example", {"oci://M.example/x"}, ErrorKind::Conflict, "is a mirror of a.example already"},
  };
  for (const Case& each : cases) {
    const auto refused = add(each.prefix, each.places);
    ASSERT_FALSE(refused.ok()) << each.text;
    EXPECT_EQ(refused.error().kind, each.kind) << refused.error().to_line();
    EXPECT_THAT(refused.error().to_line(), HasSubstr(each.text));
    EXPECT_FALSE(refused.error().hint.empty()) << each.text;
    EXPECT_EQ(refused.error().to_line().find("secret"), std::string::npos);
  }
  EXPECT_EQ(*files.read(paths.config_file), before);
}

TEST_F(MirrorSettingsTest, SomeOrAllMirrorsAreRemoved) {
  ASSERT_TRUE(add("a.example", {"oci-layout:/m", "oci://m.example"}, true).ok());
  ASSERT_TRUE(add("b.example", {"oci://m.example"}).ok());
  EXPECT_THAT(remove("a.example", {"oci-layout:../m"})->places, ElementsAre("oci-layout:/m"));
  EXPECT_THAT(list(), ElementsAre(Mirror{"a.example", {"oci://m.example"}, true},
                                  Mirror{"b.example", {"oci://m.example"}, false}));
  EXPECT_TRUE(remove("oci://A.example", {"oci://m.example"}).ok());
  EXPECT_TRUE(remove("b.example").ok());
  EXPECT_TRUE(list().empty());
}

TEST_F(MirrorSettingsTest, WhatIsNotThereIsNotRemoved) {
  EXPECT_THAT(remove("a.example").error().hint, HasSubstr("none is configured"));
  ASSERT_TRUE(add("registry.example", {"oci-layout:/m"}).ok());
  const auto misspelled = remove("registri.example");
  EXPECT_EQ(misspelled.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(misspelled.error().hint, "did you mean registry.example?");
  const auto place = remove("registry.example", {"oci-layout:/n"});
  EXPECT_EQ(place.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(place.error().hint, "its mirrors: oci-layout:/m");
  EXPECT_EQ(remove("").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(list().size(), 1u);
}

// As it may stand in a file that somebody wrote, where reading through it fails.
TEST_F(MirrorSettingsTest, AnEntryThatIsWrongCanBeRemoved) {
  ASSERT_TRUE(files
                  .write(paths.config_file,
                         "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n"
                         "  mirrors: [{prefix: 'a.example/team:1.0', places: ['oci-layout:m']}]\n")
                  .ok());
  EXPECT_TRUE(remove("a.example/team:1.0").ok());
  EXPECT_TRUE(list().empty());
}

TEST_F(MirrorSettingsTest, RelativePathsOfTheFileAreRelativeToIt) {
  ASSERT_TRUE(files
                  .write(paths.config_file,
                         "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n"
                         "  mirrors: [{prefix: a.example, places: ['oci-layout:m']}]\n")
                  .ok());
  const std::string whole = fmt::format("oci-layout:{}", (temp.path() / "home" / "m").string());
  EXPECT_EQ(add("a.example", {whole}).error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(add("a.example", {"oci-layout:m"}).ok());
  EXPECT_THAT(remove("a.example", {whole})->places, ElementsAre("oci-layout:m"));
  const auto missing = settings().missing_layouts(list().front());
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing.front().str(), "oci-layout:/work/m");
}

TEST(MirrorSettingsOfAddresses, TheLongestPrefixSaysWhetherOnlyMirrorsAreAsked) {
  const std::vector<config::Mirror> mirrors{{"git.example", {"oci-layout:/m"}, true},
                                            {"git.example/open", {"oci-layout:/m"}, false}};
  EXPECT_TRUE(is_left_to_mirrors(mirrors, "https://git.example/team/packages.git"));
  EXPECT_TRUE(is_left_to_mirrors(mirrors, "git@git.example:team/packages.git"));
  EXPECT_FALSE(is_left_to_mirrors(mirrors, "https://git.example/open/packages.git"));
  EXPECT_TRUE(is_left_to_mirrors(mirrors, "https://git.example/opened/packages.git"));
  EXPECT_FALSE(is_left_to_mirrors(mirrors, "https://other.example/packages.git"));
  EXPECT_FALSE(is_left_to_mirrors(mirrors, "/srv/packages.git"));
  const std::vector<config::Mirror> of_host{{.prefix = "catalog.example", .places = {}, .only = true}};
  EXPECT_TRUE(is_left_to_mirrors(of_host, "https://catalog.example"));
  EXPECT_FALSE(is_left_to_mirrors(of_host, "https://catalog.example.com"));
}

}  // namespace
}  // namespace mist::registry
