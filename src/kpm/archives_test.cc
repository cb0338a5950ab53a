// Home over git repositories of this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/fs.h"
#include "kpm/home.h"
#include "registry/git_fixture.h"
#include "testing/temp_dir.h"

namespace mist::kpm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ArchivesTest : public ::testing::Test {
 protected:
  void put_kube(const std::string& name, const std::string& version) {
    const std::string directory = "packages/" + name + "/" + version;
    upstream.put(directory + "/K3.yaml", "name: " + name + "\nversion: " + version + "\n");
    upstream.put(directory + "/manifests/a.yaml", "kind: " + name + "\n");
  }
  void add(const std::string& name, const std::string& url) {
    const Status added = home.add_archive({.name = name, .url = url}, Context());
    ASSERT_TRUE(added.ok()) << added.error().to_line();
  }
  Status update(const std::string& name = "ours") {
    for (const Archive& each : home.archives().value_or({}))
      if (each.name == name) return home.update(each, Context());
    return error(ErrorKind::NotFound, "no such archive");
  }
  Catalog read() {
    auto catalog = home.catalog(Context());
    EXPECT_TRUE(catalog.ok()) << catalog.error().to_line();
    return std::move(catalog).value_or({});
  }
  Result<Kube> get(const std::string& wanted) {
    MIST_TRY(const Catalog catalog, home.catalog(Context()));
    MIST_TRY(const Listed listed, Home::choose(catalog, wanted));
    return home.get(listed, Context());
  }

  mist::testing::TempDir temp;
  registry::testing::Upstream upstream{temp.path() / "upstream"};
  HostFileSystem files;
  registry::testing::WatchedRunner runner;
  Home home{files, runner, [] { return std::unique_ptr<http::Transport>(); }, temp.path() / "home"};
};

TEST_F(ArchivesTest, OnlyAnUpdateTalksToTheServer) {
  upstream.allow_filters();
  put_kube("etcd", "1.0.0");
  upstream.put("README.md", "isn't fetched");
  upstream.commit();
  add("ours", upstream.url());
  ASSERT_TRUE(update().ok());
  std::filesystem::rename(upstream.path(), temp.path() / "away");
  const auto copy = get("etcd");
  ASSERT_TRUE(copy.ok()) << copy.error().to_line();
  EXPECT_EQ(*files.read(copy->directory / "manifests/a.yaml", 1000), "kind: etcd\n");
  EXPECT_FALSE(update().ok()) << "the server is away";
}

}  // namespace
}  // namespace mist::kpm
