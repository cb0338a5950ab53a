#include "cli/output/progress_tree.h"

#include <gtest/gtest.h>

namespace mist::cli {
namespace {

using namespace std::chrono_literals;

const SteadyTime kStart{std::chrono::hours(1)};

struct Tree : ::testing::Test {
  void plan(const std::vector<std::pair<std::string, std::string>>& objects) {
    PlanAnnounced event{.operation = "upgrade", .ns = "shop", .release = "web", .revision = 1};
    for (const auto& [object, action] : objects)
      event.objects.push_back({.object = object, .action = action});
    tree.planned(event, kStart);
  }
  void now(const std::string& object, const std::string& state, const std::string& detail = {}) {
    tree.object({object, state, detail}, kStart + 1s);
  }
  std::string draw(int rows, int columns = 60, std::string_view spinner = "*", bool color = false) {
    std::string text;
    for (const DrawnLine& line : tree.draw(
             {.columns = columns, .rows = rows, .now = kStart + 4s, .spinner = spinner, .color = color}))
      text += line.text + "\n";
    return text;
  }
  ProgressTree tree;
};

TEST_F(Tree, GroupsByKindAndNamespace) {
  plan({{"Namespace shop", "create"},
        {"ConfigMap shop/a", "create"},
        {"ConfigMap other/a", "create"},
        {"ConfigMap shop/bb", "update"}});
  now("Namespace shop", "created");
  now("ConfigMap shop/a", "created");
  EXPECT_EQ(draw(20),
            "* upgrade shop/web  2 of 4 objects  4.0s\n"
            "✓ Namespace shop  created\n"
            "  ConfigMap shop\n"
            "✓   a   created\n"
            "·   bb  planned\n"
            "· ConfigMap other/a  planned\n");
}

TEST_F(Tree, WhatIsUnchangedIsOnlyCountedBesideWhatIsNot) {
  plan({{"ConfigMap a", "unchanged"},
        {"ConfigMap b", "unchanged"},
        {"Secret a", "unchanged"},
        {"ConfigMap c", "update"}});
  now("ConfigMap c", "configured");
  EXPECT_EQ(draw(20, 60, ""),
            "  ConfigMap  2 unchanged\n"
            "✓   c  configured\n");
}

TEST_F(Tree, WhatWaitsSaysHowLongAndWhy) {
  plan({{"Deployment shop/api", "create"}});
  now("Deployment shop/api", "waiting", "1 of 3 replicas are ready");
  EXPECT_EQ(draw(20, 80),
            "* upgrade shop/web  0 of 1 object  4.0s\n"
            "* Deployment shop/api  waiting: 1 of 3 replicas are ready  3.0s\n");
  EXPECT_EQ(draw(20, 40),
            "* upgrade shop/web  0 of 1 object  4.0s\n"
            "* Deploym…hop/api  waiting: 1 of…  3.0s\n");
}

TEST_F(Tree, LongNamesLeaveRoomForStates) {
  plan({{"Deployment a-namespace-of-some-team/an-api-with-a-long-name", "create"}});
  EXPECT_EQ(draw(20, 60),
            "* upgrade shop/web  0 of 1 object  4.0s\n"
            "· Deployment a-namespace-o…an-api-with-a-long-name  planned\n");
}

TEST_F(Tree, GivesWayFromWhatIsDoneToWhatIsPlanned) {
  std::vector<std::pair<std::string, std::string>> objects;
  for (int i = 0; i < 6; ++i) objects.emplace_back(fmt::format("ConfigMap c{}", i), "create");
  for (int i = 0; i < 6; ++i) objects.emplace_back(fmt::format("Job j{}", i), "create");
  plan(objects);
  for (int i = 0; i < 6; ++i) now(fmt::format("ConfigMap c{}", i), "created");
  now("Job j0", "waiting", "it runs");
  now("Job j1", "failed", "BackoffLimitExceeded");
  EXPECT_EQ(draw(14),
            "* upgrade shop/web  6 of 12 objects, 1 failed  4.0s\n"
            "✓ ConfigMap  6 created\n"
            "  Job\n"
            "✗   j1  failed: BackoffLimitExceeded\n"
            "*   j0  waiting: it runs  3.0s\n"
            "·   j2  planned\n"
            "·   j3  planned\n"
            "·   j4  planned\n"
            "·   j5  planned\n");
  EXPECT_EQ(draw(6),
            "* upgrade shop/web  6 of 12 objects, 1 failed  4.0s\n"
            "✓ ConfigMap  6 created\n"
            "  Job  4 planned\n"
            "✗   j1  failed: BackoffLimitExceeded\n"
            "*   j0  waiting: it runs  3.0s\n");
  EXPECT_EQ(draw(5),
            "* upgrade shop/web  6 of 12 objects, 1 failed  4.0s\n"
            "✓ ConfigMap  6 created\n"
            "  Job  4 planned\n"
            "✗   j1  failed: BackoffLimitExceeded\n"
            "*   j0  waiting: it runs  3.0s\n");
  EXPECT_EQ(draw(4),
            "* upgrade shop/web  6 of 12 objects, 1 failed  4.0s\n"
            "  Job  4 planned\n"
            "✗   j1  failed: BackoffLimitExceeded\n"
            "  … and 1 waiting, 6 created\n");
}

TEST_F(Tree, WhatHasNoRoomIsToldByState) {
  std::vector<std::pair<std::string, std::string>> objects;
  for (int i = 0; i < 12; ++i) objects.emplace_back(fmt::format("Secret s{:02}", i), "create");
  for (int i = 0; i < 30; ++i) objects.emplace_back(fmt::format("ConfigMap c{}", i), "create");
  plan(objects);
  for (const auto& [object, action] : objects) now(object, object[0] == 'S' ? "failed" : "created", "no");
  EXPECT_EQ(draw(5, 60, ""),
            "  Secret\n"
            "✗   s00  failed: no\n"
            "✗   s01  failed: no\n"
            "✗   s02  failed: no\n"
            "  … and 9 more failed, 30 created\n");
}

TEST_F(Tree, WhatNobodyHeardOfIsNoFailureAndGivesWay) {
  std::vector<std::pair<std::string, std::string>> objects;
  for (int i = 0; i < 40; ++i) objects.emplace_back(fmt::format("ConfigMap c{:02}", i), "create");
  plan(objects);
  for (int i = 0; i < 30; ++i)
    now(objects[static_cast<std::size_t>(i)].first, i < 20 ? "created" : "unknown", "stopped on request");
  EXPECT_EQ(draw(10, 70),
            "* upgrade shop/web  20 of 40 objects  4.0s\n"
            "? ConfigMap  20 created, 10 unknown, 10 planned\n");
  for (int i = 30; i < 40; ++i) now(objects[static_cast<std::size_t>(i)].first, "created");
  EXPECT_EQ(draw(10, 70, ""), "? ConfigMap  30 created, 10 unknown\n");
  plan({{"Job a", "create"}});
  now("Job a", "unknown", "stopped on request");
  EXPECT_EQ(draw(10, 60, ""), "? Job a  unknown: stopped on request\n");
}

TEST_F(Tree, NeverTakesMoreRowsOrColumnsThanThereAre) {
  std::vector<std::pair<std::string, std::string>> objects;
  for (int i = 0; i < 1000; ++i)
    objects.emplace_back(fmt::format("Kind{} 名前空間{}/オブジェクト-{}", i % 7, i % 3, i), "create");
  plan(objects);
  for (int i = 0; i < 1000; ++i) {
    const char* states[] = {"created", "waiting", "failed", "planned"};
    now(objects[static_cast<std::size_t>(i)].first, states[i % 4], "詳細 detail");
  }
  for (const int rows : {1, 2, 3, 10, 40, 2000})
    for (const int columns : {1, 2, 5, 20, 80}) {
      const auto lines =
          tree.draw({.columns = columns, .rows = rows, .now = kStart + 4s, .spinner = "⠋", .color = true});
      EXPECT_LE(lines.size(), static_cast<std::size_t>(rows));
      for (const DrawnLine& line : lines) EXPECT_LT(line.width, std::max(columns, 2)) << line.text;
    }
}

TEST_F(Tree, ANewPlanReplacesTheOld) {
  plan({{"Job a", "create"}});
  now("Job a", "failed");
  plan({{"Job b", "create"}});
  EXPECT_EQ(draw(10, 60, ""), "· Job b  planned\n");
}

TEST_F(Tree, ColorsStandAroundWords) {
  plan({{"Job a", "create"}});
  now("Job a", "failed", "\x1b[2J");
  EXPECT_EQ(draw(10, 60, "", true), "\x1b[1;31m✗\x1b[0m Job a  \x1b[1;31mfailed: \\x1b[2J\x1b[0m\n");
}

}  // namespace
}  // namespace mist::cli
