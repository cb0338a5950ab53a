#include "action/authoring/build_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/local_fault.h"
#include "base/text.h"
#include "encoding/gzip.h"
#include "encoding/tar.h"
#include "package/installation_fault.h"
#include "registry/oci_fixture.h"
#include "testing/home_fixture.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BuildIndex : public mist::testing::HomeFixture {
 protected:
  BuildIndex() {
    remote_.away = true;
    write("web/1.0.0/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
  }
  void write(std::string_view below, std::string_view text) {
    ASSERT_TRUE(files.write(temp.path() / "registry/packages" / below, text).ok());
  }
  render::Packages packages() {
    return render::Packages({.registries = registries_on(remote_.web), .transport = {}, .engines = {}});
  }
  // By a program without any engine.
  Result<BuiltIndex> build(const std::vector<search::Entry>& before = {}) {
    render::Packages packages = this->packages();
    package::Renderer renderer({}, events);
    return index_directory({files, events, packages, renderer}, temp.path() / "registry", before, Context());
  }
  // Of the registry in memory, which has one repository, whatever it is called.
  Result<BuiltIndex> build_oci(std::vector<std::string> names) {
    render::Packages packages = this->packages();
    package::Renderer renderer({}, events);
    registry::OciClient client = remote_.client();
    return index_oci({files, events, packages, renderer}, client, "oci://reg.example/team", std::move(names),
                     {}, Context());
  }
  crypto::Digest publish(const std::string& tag, std::string_view kind) {
    remote_.away = false;
    const std::string text = fmt::format("apiVersion: v1\nkind: {}\nmetadata: {{name: web}}\n", kind);
    const std::vector<encoding::TarFile> content{{"web.yaml", text}};
    return remote_.publish(tag, oci::tree_artifact(*encoding::gzip(encoding::write_tar(content)), {}));
  }
  Status fetch(std::string_view reference) {
    const auto fetched = packages().fetch(reference, {}, Context());
    return fetched ? Status() : Status(fetched.error());
  }

  registry::testing::MemoryRegistry remote_;
};

TEST_F(BuildIndex, LeavesOutWhatIsWrongItself) {
  write("job/1.0.0/job.yaml", "a: b\n");
  write("job/1.0.0/mistletoe.yaml", "kind: [\n");
  const auto built = build();
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  ASSERT_EQ(built->entries.size(), 1U);
  EXPECT_EQ(built->entries[0].path, "web");
  EXPECT_THAT(built->left_out, ElementsAre(HasSubstr("job: ")));
}

