#include "kpm/k3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::kpm {
namespace {

// The example of KPM's document.
constexpr std::string_view kPonycorn = R"(name: ponycorn
home: http://github.com/technosophos/ponycorn
version: 1.0.3
description: The ponycorn server
maintainers:
  - Matt Butcher <mbutcher@deis.com>
  - name: Ann
    email: ann@example.com
dependencies:
  - name: nginx
    version: 1.9 < x <= 1.10
details:
  This package provides the ponycorn server, which requires an existing nginx
  server to function correctly.
)";

TEST(K3, ReadsTheExampleOfTheDocument) {
  const auto k3 = parse_k3(kPonycorn, "K3.yaml");
  ASSERT_TRUE(k3.ok()) << k3.error().to_line();
  EXPECT_EQ(k3->full_name(), "ponycorn-1.0.3");
  EXPECT_EQ(k3->maintainers,
            (std::vector<std::string>{"Matt Butcher <mbutcher@deis.com>", "Ann <ann@example.com>"}));
  ASSERT_EQ(k3->dependencies.size(), 1U);
  EXPECT_EQ(k3->dependencies[0].range.text(), "1.9 < x <= 1.10");
  EXPECT_TRUE(k3->dependencies[0].range.contains(*encoding::SemVer::parse("1.10.0")));
  EXPECT_FALSE(k3->dependencies[0].range.contains(*encoding::SemVer::parse("1.9.0")));
}

TEST(K3, IsWrittenSoThatItIsReadAsTheSame) {
  for (const std::string& text :
       {std::string(kPonycorn),
        std::string("{name: a, version: 1.0.0, description: 'on: # {x}', details: \"a\\nb\"}"),
        std::string(
            "{name: a, version: 1.0.0-rc.1, dependencies: [{name: b, repo: 'https://example.com'}]}")}) {
    const auto k3 = parse_k3(text, "K3.yaml");
    ASSERT_TRUE(k3.ok()) << k3.error().to_line();
    const auto again = parse_k3(k3_text(*k3), "K3.yaml");
    ASSERT_TRUE(again.ok()) << again.error().to_line() << k3_text(*k3);
    EXPECT_EQ(again->full_name(), k3->full_name());
    EXPECT_EQ(again->description, k3->description);
    EXPECT_EQ(again->details, k3->details);
    EXPECT_EQ(again->maintainers, k3->maintainers);
    ASSERT_EQ(again->dependencies.size(), k3->dependencies.size());
    for (std::size_t i = 0; i < k3->dependencies.size(); ++i) {
      EXPECT_EQ(again->dependencies[i].name, k3->dependencies[i].name);
      EXPECT_EQ(again->dependencies[i].range.text(), k3->dependencies[i].range.text());
      EXPECT_EQ(again->dependencies[i].repo, k3->dependencies[i].repo);
    }
    EXPECT_EQ(k3_text(*again), k3_text(*k3));
  }
}

TEST(K3, AReleaseIsPreferredToEveryPrerelease) {
  const auto is_preferred_to = [](std::string_view one, std::string_view other) {
    return is_preferred(*encoding::SemVer::parse(one), *encoding::SemVer::parse(other));
  };
  EXPECT_TRUE(is_preferred_to("1.2.0", "2.0.0-rc.1"));
  EXPECT_FALSE(is_preferred_to("2.0.0-rc.1", "1.2.0"));
  EXPECT_TRUE(is_preferred_to("1.10.0", "1.9.0"));
  EXPECT_TRUE(is_preferred_to("2.0.0-rc.2", "2.0.0-rc.1"));
  EXPECT_FALSE(is_preferred_to("1.0.0", "1.0.0"));
}

struct Wrong {
  std::string_view text;
  std::uint32_t line;
  std::string_view message, hint;
};

