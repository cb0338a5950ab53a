#include "registry/oci_layout_artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/signature.h"
#include "registry/oci_copy.h"
#include "registry/oci_fixture.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

class LayoutArtifactTest : public ::testing::Test {
 protected:
  LayoutArtifactTest() {
    registry.publish("1.4.0", module);
    registry.publish("1.5.0", tree);
    registry.publish(oci::signature_tag(module.digest),
                     oci::signature_artifact(std::nullopt, "payload", "signature", "key"));
  }

  void fill(const std::vector<std::string>& tags) {
    const auto target = writer("layout");
    for (const std::string& tag : tags) {
      const oci::Reference from = *oci::Reference::parse("oci://reg.example/team/shop:" + tag);
      ASSERT_TRUE(copy_artifact(client, *target, from, from, {}, Context()).ok());
    }
    ASSERT_TRUE(target->finish().ok());
  }

  std::unique_ptr<LayoutWriter> writer(std::string_view name) {
    auto target = LayoutWriter::open(files, temp.path() / name, Context());
    EXPECT_TRUE(target.ok()) << target.error().to_line();
    return *std::move(target);
  }

  // In all names of index.json.
  void rename(std::string_view from, std::string_view to) {
    const Path index = temp.path() / "layout/index.json";
    std::string text = *files.read(index);
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    ASSERT_TRUE(files.write(index, text).ok());
  }

  Result<LayoutArtifact> open(const std::string& name = {}) {
    return open_layout_artifact(files, "oci-layout:" + (temp.path() / "layout").string() + name, destination);
  }

  std::string reference(const std::string& name = {}) {
    const auto opened = open(name);
    return opened.ok() ? opened->reference.str() : opened.error().to_line();
  }

  const oci::Artifact module = oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {});
  const oci::Artifact tree = oci::tree_artifact("archive", {});
  testing::MemoryRegistry registry;
  OciClient client{registry.web,
                   [](const std::string&, const std::string&,
                      const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                   {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                     return std::vector<std::string>{"1.1.1.1"};
                   }}};
  mist::testing::TempDir temp;
  HostFileSystem files;
  oci::Reference destination = *oci::Reference::parse_destination("oci://mirror.example/shop");
};

TEST_F(LayoutArtifactTest, TheOnlyOneNeedsNoName) {
  fill({"1.4.0"});  // with its signature, which is an entry too
  EXPECT_EQ(reference(), fmt::format("oci://reg.example/team/shop:1.4.0@{}", module.digest.str()));
  EXPECT_EQ(destination.tag, "");
}

TEST_F(LayoutArtifactTest, OfSeveralOneIsNamed) {
  fill({"1.4.0", "1.5.0"});
  EXPECT_THAT(reference(), HasSubstr("has several artifacts (it has reg.example/team/shop:1.4.0, "
                                     "reg.example/team/shop:1.5.0)"));
  EXPECT_EQ(reference(":reg.example/team/shop:1.5.0"),
            fmt::format("oci://reg.example/team/shop:1.5.0@{}", tree.digest.str()));
  EXPECT_THAT(reference(":1.6.0"), HasSubstr("has no \"1.6.0\""));
}

TEST_F(LayoutArtifactTest, ANameMayBeWrittenInAnotherForm) {
  fill({"1.4.0"});
  rename("reg.example/team/shop:1.4.0", "REG.example:443/team/shop:1.4.0");
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().to_line();
  EXPECT_TRUE(
      copy_artifact(*opened->layout, *writer("copy"), opened->reference, opened->reference, {}, {}).ok());
}

TEST_F(LayoutArtifactTest, ANameWithAnotherDigestIsRefused) {
  fill({"1.4.0"});
  rename("reg.example/team/shop:1.4.0", "reg.example/team/shop@" + tree.digest.str());
  EXPECT_THAT(reference(), HasSubstr("names " + module.digest.str()));
}

TEST_F(LayoutArtifactTest, SignaturesUnderTagsAloneComeAlong) {
  fill({"1.4.0"});
  rename("reg.example/team/shop:", "");
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().to_line();
  const auto report = copy_artifact(*opened->layout, *writer("copy"), opened->reference, destination, {}, {});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->referrers, 1U);
  EXPECT_EQ(report->to.tag, "1.4.0");
}

TEST_F(LayoutArtifactTest, AnEntryOfAnotherToolMayHaveATagAlone) {
  fill({"1.4.0"});
  rename("reg.example/team/shop:1.4.0", "0.1.0");
  EXPECT_EQ(reference(), fmt::format("oci://mirror.example/shop@{}", module.digest.str()));
  EXPECT_EQ(destination.tag, "0.1.0");
  const auto opened = open();
  EXPECT_TRUE(
      opened->layout->manifest(opened->reference.repository, opened->reference.digest->str(), {}).ok());
  destination.tag = "latest";
  EXPECT_EQ(reference(), fmt::format("oci://mirror.example/shop@{}", module.digest.str()));
  EXPECT_EQ(destination.tag, "latest");
}

TEST_F(LayoutArtifactTest, OtherFilesAreRefused) {
  EXPECT_THAT(reference(), HasSubstr("there is no directory"));
  fill({});
  EXPECT_THAT(reference(), HasSubstr("has no artifact"));
  EXPECT_TRUE(names_layout("oci-archive:a"));
  EXPECT_FALSE(names_layout("oci://a/b:1"));
}

}  // namespace
}  // namespace mist::registry
