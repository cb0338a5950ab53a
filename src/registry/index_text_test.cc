#include "registry/index_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(IndexText, ListsPackagesWithTheirVersions) {
  const PackageIndex index = packages_in(
      R"({"apiVersion":"mistletoe.dev/v1alpha1","kind":"PackageIndex"}
{"path":"etcd","version":"1.2.0","digest":"sha256:2","versions":["1.2.0","1.0.0"]}
{"path":"databases/mariadb","version":"0.2.0","versions":["0.2.0","0.1.0"]}
{"path":"../etc/passwd","version":"1.0.0"}
not JSON
)");
  EXPECT_THAT(index.packages(), ElementsAre(Pair("databases/mariadb", ElementsAre("0.1.0", "0.2.0")),
                                            Pair("etcd", ElementsAre("1.0.0", "1.2.0"))));
  EXPECT_EQ(
      index.find({.registry = "r", .path = "etcd", .version = "1.2.0", .digest = {}})->entries.front().object,
      "sha256:2");
}

TEST(IndexText, ListsChartsWithTheirVersions) {
  const auto charts = ChartIndex::parse(
      "apiVersion: v1\nentries:\n  db:\n  - {version: 1.2.0, urls: [db-1.2.0.tgz], digest: abc}\n"
      "  - {version: 1.0.0, urls: [db-1.0.0.tgz]}\n",
      {.url = "https://charts.example"});
  ASSERT_TRUE(charts.ok()) << charts.error().to_line();
  EXPECT_THAT(packages_in(*charts).packages(), ElementsAre(Pair("db", ElementsAre("1.0.0", "1.2.0"))));
}

}  // namespace
}  // namespace mist::registry