// Else readers would refuse the whole index because of it.
TEST_F(BuildIndex, TextsThatAreTooLongAreCut) {
  write("job/1.0.0/job.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: job}\n");
  write("job/1.0.0/mistletoe.yaml",
        fmt::format("apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {{name: job}}\n"
                    "spec: {{version: 1.0.0, description: {}}}\n",
                    std::string(10'000, 'a')));
  const auto built = build();
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  ASSERT_EQ(built->entries.size(), 2U) << join(built->left_out, "\n");
  EXPECT_EQ(built->entries[0].path, "job");
  EXPECT_LE(built->entries[0].description.size(), 4096U);
  EXPECT_FALSE(built->entries[0].description.empty());
}

// Else each chart of a registry would be missing in its index, which looks like any other.
TEST_F(BuildIndex, AFaultOfThisMachineIsNoIndex) {
  write("chart/1.0.0/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
  const auto built = build();
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().detail<package::InstallationFault>(), nullptr) << built.error().to_line();
}

// Else one package, whose author may well want that, would keep a whole registry without a new index.
TEST_F(BuildIndex, AServerThatAPackageNamesMayBeAway) {
  const auto add = [&](const std::string& version, std::string_view dependencies) {
    write("web/" + version + "/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
    write("web/" + version + "/mistletoe.yaml",
          fmt::format("apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {{name: web}}\n"
                      "spec: {{version: {}, dependencies: {}}}\n",
                      version, dependencies));
  };
  add("1.1.0", "[]");
  const auto first = build();
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  ASSERT_EQ(first->entries.size(), 1U);
  add("2.0.0", "[{name: db, package: 'oci://elsewhere.example/db', version: ^1}]");
  const auto kept = build(first->entries);
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  ASSERT_EQ(kept->entries.size(), 1U);
  EXPECT_EQ(kept->entries[0].version, "1.1.0");
  EXPECT_THAT(kept->entries[0].versions, ElementsAre("2.0.0", "1.1.0", "1.0.0"));
  EXPECT_TRUE(events.has("as in the earlier index: web: "));
  EXPECT_THAT(kept->left_out, ElementsAre());
  const auto without = build();
  ASSERT_TRUE(without.ok()) << without.error().to_line();
  EXPECT_THAT(without->left_out, ElementsAre(HasSubstr("web: ")));
}

TEST_F(BuildIndex, WhatAPackageNamesMayBeOtherThanThisMachineRemembers) {
  const auto first = build();
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  publish("1.0.0", "ConfigMap");
  ASSERT_TRUE(fetch("oci://reg.example/team/db:1.0.0").ok());
  publish("1.0.0", "Secret");
  write("web/2.0.0/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
  write("web/2.0.0/mistletoe.yaml",
        "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: web}\nspec: {version: 2.0.0, "
        "dependencies: [{name: db, package: 'oci://reg.example/team/db', version: ^1}]}\n");
  const auto kept = build(first->entries);
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  ASSERT_EQ(kept->entries.size(), 1U);
  EXPECT_EQ(kept->entries[0].version, "1.0.0");
  EXPECT_TRUE(events.has("as in the earlier index: web: "));
}

// The index has the bytes that the registry has now, whatever this machine used before.
TEST_F(BuildIndex, AVersionThatWasPublishedAgainIsReadByItsDigest) {
  publish("1.0.0", "ConfigMap");
  ASSERT_TRUE(fetch("oci://reg.example/team/web:1.0.0").ok());
  const crypto::Digest now = publish("1.0.0", "Secret");
  ASSERT_EQ(fetch("oci://reg.example/team/web:1.0.0").error().kind, ErrorKind::Conflict);
  const auto built = build_oci({"web"});
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  ASSERT_EQ(built->entries.size(), 1U);
  EXPECT_EQ(built->entries[0].digest, now.str());
  EXPECT_THAT(built->entries[0].kinds, ElementsAre("Secret"));
}

TEST_F(BuildIndex, ARepositoryThatIsListedMayHaveNothing) {
  publish("1.0.0", "ConfigMap");
  remote_.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("/v2/_catalog") != std::string::npos)
      return http::Response{
          .status = 200, .headers = {}, .body = R"({"repositories":["team/empty","team/web"]})"};
    if (request.url.find("/team/empty/") != std::string::npos)
      return http::Response{.status = 404, .headers = {}, .body = R"({"errors":[{"code":"NAME_UNKNOWN"}]})"};
    return std::nullopt;
  };
  const auto built = build_oci({});
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  ASSERT_EQ(built->entries.size(), 1U);
  EXPECT_EQ(built->entries[0].path, "web");
  EXPECT_THAT(built->left_out, ElementsAre(HasSubstr("empty: ")));
  EXPECT_EQ(build_oci({"empty"}).error().kind, ErrorKind::NotFound);
}

TEST_F(BuildIndex, ATrustPolicyThatCannotBeReadIsNoIndex) {
  publish("1.0.0", "ConfigMap");
  ASSERT_TRUE(files.write(paths.trust_policy(), "kind: TrustPolice\n").ok());
  const auto built = build_oci({"web"});
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().detail<LocalFault>(), nullptr) << built.error().to_line();
}

}  // namespace
}  // namespace mist::action
