#include "catalog/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "catalog/backup.h"
#include "catalog/catalog_database.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_store.h"
#include "package/installation_fault.h"
#include "registry/package_files.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kNoDigest(64, '0');
constexpr std::string_view kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n";

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest()
      : blobs_(files_, places_.blobs()),
        types_{package::KubeTypesDigest{36, kNoDigest}},
        engines_{package::EngineDigest{.name = "jinja", .sha256 = kNoDigest}} {
    paths_.home = dir_.path() / "home";
    paths_.config_file = paths_.home / "config.yaml";
    paths_.state = paths_.home / "state";
    paths_.cache = paths_.home / "cache";
    const auto database = *open_sqlite(places_.database());
    store_ = *open_store(database, clock_, random_);
    EXPECT_TRUE(account_store_in(database, clock_, random_)->add("ann", Role::Author, "").ok());
    EXPECT_TRUE(store_
                    ->add_project({.name = "etcd",
                                   .owner = "ann",
                                   .url = "https://git.example.com/etcd",
                                   .path = "",
                                   .webhook_secret = SecretString("s")})
                    .ok());
  }

  void submit(std::vector<registry::PackageFile> files) {
    const registry::PackageTree tree{std::move(files)};
    NewVersion made{.package = "etcd", .version = "1.0.0", .tag = "v1.0.0", .commit = std::string(40, 'a')};
    made.digest = blobs_.put(tree.encode())->str();
    ASSERT_TRUE(store_->submit(made).ok());
  }
  TrialWorld world() {
    package::RendererOptions engines;
    engines.engines = package::EngineStore(dir_.path() / "engines", engines_);
    return {.files = files_,
            .processes = processes_,
            .clock = clock_,
            .random = random_,
            .blobs = blobs_,
            .paths = paths_,
            .engines = std::move(engines),
            .types = package::TypeStore(dir_.path() / "schemas", types_),
            .connect = [](EventSink&) -> Result<std::unique_ptr<kube::Client>> {
              return error(ErrorKind::Retryable, "no cluster here");
            },
            .directory = dir_.path() / "work",
            .instance = "test"};
  }
  // Of the only version.
  void expect_untouched() {
    for (int i = 0; i < 2 * Store::kMostAttempts; ++i) {
      const auto worked = work_once(*store_, world(), {.holder = "w"}, events_, Context());
      ASSERT_FALSE(worked.ok());
      EXPECT_NE(worked.error().detail<package::InstallationFault>(), nullptr) << worked.error().to_line();
    }
    const auto version = store_->version("etcd", "1.0.0");
    ASSERT_TRUE(version.ok() && *version);
    EXPECT_EQ((*version)->state, VersionState::Queued);
    const auto job = store_->lease("another", std::chrono::seconds(30));
    ASSERT_TRUE(job.ok() && *job) << "it waits for another worker";
    EXPECT_EQ((*job)->attempt, 1);
  }

  mist::testing::TempDir dir_;
  DataPlaces places_{dir_.path()};
  HostFileSystem files_;
  HostProcessRunner processes_;
  SystemClock clock_;
  SystemRandom random_;
  mist::testing::RecordedEvents events_;
  config::Paths paths_;
  std::unique_ptr<Store> store_;
  FileBlobs blobs_;
  std::array<package::KubeTypesDigest, 1> types_;
  std::array<package::EngineDigest, 1> engines_;
};

TEST_F(WorkerTest, AnInstallationWithoutSchemasBlamesNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  expect_untouched();
}

TEST_F(WorkerTest, AnInstallationWithoutItsEnginesBlamesNoPackage) {
  submit({{"K3.yaml", "name: etcd\nversion: 1.0.0\n"}, {"manifests/a.yaml.j2", std::string(kMap)}});
  expect_untouched();
}

}  // namespace
}  // namespace mist::catalog
