#include "catalog/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TrialsTest : public ::testing::Test {
 protected:
  Trials::RunPart run_part() {
    return [this](TrialPart part, const Job&, Duration, const TrialCluster& cluster, const TrialReport&,
                  const Context&) -> Result<bool> {
      parts_.push_back(part);
      clusters_.push_back(cluster.kubeconfig);
      was_there_ = files_.exists(cluster.kubeconfig);
      return passes_;
    };
  }
  Trials::StartCluster start_cluster(const std::string& command) {
    return [this, command](const Job&, const Context& context) {
      return TestCluster::start(
          {.files = files_, .programs = processes_, .directory = dir_.path() / "clusters"}, command, "a",
          context);
    };
  }
  Result<bool> run(Trials::Dependencies dependencies) {
    return Trials(std::move(dependencies)).run({}, {}, Context());
  }

  testing::TempDir dir_;
  HostFileSystem files_;
  HostProcessRunner processes_;
  SystemClock clock_;
  bool passes_ = true;
  bool was_there_ = false;
  std::vector<TrialPart> parts_;
  std::vector<std::string> clusters_;
};

TEST_F(TrialsTest, APackageThatFailsWithoutAClusterNeedsNone) {
  passes_ = false;
  bool is_started = false;
  const auto passed =
      run({.clock = clock_,
           .run_part = run_part(),
           .start_cluster = [&](const Job&, const Context&) -> Result<std::unique_ptr<TestCluster>> {
             is_started = true;
             return error(ErrorKind::Internal, "none");
           }});
  ASSERT_TRUE(passed.ok());
  EXPECT_FALSE(*passed);
  EXPECT_THAT(parts_, ElementsAre(TrialPart::Offline));
  EXPECT_FALSE(is_started);
}

TEST_F(TrialsTest, OnlyTheSecondPartKnowsTheCluster) {
  ASSERT_TRUE(*run({.clock = clock_, .run_part = run_part(), .shared = {.kubeconfig = "/k"}}));
  EXPECT_THAT(parts_, ElementsAre(TrialPart::Offline, TrialPart::OnCluster));
  EXPECT_THAT(clusters_, ElementsAre("", "/k"));
}

TEST_F(TrialsTest, AClusterOfItsOwnIsThereForTheSecondPartAndGoneAfterwards) {
  ASSERT_TRUE(*run({.clock = clock_,
                    .run_part = run_part(),
                    .start_cluster = start_cluster("echo made >$KUBECONFIG; echo ready; cat")}));
  EXPECT_TRUE(was_there_);
  EXPECT_FALSE(files_.exists(clusters_.back()));
}

TEST_F(TrialsTest, AClusterThatDoesNotStartBlamesNoPackage) {
  const auto passed =
      run({.clock = clock_, .run_part = run_part(), .start_cluster = start_cluster("exit 1")});
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<ClusterFault>(), nullptr);
  EXPECT_THAT(parts_, ElementsAre(TrialPart::Offline));
}

}  // namespace
}  // namespace mist::catalog
