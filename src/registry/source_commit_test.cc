#include "registry/source_commit.h"

#include <gtest/gtest.h>

#include "registry/git_fixture.h"

namespace mist::registry {
namespace {

PackageContent tree_of(std::vector<PackageFile> files) { return PackageTree{std::move(files)}; }

class SourceCommits : public ::testing::Test {
 protected:
  SourceCommits() : work(temp.path() / "work") {
    work.put("web/Chart.yaml", "name: web\n");
    work.put("web/templates/a.yaml", "a: 1\n");
    work.put("other.yaml", "b: 1\n");
    commit = work.commit();
  }

  std::optional<SourceCommit> found(const Path& source, const PackageContent& content) {
    auto result = source_commit(files, processes, source, content, Context());
    EXPECT_TRUE(result.ok()) << result.error().to_line();
    return std::move(result).value_or(std::nullopt);
  }
  std::optional<SourceCommit> chart_with(std::vector<PackageFile> more,
                                         std::string_view chart = "name: web\n") {
    std::vector<PackageFile> all{{"Chart.yaml", std::string(chart)}, {"templates/a.yaml", "a: 1\n"}};
    all.insert(all.end(), more.begin(), more.end());
    for (const PackageFile& file : all) work.put("web/" + file.path, file.bytes);
    return found(work.path() / "web", tree_of(all));
  }

  mist::testing::TempDir temp;
  testing::Upstream work;
  HostFileSystem files;
  HostProcessRunner processes;
  std::string commit;
};

TEST_F(SourceCommits, OfFilesAsTheyWereCommitted) {
  work.git({"remote", "add", "origin", "https://user:hidden@git.example/shop.git"});
  const auto there = chart_with({});
  ASSERT_TRUE(there);
  EXPECT_EQ(there->commit, commit);
  EXPECT_EQ(there->url, "https://git.example/shop.git");
  EXPECT_EQ(there->path, "web");
  EXPECT_TRUE(there->clean);
  // Elsewhere in the repository anything may change.
  work.put("other.yaml", "b: 2\n");
  EXPECT_TRUE(chart_with({})->clean);
}

TEST_F(SourceCommits, ChangedAddedAndDeletedFilesAreNotTheCommits) {
  EXPECT_FALSE(chart_with({}, "name: other\n")->clean);
  EXPECT_FALSE(chart_with({{"templates/b.yaml", "new"}})->clean);
  std::filesystem::remove(work.path() / "web/templates/b.yaml");
  EXPECT_TRUE(chart_with({})->clean);
  std::filesystem::remove(work.path() / "web/templates/a.yaml");
  EXPECT_FALSE(found(work.path() / "web", tree_of({{"Chart.yaml", "name: web\n"}}))->clean);
}

TEST_F(SourceCommits, TheBytesCountThatWereRead) {
  const std::vector<PackageFile> committed{{"Chart.yaml", "name: web\n"}, {"templates/a.yaml", "a: 1\n"}};
  std::vector<PackageFile> changed = committed;
  changed[1].bytes = "a: 2\n";
  EXPECT_FALSE(found(work.path() / "web", tree_of(changed))->clean);
  work.put("web/templates/a.yaml", "a: 2\n");
  EXPECT_TRUE(found(work.path() / "web", tree_of(committed))->clean);
}

TEST_F(SourceCommits, ARepositoryMayHaveSha256) {
  const testing::Upstream other(temp.path() / "other");
  std::filesystem::remove_all(other.path() / ".git");
  other.git({"init", "--quiet", "--object-format=sha256"});
  other.put("a.yaml", "a: 1\n");
  EXPECT_EQ(other.commit().size(), 64u);
  EXPECT_TRUE(found(other.path() / "a.yaml", tree_of({{"a.yaml", "a: 1\n"}}))->clean);
  EXPECT_FALSE(found(other.path() / "a.yaml", tree_of({{"a.yaml", "a: 2\n"}}))->clean);
}

TEST_F(SourceCommits, SubchartsThatALockNamesNeedNoCommit) {
  EXPECT_FALSE(chart_with({{"charts/db-1.0.0.tgz", "archive"}})->clean);
  work.put("web/Chart.lock", "dependencies: []\n");
  work.put(".gitignore", "*.tgz\n");
  work.commit();
  EXPECT_TRUE(chart_with({{"Chart.lock", "dependencies: []\n"}, {"charts/db-1.0.0.tgz", "archive"}})->clean);
}

TEST_F(SourceCommits, FiltersOfTheCheckoutAreNotRun) {
  work.put(".gitattributes", "* filter=spy\n");
  work.commit();
  work.git({"config", "filter.spy.clean", fmt::format("touch {}; cat", (temp.path() / "spied").string())});
  EXPECT_TRUE(chart_with({})->clean);
  EXPECT_FALSE(files.exists(temp.path() / "spied"));
}

TEST_F(SourceCommits, AFileIsHeldAgainstItsOwnObject) {
  const auto one = found(work.path() / "other.yaml", tree_of({{"other.yaml", "b: 1\n"}}));
  EXPECT_EQ(one->path, "other.yaml");
  EXPECT_TRUE(one->clean);
  EXPECT_EQ(one->url, "");
  work.put("module.wasm", "\0asm");
  EXPECT_FALSE(found(work.path() / "module.wasm", PackageModule("\0asm"))->clean);
}

TEST_F(SourceCommits, OutsideOfACheckoutThereIsNone) {
  std::filesystem::create_directories(temp.path() / "plain");
  EXPECT_FALSE(found(temp.path() / "plain", tree_of({})));
}

TEST_F(SourceCommits, ACheckoutWithoutACommitIsAnError) {
  const testing::Upstream empty(temp.path() / "empty");
  EXPECT_FALSE(source_commit(files, processes, empty.path(), tree_of({}), Context()).ok());
}

}  // namespace
}  // namespace mist::registry
