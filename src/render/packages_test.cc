#include "render/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::render {
namespace {

using ::testing::HasSubstr;

class PackagesOfThisMachine : public ::testing::Test {
 protected:
  PackagesOfThisMachine() {
    paths.home = dir.path() / "home";
    paths.config_file = paths.home / "config.yaml";
    paths.state = paths.home / "state";
    paths.cache = paths.home / "cache";
  }
  std::string add(const std::string& name, std::string_view dependencies) {
    const Path at = dir.path() / name;
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
    Packages packages({.registries = {files, processes, events, paths, clock},
                       .transport = {},
                       .engines = {},
                       .is_unpacked = is_unpacked});
    return packages.fetch(reference, {}, Context());
  }

  testing::TempDir dir;
  HostFileSystem files;
  HostProcessRunner processes;
  testing::RecordedEvents events;
  config::Paths paths;
  SystemClock clock;
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

}  // namespace
}  // namespace mist::render
