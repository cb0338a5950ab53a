#include "registry/submodules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "registry/git_fixture.h"

namespace mist::registry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SubmoduleUrl, IsResolvedAsGitDoes) {
  const auto resolved = [](std::string_view parent, std::string_view url) {
    const auto found = submodule_url(*GitUrl::parse(parent, "/"), url);
    return found ? *found : "error: " + found.error().to_line();
  };
  EXPECT_EQ(resolved("https://h.example/org/repo.git", "../other.git"), "https://h.example/org/other.git");
  EXPECT_EQ(resolved("https://h.example/org/repo.git/", "../../top/other"), "https://h.example/top/other");
  EXPECT_EQ(resolved("https://h.example/org/repo", "./inner/"), "https://h.example/org/repo/inner");
  EXPECT_EQ(resolved("git@h.example:org/repo.git", "../other.git"), "git@h.example:org/other.git");
  EXPECT_EQ(resolved("git@h.example:repo.git", "../other.git"), "git@h.example:other.git");
  EXPECT_EQ(resolved("https://h.example/a", "ssh://git@g.example/b"), "ssh://git@g.example/b");
  EXPECT_EQ(resolved("file:///srv/a", "/srv/b"), "file:///srv/b");
  for (const char* bad : {"/etc", "file:///etc", "ext::sh -c id", "--upload-pack=x", "http://127.0.0.1/x",
                          "http://h.example/x"})
    EXPECT_THAT(resolved("https://h.example/a", bad), HasSubstr("error: ")) << bad;
}

class Submodules : public testing::RegistryFixture {
 protected:
  // A gitlink, without the checks of `git submodule add`.
  void link(const testing::Upstream& into, const std::string& path, const std::string& commit) {
    // Where the module would lie; without it, the next commit would leave it out.
    std::filesystem::create_directories(into.path() / path);
    into.git({"update-index", "--add", "--cacheinfo", fmt::format("160000,{},{}", commit, path)});
    into.git({"commit", "--quiet", "-m", "link"});
  }
  std::string listing(const BaseReference& base) {
    const auto tree = open().fetch_base(base, Context());
    if (!tree) return "error: " + tree.error().to_line();
    std::string text;
    for (const PackageFile& file : tree->tree.files) text += file.path + " ";
    return text;
  }
};

TEST_F(Submodules, AreReadAtTheirCommitsAndTheirsInTurn) {
  const testing::Upstream inner(temp.path() / "inner");
  inner.put("kustomization.yaml", "resources: [a.yaml]\n");
  inner.put("a.yaml", "kind: A\n");
  const std::string first = inner.commit();
  inner.put("kustomization.yaml", "resources: [none.yaml]\n");
  inner.commit();
  const testing::Upstream middle(temp.path() / "middle");
  middle.put("base/kustomization.yaml", "resources: [../deep/inner, b.yaml]\n");
  middle.put("base/b.yaml", "kind: B\n");
  middle.put(".gitmodules", "[submodule \"i\"]\n\tpath = deep/inner\n\turl = ../inner\n");
  middle.commit();
  link(middle, "deep/inner", first);
  const std::string tip = middle.git({"rev-parse", "HEAD"}).substr(0, 40);
  upstream.put("top/kustomization.yaml", "resources: [../vendor/middle/base]\n");
  upstream.put(".gitmodules",
               fmt::format("[submodule \"a.b\"]\n\tpath = vendor/middle\n\turl = {}\n", middle.url()));
  upstream.commit();
  link(upstream, "vendor/middle", tip);
  EXPECT_EQ(listing({upstream.url(), "main", "top"}),
            "top/kustomization.yaml vendor/middle/base/b.yaml vendor/middle/base/kustomization.yaml "
            "vendor/middle/deep/inner/a.yaml vendor/middle/deep/inner/kustomization.yaml ");
  EXPECT_EQ(listing({upstream.url(), "main", "vendor/middle/deep/inner"}),
            "vendor/middle/deep/inner/a.yaml vendor/middle/deep/inner/kustomization.yaml ");
  EXPECT_THAT(listing({upstream.url(), "main", "vendor/middle/base", false}),
              HasSubstr("no kustomization in"));
}

