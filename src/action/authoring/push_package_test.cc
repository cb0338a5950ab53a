#include "action/authoring/push_package.h"

#include <gtest/gtest.h>

#include "registry/chart_archive.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

class PreparePush : public ::testing::Test {
 protected:
  Result<PreparedPush> prepared(std::string_view version, std::string_view destination) {
    registry::PackageTree chart{
        {{"Chart.yaml", fmt::format("apiVersion: v2\nname: shop\nversion: \"{}\"\n", version)},
         {"templates/a.yaml", "a: 1\n"}}};
    const registry::PackageContent content(std::move(chart));
    return prepare_push(
        renderer,
        {content, registry::digest_of(content), registry::PackageRef(registry::LocalRef{"/shop"}), "/shop"},
        *oci::Reference::parse_destination(destination), {}, Context());
  }

  mist::testing::RecordedEvents events;
  package::Renderer renderer{{}, events};
};

TEST_F(PreparePush, WithoutATagItIsThePackagesVersion) {
  const auto push = prepared("1.4.0+b.5", "oci://reg.example/charts/shop");
  ASSERT_TRUE(push.ok()) << push.error().to_line();
  EXPECT_EQ(push->destination.tag, "1.4.0_b.5");
}

// It would be a part of a path that leads to another repository.
TEST_F(PreparePush, AVersionThatIsNoTagIsRefused) {
  const auto push = prepared("x/../../../other/manifests/y", "oci://reg.example/charts/shop");
  ASSERT_FALSE(push.ok());
  EXPECT_EQ(push.error().kind, ErrorKind::Invalid);
}

registry::Fetched fetched(registry::PackageContent content, std::string_view reference) {
  auto parsed = registry::PackageRef::parse(reference);
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_line();
  const crypto::Digest digest = registry::digest_of(content);
  return {std::move(content), digest, *std::move(parsed), "elsewhere"};
}

registry::PackageContent packed(std::string_view name) {
  const registry::PackageTree chart{
      {{"Chart.yaml", fmt::format("apiVersion: v2\nname: {}\nversion: 1.4.0\n", name)},
       {"templates/a.yaml", "a: 1\n"},
       {".helmignore", "*.bak\n"},
       {".vscode/tasks.json", "{}"}}};
  registry::TreeBuilder builder("a chart");
  EXPECT_TRUE(builder.add("shop.tgz", *registry::pack_chart(chart, name)).ok());
  return registry::PackageContent(*std::move(builder).finish());
}

class SavePackage : public ::testing::Test {
 protected:
  mist::testing::TempDir temp;
  HostFileSystem files;
};

// As `helm pull` names it.
TEST_F(SavePackage, AChartOfAChartRepositoryIsItsArchive) {
  const auto package = fetched(packed("shop"), "stable/shop:1.4.0");
  const auto saved =
      save_package(files, package, {.directory = temp.path(), .provenance = "signed by somebody\n"});
  ASSERT_TRUE(saved.ok()) << saved.error().to_line();
  EXPECT_EQ(saved->path, temp.path() / "shop-1.4.0.tgz");
  EXPECT_EQ(*files.read(saved->path, 1 << 20),
            std::get<registry::PackageTree>(package.content).files.front().bytes);
  EXPECT_EQ(saved->provenance, temp.path() / "shop-1.4.0.tgz.prov");
  EXPECT_EQ(*files.read(saved->provenance, 1000), "signed by somebody\n");
}

TEST_F(SavePackage, AnUnpackedChartIsADirectoryOfItsName) {
  const SaveOptions options{.directory = temp.path(), .untar = true};
  const auto package = fetched(packed("shop"), "stable/shop:1.4.0");
  const auto saved = save_package(files, package, options);
  ASSERT_TRUE(saved.ok()) << saved.error().to_line();
  EXPECT_EQ(saved->path, temp.path() / "shop");
  EXPECT_EQ(*files.read(saved->path / "templates/a.yaml", 1000), "a: 1\n");
  EXPECT_TRUE(files.exists(saved->path / ".helmignore"));
  EXPECT_FALSE(files.exists(saved->path / ".vscode"));
  EXPECT_EQ(saved->left_out, std::vector<std::string>{".vscode/tasks.json"});
  EXPECT_EQ(save_package(files, package, options).error().kind, ErrorKind::Conflict) << "it is there already";
}

TEST_F(SavePackage, OnlyAChartCanBeUnpackedOrHasAProvenanceFile) {
  const registry::PackageContent tree(registry::PackageTree{{{"a.yaml", "a: 1\n"}}});
  const auto package = fetched(tree, "stable/shop:1.4.0");
  EXPECT_EQ(save_package(files, package, {.directory = temp.path(), .untar = true}).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(save_package(files, package, {.directory = temp.path(), .provenance = "x"}).error().kind,
            ErrorKind::Invalid);
  EXPECT_EQ(save_package(files, package, {.directory = temp.path() / "nowhere"}).error().kind,
            ErrorKind::NotFound);
  EXPECT_EQ(save_package(files, package, {.directory = temp.path()}).value_or({}).path,
            temp.path() / "shop-1.4.0");
}

// Nothing of an address may lead to another directory.
TEST_F(SavePackage, APathInGitIsNamedByItsLastSegment) {
  const registry::PackageContent tree(registry::PackageTree{{{"a.yaml", "a: 1\n"}}});
  const auto name = [&](std::string_view reference) {
    const auto saved = save_package(files, fetched(tree, reference), {.directory = temp.path()});
    return saved.ok() ? saved->path.filename().string() : saved.error().to_line();
  };
  const std::string version = registry::digest_of(tree).hex().substr(0, 12);
  EXPECT_EQ(name("git+https://git.example/team/shop.git"), "shop-" + version);
  EXPECT_EQ(name("git+https://git.example/team/platform//apps/web?ref=main"), "web-" + version);
}

}  // namespace
}  // namespace mist::action
