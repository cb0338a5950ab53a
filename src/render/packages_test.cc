#include "render/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "registry/address_copies.h"
#include "registry/oci_fixture.h"
#include "testing/home_fixture.h"

namespace mist::render {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class PackagesOfThisMachine : public testing::HomeFixture {
 protected:
  std::string add(const std::string& name, std::string_view dependencies) {
    const Path at = temp.path() / name;
    EXPECT_TRUE(files.make_directories(at, 0700).ok());
    EXPECT_TRUE(
        files
            .write(at / package::kPackageFile,
                   fmt::format("apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {{name: {}}}\n"
                               "spec: {{version: 1.0.0, dependencies: {}}}\n",
                               name, dependencies))
            .ok());
    return at.string();
  }
  Result<package::Source> fetch(const std::string& reference, bool is_unpacked) {
    registry::Registries::Dependencies registries{files, processes, events, paths, clock};
    registries.is_unpacked = is_unpacked;
    Packages packages({.registries = std::move(registries), .transport = {}, .engines = {}});
    return packages.fetch(reference, {}, Context());
  }
};

TEST_F(PackagesOfThisMachine, ThoseOfSomebodyElseNameNoPaths) {
  const std::string lib = add("lib", "[]");
  for (const std::string& wanted : {std::string("../lib"), lib}) {
    const std::string web = add("web", fmt::format("[{{name: lib, package: {}}}]", wanted));
    const auto own = fetch(web, false);
    ASSERT_TRUE(own.ok()) << own.error().to_line();
    EXPECT_TRUE(own->dependencies.contains("lib"));
    const auto unpacked = fetch(web, true);
    ASSERT_FALSE(unpacked.ok()) << wanted;
    EXPECT_EQ(unpacked.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(unpacked.error().message, HasSubstr(fmt::format("declares the path {}", wanted)));
  }
}

// As in the next Pod of an operator, which never used that version.
TEST_F(PackagesOfThisMachine, AVersionOfOtherBytesThanTheReleaseRunsIsRefusedAndNotRemembered) {
  const auto put = [&](const Path& path, std::string_view text) {
    ASSERT_TRUE(files.make_directories((temp.path() / path).parent_path(), 0700).ok());
    ASSERT_TRUE(files.write(temp.path() / path, text).ok());
  };
  put("home/config.yaml",
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  registries:\n  - name: team\n"
      "    remotes: [{name: default, directory: {path: ../team}}]\n");
  const auto push = [&](std::string_view remark) {
    put(Path("team/packages/shop/1.0.0") / package::kPackageFile,
        fmt::format("# {}\napiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {{name: shop}}\n"
                    "spec: {{version: 1.0.0}}\n",
                    remark));
  };
  release::PackageInfo deployed;
  deployed.reference = "team/shop:1.0.0";
  const auto fetch_now = [&](const release::PackageInfo* of_release,
                             const std::string& reference = "team/shop:1.0.0") {
    Packages packages({.registries = {files, processes, events, paths, clock},
                       .transport = {},
                       .engines = {},
                       .deployed = of_release});
    return packages.fetch(reference, {}, Context());
  };
  push("right");
  const auto first = fetch_now(nullptr);
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  deployed.digest = first->digest;
  EXPECT_TRUE(fetch_now(&deployed).ok());
  ASSERT_TRUE(files.remove_all(paths.state).ok());

  push("wrong");
  const auto moved = fetch_now(&deployed);
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(moved.error().to_line(), HasSubstr("isn't what it was when it was deployed"));
  push("right");
  const auto again = fetch_now(&deployed);
  EXPECT_TRUE(again.ok()) << again.error().to_line();

  // Another release was the first to use it here.
  ASSERT_TRUE(files.remove_all(paths.state).ok());
  push("wrong");
  ASSERT_TRUE(fetch_now(nullptr).ok());
  EXPECT_FALSE(fetch_now(&deployed).ok());

  // Or this one was, and its bytes were repaired since: they are taken as the hint says.
  ASSERT_TRUE(files.remove_all(paths.state).ok());
  push("right");
  ASSERT_TRUE(fetch_now(&deployed).ok());
  push("repaired");
  const auto refused = fetch_now(&deployed);
  ASSERT_FALSE(refused.ok());
  const std::string& hint = refused.error().hint;
  ASSERT_THAT(hint, HasSubstr("team/shop:1.0.0@sha256:"));
  const auto named = fetch_now(&deployed, hint.substr(hint.rfind(' ') + 1));
  ASSERT_TRUE(named.ok()) << named.error().to_line();
  EXPECT_NE(named->digest, deployed.digest);
}

// Another machine recorded what git gave; here a mirror states the same commit.
TEST_F(PackagesOfThisMachine, ACommitOfOtherBytesThanTheReleaseWasMadeFromIsRefused) {
  registry::testing::MemoryRegistry mirror;
  ASSERT_TRUE(files.make_directories(paths.home, 0700).ok());
  ASSERT_TRUE(files
                  .write(paths.config_file,
                         "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  mirrors:\n"
                         "  - {prefix: git.example, places: ['oci://mirror.example/copies'], only: true}\n")
                  .ok());
  const std::string commit(40, 'a');
  const auto publish = [&](std::string remark) {
    const registry::PackageContent content(registry::PackageTree{{{"map.yaml", std::move(remark)}}});
    const auto copy =
        registry::copy_of_package(*registry::AddressName::of("https://git.example/team.git", "deploy"),
                                  {registry::tag_of_ref(registry::CopyOf::Package, commit),
                                   registry::tag_of_ref(registry::CopyOf::Package, "main")},
                                  content, {.commit = commit});
    ASSERT_TRUE(copy.ok());
    for (const std::string& tag : copy->tags) mirror.publish(tag, copy->artifact);
  };
  release::PackageInfo recorded;
  recorded.engine = "yaml";
  const auto fetch_recorded = [&](const std::string& ref) {
    recorded.reference = "git+https://git.example/team.git//deploy?ref=" + ref;
    Packages packages({.registries = registries_on(mirror.web), .transport = {}, .engines = {}});
    return packages.fetch_recorded(recorded, recorded.engine, Context());
  };
  publish("# right\n");
  recorded.digest =
      registry::digest_of(registry::PackageContent(registry::PackageTree{{{"map.yaml", "# right\n"}}})).str();
  const auto right = fetch_recorded(commit);
  ASSERT_TRUE(right.ok()) << right.error().to_line();
  EXPECT_EQ(right->reference, recorded.reference);
  EXPECT_TRUE(events.messages.empty()) << "the record proves it: " << events.messages.front();
  publish("# evil\n");
  for (const char* const engine : {"yaml", "kustomize"}) {
    recorded.engine = engine;
    const auto evil = fetch_recorded(commit);
    ASSERT_FALSE(evil.ok()) << engine;
    EXPECT_EQ(evil.error().kind, ErrorKind::Conflict);
    EXPECT_THAT(evil.error().to_line(), HasSubstr("is not what the release was made from"));
    EXPECT_THAT(evil.error().because, HasSubstr(recorded.digest));
  }
  // A branch may have other content every day.
  recorded.engine = "yaml";
  const auto branch = fetch_recorded("main");
  EXPECT_TRUE(branch.ok()) << branch.error().to_line();
}

TEST_F(PackagesOfThisMachine, AKustomizationOfSomebodyElseReadsNothingAroundIt) {
  const auto put = [&](const Path& path, std::string_view text) {
    ASSERT_TRUE(files.make_directories((temp.path() / path).parent_path(), 0700).ok());
    ASSERT_TRUE(files.write(temp.path() / path, text).ok());
  };
  put("lib/kustomization.yaml", "resources: [secret.yaml]\n");
  put("lib/secret.yaml", "kind: Secret\n");
  put("charts/db/Chart.yaml", "name: db\n");
  put("web/kustomization.yaml",
      "resources: [../lib]\nhelmGlobals: {chartHome: ../charts}\nhelmCharts: [{name: db}]\n");
  const auto names = [&](bool is_unpacked) {
    std::set<std::string> found;
    const auto source = fetch((temp.path() / "web").string(), is_unpacked);
    if (!source.ok()) return std::set{source.error().to_line()};
    for (const auto& [path, text] : std::get<package::Files>(source->content)) found.insert(path);
    return found;
  };
  EXPECT_THAT(names(false), IsSupersetOf({"lib/secret.yaml", "charts/db/Chart.yaml"}));
  EXPECT_THAT(names(true), ElementsAre("kustomization.yaml"));
}

}  // namespace
}  // namespace mist::render