TEST_F(Submodules, MayBeTheChartsOfAKustomization) {
  const testing::Upstream web(temp.path() / "web");
  web.put("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
  web.put("templates/a.yaml", "kind: A\n");
  const std::string chart = web.commit();
  upstream.put("kustomization.yaml", "helmCharts: [{name: web}]\n");
  upstream.put(".gitmodules", "[submodule \"web\"]\n\tpath = charts/web\n\turl = ../web\n");
  upstream.commit();
  link(upstream, "charts/web", chart);
  EXPECT_EQ(listing({upstream.url(), "main", ""}),
            "charts/web/Chart.yaml charts/web/templates/a.yaml kustomization.yaml ");
}

TEST_F(Submodules, TogetherAreNoLargerThanAPackage) {
  std::string modules;
  std::map<std::string, std::string> commits;
  for (const char* name : {"m", "n"}) {
    const testing::Upstream module(temp.path() / name);
    module.put("data", std::string(33 << 20, '\0'));
    commits[name] = module.commit();
    modules += fmt::format("[submodule \"{0}\"]\n\tpath = {0}\n\turl = ../{0}\n", name);
  }
  upstream.put("kustomization.yaml", "configMapGenerator: [{name: c, files: [m/data, n/data]}]\n");
  upstream.put(".gitmodules", modules);
  upstream.commit();
  for (const auto& [name, commit] : commits) link(upstream, name, commit);
  // The repository refuses, not only the package that is made of it.
  EXPECT_THAT(listing({upstream.url(), "main", ""}),
              AllOf(HasSubstr("error: the repository "), HasSubstr("is larger than 64 MiB")));
}

// A module's address is https; git is told where the test has it.
TEST_F(Submodules, FromElsewhereMakeWhatIsReadOfThemForeign) {
  const testing::Upstream module(temp.path() / "module");
  module.put("kustomization.yaml", "resources: []\n");
  const std::string theirs = module.commit();
  upstream.put("own/kustomization.yaml", "resources: []\n");
  upstream.put("both/kustomization.yaml", "resources: [../vendor/x]\n");
  upstream.put(".gitmodules", "[submodule \"x\"]\n\tpath = vendor/x\n\turl = https://h.example/module\n");
  upstream.commit();
  link(upstream, "vendor/x", theirs);
  HostProcessRunner real;
  runner.before = [&](const Command& command) -> std::optional<Result<ProcessResult>> {
    if (!testing::WatchedRunner::has(command, "fetch")) return std::nullopt;
    Command rewritten = command;
    rewritten.env["GIT_ALLOW_PROTOCOL"] = "file";
    rewritten.env["GIT_CONFIG_COUNT"] = "1";
    rewritten.env["GIT_CONFIG_KEY_0"] = fmt::format("url.file://{}/.insteadOf", temp.path().string());
    rewritten.env["GIT_CONFIG_VALUE_0"] = "https://h.example/";
    return real.run(rewritten, Context());
  };
  const auto local = [&](const std::string& path) {
    const auto fetched = open().fetch_base({upstream.url(), "main", path}, Context());
    EXPECT_TRUE(fetched.ok()) << fetched.error().to_line();
    return fetched.ok() && fetched->on_this_machine;
  };
  EXPECT_TRUE(local("own"));
  EXPECT_FALSE(local("both"));
  EXPECT_FALSE(local("vendor/x"));
}

TEST_F(Submodules, WithoutAnAddressOrACommitAreAnError) {
  upstream.put("kustomization.yaml", "resources: [a.yaml]\n");
  upstream.put("a.yaml", "kind: A\n");
  const std::string own = upstream.commit();
  link(upstream, "vendor/x", own);
  EXPECT_THAT(listing({upstream.url(), "main", ""}),
              HasSubstr("doesn't say where its submodule vendor/x is"));
  EXPECT_EQ(listing({upstream.url(), "main", "", false}), "a.yaml kustomization.yaml ");
  upstream.put(".gitmodules", "[submodule \"x\"]\n\tpath = vendor/x\n\turl = ./none\n\tupdate = none\n");
  upstream.commit();
  EXPECT_EQ(listing({upstream.url(), "main", ""}), "a.yaml kustomization.yaml ");
  upstream.put(".gitmodules", "[submodule \"x\"]\n\tpath = vendor/x\n\turl = ./none\n");
  upstream.commit();
  EXPECT_THAT(listing({upstream.url(), "main", ""}), HasSubstr("while fetching the submodule vendor/x"));
}

TEST_F(Submodules, ARepositoryThatIsItsOwnSubmoduleEnds) {
  upstream.put("kustomization.yaml", "resources: []\n");
  upstream.put(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ../upstream\n");
  const std::string own = upstream.commit();
  link(upstream, "x", own);
  // A commit can't name itself; the one before has no submodule.
  EXPECT_EQ(listing({upstream.url(), "main", ""}), "kustomization.yaml ");
}

}  // namespace
}  // namespace mist::registry
