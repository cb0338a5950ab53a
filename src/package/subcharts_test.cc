#include "package/subcharts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::package {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kTwo = "dependencies: [{name: db}, {name: db-tools}, {name: db, alias: more}]";

TEST(Subcharts, AreMissingWithoutAFileThatCouldBeThem) {
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", kTwo}}), ElementsAre("db", "db-tools"));
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", "name: a"}}), IsEmpty());
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", "a: ["}}), IsEmpty());
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", "name: a"}, {"requirements.yaml", kTwo}}),
              ElementsAre("db", "db-tools"));
}

TEST(Subcharts, AreThereUnderTheirOwnName) {
  const Files files{{"Chart.yaml", kTwo},
                    {"charts/whatever/Chart.yaml", "name: db"},
                    {"charts/whatever/charts/x/Chart.yaml", "name: db-tools"}};
  EXPECT_THAT(missing_subcharts(files), ElementsAre("db-tools"));
}

TEST(Subcharts, MayBeInAnArchiveThatIsNobodyElses) {
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", kTwo}, {"charts/db-tools-1.0.0.tgz", ""}}), IsEmpty())
      << "it begins like the other's";
  EXPECT_THAT(
      missing_subcharts({{"Chart.yaml", "dependencies: [{name: a}, {name: b}]"}, {"charts/a-1.tgz", ""}}),
      ElementsAre("b"));
  EXPECT_THAT(missing_subcharts({{"Chart.yaml", kTwo}, {"charts/odd.tgz", ""}}), IsEmpty());
}

TEST(Subcharts, ThatAreMissingAreFetchedWhereTheChartIs) {
  EXPECT_EQ(lacks_subcharts("/a b/chart", {"db"}).hint, "mistctl dependency build '/a b/chart'");
  EXPECT_EQ(lacks_subcharts("git+https://h/r", {"db"}).hint.find("mistctl dependency build /"),
            std::string::npos);
}

}  // namespace
}  // namespace mist::package
