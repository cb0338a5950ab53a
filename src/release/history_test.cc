#include "release/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::release {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<RevisionSummary> numbered(int first, int last) {
  std::vector<RevisionSummary> revisions;
  for (int number = first; number <= last; ++number) {
    revisions.emplace_back();
    revisions.back().number = number;
  }
  return revisions;
}

TEST(SurplusRevisions, AreTheOldestBeyondTheLimit) {
  EXPECT_THAT(surplus_revisions(numbered(0, 4), {4}, 10), IsEmpty());
  EXPECT_THAT(surplus_revisions(numbered(0, 9), {9}, 10), IsEmpty());
  EXPECT_THAT(surplus_revisions(numbered(0, 10), {10}, 10), ElementsAre(0));
  EXPECT_THAT(surplus_revisions(numbered(3, 12), {12}, 4), ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST(SurplusRevisions, NeverHoldTheDeployedOneOrTheLastTwo) {
  EXPECT_THAT(surplus_revisions(numbered(0, 9), {0}, 3), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(surplus_revisions(numbered(0, 4), {4}, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(surplus_revisions(numbered(0, 4), {1, 4}, 1), ElementsAre(0, 2));
  EXPECT_THAT(surplus_revisions(numbered(0, 1), {}, 1), IsEmpty());
}

TEST(SurplusRevisions, ZeroKeepsAllAndOrderDoesNotMatter) {
  EXPECT_THAT(surplus_revisions(numbered(0, 50), {50}, 0), IsEmpty());
  auto revisions = numbered(0, 3);
  std::ranges::reverse(revisions);
  EXPECT_THAT(surplus_revisions(revisions, {3}, 2), ElementsAre(0, 1));
}

TEST(StatusIn, TellsTheDeployedOneFromTheSupersededAndTheUnfinished) {
  Head head{.latest = 3, .deployed = 2, .status = RevisionStatus::Failed};
  RevisionSummary revision;
  revision.status = RevisionStatus::Deployed;
  revision.number = 1;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Superseded);
  revision.number = 2;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Deployed);
  revision.number = 3;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Pending) << "the head was never moved to it";
  revision.status = RevisionStatus::Failed;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Failed);
  revision.status = RevisionStatus::Pending;
  head.latest = 3;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Pending);
  head.latest = 4;
  EXPECT_EQ(status_in(head, revision), RevisionStatus::Failed) << "its run died, and another took over";
}

}  // namespace
}  // namespace mist::release
