#include "catalog/test_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/process_identity.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;

class TestClusterTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<TestCluster>> start(const std::string& command, const Context& context = Context()) {
    return TestCluster::start({.files = files_, .programs = processes_, .directory = clusters_}, command,
                              "catalog-test-1-1", context);
  }
  std::string read(const Path& file) { return files_.read(file).value_or(""); }

  testing::TempDir dir_;
  Path clusters_ = dir_.path() / "clusters";
  HostFileSystem files_;
  HostProcessRunner processes_;
};

TEST_F(TestClusterTest, IsThereUntilItIsGivenBack) {
  const Path config = dir_.path() / "config";
  const Path ended = dir_.path() / "ended";
  auto cluster = start(fmt::format("echo made >{0}; echo {0}; cat; echo $MISTLETOE_TEST >{1}",
                                   config.string(), ended.string()));
  ASSERT_TRUE(cluster.ok()) << cluster.error().to_line();
  EXPECT_EQ((*cluster)->kubeconfig(), config);
  EXPECT_FALSE(std::filesystem::exists(ended));
  cluster->reset();
  EXPECT_EQ(read(ended), "catalog-test-1-1\n");
  EXPECT_TRUE(std::filesystem::is_empty(clusters_));
}

TEST_F(TestClusterTest, MayWriteItsKubeconfigWhereItIsTold) {
  const auto cluster = start("echo made >$KUBECONFIG; echo ready; cat");
  ASSERT_TRUE(cluster.ok()) << cluster.error().to_line();
  EXPECT_EQ(read((*cluster)->kubeconfig()), "made\n");
}

TEST_F(TestClusterTest, SaysWhyThereIsNone) {
  const auto failed = start("echo 'no room for etcd' >&2; exit 3");
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("exit code 3"));
  EXPECT_THAT(failed.error().because, HasSubstr("no room for etcd"));
  const auto nothing = start("echo /nowhere; cat");
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().because, HasSubstr("/nowhere"));
  EXPECT_TRUE(std::filesystem::is_empty(clusters_));
}

TEST_F(TestClusterTest, IsNotWaitedForByAStoppedWorker) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = start("cat", Context(stop.get_token()));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
}

// In a child, which stands for a worker that is killed.
TEST_F(TestClusterTest, OfAKilledWorkerIsTakenAway) {
  const Path begun = dir_.path() / "begun";
  const Path ended = dir_.path() / "ended";
  const Path group = dir_.path() / "group";
  // The first sees the end of its input; the second is deaf, and the next worker ends it.
  for (const std::string& rest :
       {fmt::format("cat; touch {}", ended.string()), std::string("exec sleep 1000")}) {
    std::filesystem::remove(begun);
    const pid_t worker = ::fork();
    if (worker == 0) {
      const auto cluster =
          start(fmt::format("echo made >$KUBECONFIG; echo ready; echo $$ >{}; {}", group.string(), rest));
      std::ofstream(begun) << (cluster.ok() ? "begun" : "failed");
      for (;;) ::pause();
    }
    while (read(begun).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(read(begun), "begun");
    end_left_clusters(files_, clusters_);
    EXPECT_FALSE(std::filesystem::is_empty(clusters_)) << "its worker is alive";
    ::kill(worker, SIGKILL);
    ASSERT_EQ(::waitpid(worker, nullptr, 0), worker);
    if (rest.starts_with("cat"))
      while (!std::filesystem::exists(ended)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    end_left_clusters(files_, clusters_);
    EXPECT_TRUE(std::filesystem::is_empty(clusters_));
    const pid_t command = std::stoi(read(group));
    while (::kill(command, 0) == 0 && !std::filesystem::exists(fmt::format("/proc/{}/x", command))) {
      // A zombie of somebody else's counts as ended.
      const std::string stat = read(fmt::format("/proc/{}/stat", command));
      if (stat.empty() || stat.find(") Z") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace
}  // namespace mist::catalog
