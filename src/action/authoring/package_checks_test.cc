#include "action/authoring/package_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/event.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct PackageChecksTest : ::testing::Test {
  Result<std::string> run(const package::Files& content) {
    PackageCases cases;
    cases.source.reference = "./web";
    cases.source.name = "web";
    cases.source.content = content;
    cases.folder = directory.path() / "tests";
    lines.clear();
    return run_package_check(files, renderer, cases, types, package_checks(types).front(),
                             [this](const package::Finding& each) { lines.push_back(finding_line(each)); },
                             {});
  }

  testing::TempDir directory;
  HostFileSystem files;
  NullEventSink events;
  package::Renderer renderer{{}, events};
  package::TypeStore types;
  std::vector<std::string> lines;
};

TEST_F(PackageChecksTest, EachMinorIsACheckOfItsOwn) {
  const auto names = [](const package::TypeStore& store) {
    std::vector<std::string> found;
    for (const PackageCheck& each : package_checks(store))
      found.push_back(fmt::format("{} {}", each.name, each.kube_version));
    return found;
  };
  EXPECT_THAT(names({}), ElementsAre("lint "));
  const std::array digests{package::KubeTypesDigest{36, {}}, package::KubeTypesDigest{37, {}}};
  EXPECT_THAT(names(package::TypeStore(directory.path(), digests)),
              ElementsAre("lint ", "Kubernetes 1.36 v1.36.0", "Kubernetes 1.37 v1.37.0"));
}

TEST_F(PackageChecksTest, RemarksAreToldAndPass) {
  const auto done = run({{"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}});
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(*done, fmt::format("{} remarks", lines.size()));
  EXPECT_THAT(lines, Contains(HasSubstr("info there are no test cases")));
}

TEST_F(PackageChecksTest, TheFirstErrorIsItsResultAndAllAreTold) {
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  const auto done = run({{"a.yaml", map}, {"b.yaml", map}});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(done.error().message, HasSubstr("b.yaml:3: ConfigMap default/a is there twice"));
  EXPECT_THAT(lines, Contains(fmt::format("error {} (object)", done.error().message)));
  EXPECT_THAT(lines, Contains(HasSubstr("info there are no test cases")));
}

}  // namespace
}  // namespace mist::action
