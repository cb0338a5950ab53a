#include "cli/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

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

TEST(Templates, TheRustOneBringsTheSdk) {
  const auto files = instantiate("rust", "shop");
  EXPECT_TRUE(files.contains("mistletoe/Cargo.toml"));
  EXPECT_TRUE(files.contains("mistletoe/macros/src/lib.rs"));
  for (const auto& [path, text] : files) EXPECT_EQ(path.find("target/"), path.npos) << path;
}

}  // namespace
}  // namespace mist::cli
