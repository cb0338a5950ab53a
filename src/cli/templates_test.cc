#include "cli/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "kpm/k3.h"

namespace mist::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Templates, EachInTheListIsThereAndComplete) {
  std::set<std::string_view> listed, embedded;
  for (const PackageTemplate& each : kPackageTemplates) listed.insert(each.name);
  for (const TemplateFile& file : template_files()) embedded.insert(file.package);
  EXPECT_EQ(listed, embedded);
  for (const std::string_view name : listed) {
    const auto files = instantiate(name, "shop");
    EXPECT_TRUE(files.contains("README.md")) << name;
    EXPECT_TRUE(files.contains("tests/default.yaml")) << name;
    EXPECT_TRUE(files.contains("tests/default.golden.yaml")) << name;
    EXPECT_THAT(files.at("README.md"), HasSubstr("mistctl package test")) << name;
  }
}

TEST(Templates, AreGivenTheNameEverywhere) {
  const auto files = instantiate("chart", "shop");
  EXPECT_THAT(files.at("Chart.yaml"), HasSubstr("\nname: shop\n"));
  EXPECT_TRUE(files.contains(".helmignore"));
  for (const PackageTemplate& each : kPackageTemplates) {
    for (const auto& [path, text] : instantiate(each.name, "shop")) {
      EXPECT_THAT(path, Not(HasSubstr(std::string(kTemplateName)))) << each.name;
      EXPECT_THAT(text, Not(HasSubstr(std::string(kTemplateName)))) << each.name << ": " << path;
    }
  }
}

TEST(Templates, AKubeHasItsNameWhereKpmReadsIt) {
  const auto files = instantiate("kube", "shop");
  const auto k3 = kpm::parse_k3(files.at(std::string(kpm::kMetadataFile)), "K3.yaml");
  ASSERT_TRUE(k3.ok()) << k3.error().to_line();
  EXPECT_EQ(k3->full_name(), "shop-0.1.0");
  EXPECT_NE(k3->description, "");
}

TEST(Templates, ABlueprintIsGivenItsNameKindAndGroupEverywhere) {
  EXPECT_EQ(kind_for("my-starter"), "MyStarter");
  EXPECT_EQ(kind_for("a-2-b"), "A2B");
  const auto files = instantiate_blueprint("my-starter", "acme.io");
  EXPECT_THAT(files.at("crd.yaml"), HasSubstr("\n  name: mystarters.acme.io\n"));
  EXPECT_THAT(files.at("crd.yaml"), HasSubstr("{kind: MyStarter, plural: mystarters}"));
  EXPECT_THAT(files.at("blueprint.ncl"),
              HasSubstr(R"(group = "acme.io", version = "v1", kind = "MyStarter")"));
  EXPECT_THAT(files.at("README.md"), HasSubstr("kubectl create configmap my-starter "));
  for (const auto& [path, text] : instantiate_blueprint("shop", "acme.io"))
    for (const std::string_view word : {"tarter", "example.com"})
      EXPECT_THAT(text, Not(HasSubstr(word))) << path;
  EXPECT_TRUE(files.contains("tests/default.golden.yaml"));
}

TEST(Templates, TheRustOneBringsTheSdk) {
  const auto files = instantiate("rust", "shop");
  EXPECT_TRUE(files.contains("mistletoe/Cargo.toml"));
  EXPECT_TRUE(files.contains("mistletoe/macros/src/lib.rs"));
  for (const auto& [path, text] : files) EXPECT_EQ(path.find("target/"), path.npos) << path;
}

}  // namespace
}  // namespace mist::cli
