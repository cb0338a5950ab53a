#include "registry/chart_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

// Chart.yaml and Chart.lock as `helm dependency update` of Helm 4.3.1 left them.
constexpr std::string_view kChart = R"(apiVersion: v2
name: app
version: 0.1.0
dependencies:
- name: common
  version: ">=1.0 <2"
  repository: file://../common
  alias: base
  condition: base.enabled,other.on
  tags: [front, "<b>&x"]
  import-values:
  - data
  - child: z
    parent: a
- name: common
  version: ^1
  repository: file://../common
)";
constexpr std::string_view kLock = R"(dependencies:
- name: common
  repository: file://../common
  version: 1.4.2
- name: common
  repository: file://../common
  version: 1.4.2
digest: sha256:62692e179392ebd48d48652b5c9a997fcd225fdf14cd430b22956e25873c5aa7
generated: "2026-11-25T09:59:09.823499788Z"
)";

ChartManifest manifest(std::string_view text = kChart, std::optional<std::string> requirements = {}) {
  auto read = read_chart_manifest(text, requirements, "./app");
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().to_line());
  return read.ok() ? *read : ChartManifest{};
}

std::string refusal(std::string_view text) {
  const auto read = read_chart_manifest(text, std::nullopt, "./app");
  EXPECT_FALSE(read.ok());
  return read.ok() ? "" : read.error().to_line();
}

TEST(ChartLock, HasHelmsDigestAndText) {
  const ChartManifest chart = manifest();
  const ChartDependency locked{"common", "1.4.2", "file://../common"};
  ChartLock lock = lock_of(chart.dependencies, {locked, locked}, WallTime());
  lock.generated = "2026-11-25T09:59:09.823499788Z";
  EXPECT_EQ(lock.to_text(), kLock);
}

TEST(ChartLock, IsInStepWithWhatItWasMadeFor) {
  ChartManifest chart = manifest();
  const auto lock = ChartLock::parse(kLock, "Chart.lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(is_in_step(*lock, chart, chart.dependencies));
  chart.dependencies[1].version = "^1.0";
  EXPECT_FALSE(is_in_step(*lock, chart, chart.dependencies));
  ChartLock other = *lock;
  other.dependencies[0].version = "1.4.3";
  EXPECT_FALSE(is_in_step(other, manifest(), manifest().dependencies));
}

TEST(ChartManifest, OfTheOriginalFormatHasFilesOfItsOwn) {
  const ChartManifest chart =
      manifest("{name: a, version: 1.0.0}", "dependencies: [{name: b, version: 1.x, repository: '@r'}]");
  EXPECT_TRUE(chart.original);
  EXPECT_EQ(chart.lock_file(), "requirements.lock");
  ASSERT_EQ(chart.dependencies.size(), 1u);
  EXPECT_EQ(chart.dependencies[0].repository, "@r");
  EXPECT_EQ(manifest().lock_file(), "Chart.lock");
}

TEST(ChartManifest, RefusesWhatHelmRefuses) {
  constexpr std::string_view kHead = "{apiVersion: v2, name: a, version: 1.0.0, dependencies: ";
  const auto of = [&](std::string_view list) {
    return refusal(std::string(kHead) + std::string(list) + "}");
  };
  EXPECT_THAT(of("[{name: b, version: 1.2}]"), HasSubstr("version must be a text"));
  EXPECT_THAT(of("[{name: b}, {name: b}]"), HasSubstr("two dependencies have the name or alias b"));
  EXPECT_THAT(of("[{name: b}, {name: c, alias: b}]"), HasSubstr("two dependencies"));
  EXPECT_THAT(of("[{name: ../../etc}]"), HasSubstr("can't be the name"));
  EXPECT_THAT(of("[{version: '1'}]"), HasSubstr("no name"));
  EXPECT_THAT(of("[7]"), HasSubstr("must have members"));
  EXPECT_THAT(refusal("{apiVersion: v2, name: a}"), HasSubstr("version is missing"));
}

}  // namespace
}  // namespace mist::registry