class WrongK3 : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongK3, IsRefusedWithItsLine) {
  const auto k3 = parse_k3(GetParam().text, "K3.yaml");
  ASSERT_FALSE(k3.ok());
  EXPECT_NE(k3.error().message.find(GetParam().message), std::string::npos) << k3.error().message;
  EXPECT_NE(k3.error().hint.find(GetParam().hint), std::string::npos) << k3.error().hint;
  ASSERT_TRUE(k3.error().where);
  EXPECT_EQ(k3.error().where->file, "K3.yaml");
  EXPECT_EQ(k3.error().where->line, GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongK3,
    ::testing::Values(
        Wrong{"name: a\nversion: v1.0.3\n", 2, "not a SemVer 2 version", "1.0.3, without the v"},
        Wrong{"name: a\nversion: 1.0\n", 2, "must be text", "quotes"},
        Wrong{"name: a\nversion: 1.0.0\ndescripton: x\n", 3, "no member descripton", "description?"},
        Wrong{"version: 1.0.0\n", 1, "name is missing", ""},
        Wrong{"name: ../a\nversion: 1.0.0\n", 1, "lower case", ""},
        Wrong{"name: a\nversion: 1.0.0\ndependencies:\n  - name: b\n    version: 1.9 << 2\n", 5, "",
              "1.9 < x <= 1.10"}));

// An author fixes all of them at once.
TEST(K3, EveryFaultIsNamedWithItsPlace) {
  constexpr std::string_view kText =
      "name: Bad_Name\nversion: v1.0\nhom: x\ndescription: 1\nmaintainers: [{email: a@b}, 2]\n"
      "dependencies:\n  - {name: b, version: 1 <}\n  - {name: c, form: d}\nvalues: []\n";
  const std::vector<Error> faults = k3_faults(kText, "K3.yaml");
  std::vector<std::string> lines;
  for (const Error& each : faults) lines.push_back(each.to_line());
  EXPECT_THAT(
      lines, ::testing::ElementsAre(
                 "K3.yaml:1:7: the name must be lower case letters, digits and '-'",
                 "K3.yaml:2:10: v1.0 is not a SemVer 2 version, such as 1.0.3 or 2.2.0-beta3",
                 "K3.yaml:3:6: there is no member hom", "K3.yaml:4:14: description must be text, not integer",
                 "K3.yaml:5:15: name is missing",
                 "K3.yaml:5:29: a maintainer is text, or an object with name and email",
                 ::testing::StartsWith("K3.yaml:7:24: a version must follow \"<\""),
                 "K3.yaml:8:21: there is no member form", "K3.yaml:9:9: values must be an object"));
  EXPECT_EQ(faults[1].hint, "write 1.0.0, without the v");
  EXPECT_EQ(faults[2].hint, "did you mean home?");

  const auto k3 = parse_k3(kText, "K3.yaml");
  ASSERT_FALSE(k3.ok());
  EXPECT_EQ(k3.error().message, "K3.yaml has 9 faults");
  EXPECT_EQ(k3.error().where->line, 1U);
  EXPECT_THAT(k3.error().because,
              ::testing::HasSubstr("\nK3.yaml:3:6: there is no member hom; did you mean home?\n"));
  const auto* const detail = k3.error().detail<K3Faults>();
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(detail->all.size(), faults.size());
}

TEST(K3, VeryManyFaultsAreBounded) {
  std::string text = "name: a\nversion: 1.0.0\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("unknown{}: 1\n", i);
  EXPECT_EQ(k3_faults(text, "K3.yaml").size(), 100U);
  const auto k3 = parse_k3(text, "K3.yaml");
  ASSERT_FALSE(k3.ok());
  EXPECT_THAT(k3.error().because, ::testing::EndsWith("\nand 80 more"));
}

TEST(K3, HasNoFaultWhereItIsRead) { EXPECT_TRUE(k3_faults(kPonycorn, "K3.yaml").empty()); }

}  // namespace
}  // namespace mist::kpm
