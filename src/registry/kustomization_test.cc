#include "registry/kustomization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "registry/git_fixture.h"

namespace mist::registry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string listing(const PackageTree& tree) {
  std::string text;
  for (const PackageFile& file : tree.files) text += file.path + " ";
  return text;
}

class LocalKustomization : public ::testing::Test {
 protected:
  void put(const std::string& path, std::string_view text = "x: y\n") {
    ASSERT_TRUE(files.write(temp.path() / path, text, {.durable = false}).ok());
  }
  void work_tree(const std::string& path = "") {
    std::filesystem::create_directories(temp.path() / path / ".git");
  }
  Result<std::optional<PackageTree>> read(const std::string& path) {
    return read_local_kustomization(files, temp.path() / path);
  }
  std::string paths(const std::string& path) {
    const auto tree = read(path);
    if (!tree) return "error: " + tree.error().to_line();
    return *tree ? listing(**tree) : "none";
  }

  mist::testing::TempDir temp;
  HostFileSystem files;
};

TEST_F(LocalKustomization, ConsistsOfWhatItNamesAndOfItsBases) {
  work_tree();
  put("app/base/kustomization.yaml",
      "resources: [deployment.yaml, crds/]\nconfigMapGenerator:\n"
      "- {name: c, files: [key=conf/app.ini], envs: [.env]}\n");
  put("app/base/deployment.yaml");
  put("app/base/conf/app.ini");
  put("app/base/.env");
  put("app/base/README.md");
  put("app/base/crds/kustomization.yml", "resources: [a.yaml]\n");
  put("app/base/crds/a.yaml");
  put("app/parts/tls/Kustomization", "kind: Component\npatches: [{path: p.yaml}]\n");
  put("app/parts/tls/p.yaml");
  put("app/overlays/prod/kustomization.yaml",
      "resources: [../../base]\ncomponents: [../../parts/tls]\npatches:\n- path: ./p.yaml\n");
  put("app/overlays/prod/p.yaml");
  put("app/overlays/prod/mistletoe.yaml", "kind: MistPackage\n");
  put("app/overlays/dev/kustomization.yaml");
  EXPECT_EQ(
      paths("app/overlays/prod"),
      ".mistletoe/kustomize.json base/.env base/conf/app.ini base/crds/a.yaml base/crds/kustomization.yml "
      "base/deployment.yaml base/kustomization.yaml mistletoe.yaml overlays/prod/kustomization.yaml "
      "overlays/prod/p.yaml parts/tls/Kustomization parts/tls/p.yaml ");
  EXPECT_EQ((*read("app/overlays/prod"))->files[0].bytes, "{\"root\":\"overlays/prod\"}\n");
  // Without anything above it, nothing need be said of where it is.
  EXPECT_EQ(paths("app/base"),
            ".env conf/app.ini crds/a.yaml crds/kustomization.yml deployment.yaml "
            "kustomization.yaml ");
}

TEST_F(LocalKustomization, PluginsNameFilesInTheirConfigurationAndInPlace) {
  put("k/kustomization.yaml",
      "generators: [g.yaml]\ntransformers:\n- |\n  kind: PatchTransformer\n  path: p.yaml\n");
  put("k/g.yaml", "kind: ConfigMapGenerator\nfiles: [a.txt]\n");
  put("k/a.txt", "p.txt");
  put("k/p.yaml");
  put("k/p.txt");
  EXPECT_EQ(paths("k"), "a.txt g.yaml kustomization.yaml p.yaml ");
  // Configurations that another kustomization makes are used here.
  put("made/kustomization.yaml", "generators: [../maker]\n");
  put("made/settings.env", "k=v\n");
  put("made/unused.env", "k=v\n");
  put("maker/kustomization.yaml", "resources: [g.yaml]\n");
  put("maker/g.yaml", "kind: ConfigMapGenerator\nenvs: [settings.env]\n");
  EXPECT_EQ(paths("made"),
            ".mistletoe/kustomize.json made/kustomization.yaml made/settings.env maker/g.yaml "
            "maker/kustomization.yaml ");
}

TEST_F(LocalKustomization, ItsChartsBelongToItWhole) {
  work_tree();
  for (const char* chart : {"app/charts/web", "app/charts/pulled-1.2.x/pulled", "app/mine/old",
                            "shared/above", "app/unused/web"}) {
    put(fmt::format("{}/Chart.yaml", chart));
    put(fmt::format("{}/.helmignore", chart));
    put(fmt::format("{}/templates/a.yaml", chart), "{{ no YAML }}: [\n");
  }
  put("app/charts/no-chart/values.yaml");
  put("app/kustomization.yaml",
      "helmCharts:\n- {name: web}\n- {name: pulled, version: 1.2.x, repo: 'https://a.example'}\n"
      "- {name: elsewhere, repo: 'https://a.example'}\n- {name: no-chart}\n- {name: ../../other}\n"
      "generators: [g.yaml, \"kind: HelmChartInflationGenerator\\nname: above\\nchartHome: "
      "../shared\\n\"]\n");
  put("app/g.yaml", "kind: HelmChartInflationGenerator\nname: old\nchartHome: mine\n");
  EXPECT_EQ(paths("app"),
            ".mistletoe/kustomize.json app/charts/pulled-1.2.x/pulled/.helmignore "
            "app/charts/pulled-1.2.x/pulled/Chart.yaml app/charts/pulled-1.2.x/pulled/templates/a.yaml "
            "app/charts/web/.helmignore app/charts/web/Chart.yaml app/charts/web/templates/a.yaml app/g.yaml "
            "app/kustomization.yaml app/mine/old/.helmignore app/mine/old/Chart.yaml "
            "app/mine/old/templates/a.yaml shared/above/.helmignore shared/above/Chart.yaml "
            "shared/above/templates/a.yaml ");
  put("app/kustomization.yaml",
      "helmChartInflationGenerator: [{chartName: a, chartHome: mine}, {chartName: old}]\n");
  EXPECT_EQ(paths("app"),
            "kustomization.yaml mine/old/.helmignore mine/old/Chart.yaml mine/old/templates/a.yaml ");
  put("app/kustomization.yaml", "helmGlobals: {chartHome: ../../..}\nhelmCharts: [{name: etc}]\n");
  EXPECT_EQ(paths("app"), "kustomization.yaml ");
}

TEST_F(LocalKustomization, AChartIsNotReadThroughALinkOutOfTheWorkTree) {
  put("outside/web/Chart.yaml");
  put("outside/web/secret", "s3cret\n");
  work_tree("in");
  put("in/kustomization.yaml", "helmCharts: [{name: web}]\n");
  std::filesystem::create_directory_symlink(temp.path() / "outside", temp.path() / "in/charts");
  EXPECT_THAT(paths("in"), AllOf(HasSubstr("error:"), ::testing::Not(HasSubstr("s3cret"))));
}

TEST_F(LocalKustomization, BasesEndAtTheWorkTree) {
  put("a/base/kustomization.yaml", "namePrefix: x\n");
  put("a/o/kustomization.yaml", "resources:\n- ../base\n");
  const std::string all = ".mistletoe/kustomize.json base/kustomization.yaml o/kustomization.yaml ";
  EXPECT_EQ(paths("a/o"), all);
  work_tree("a");
  EXPECT_EQ(paths("a/o"), all);
  work_tree("a/o");
  const auto refused = read("a/o");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("kustomization.yaml names ../base"),
                                             HasSubstr("outside of the git work tree")));
  ASSERT_TRUE(refused.error().where);
  EXPECT_EQ(refused.error().where->line, 2U);
  EXPECT_EQ(refused.error().where->excerpt, "- ../base");
}

TEST_F(LocalKustomization, APathMayLeaveAndComeBackByName) {
  work_tree();
  put("k/base/kustomization.yaml", "resources: [dep.yaml]\n");
  put("k/base/dep.yaml");
  put("k/overlays/alt/kustomization.yaml", "resources: [../../../k/base]\n");
  EXPECT_EQ(paths("k/overlays/alt"),
            ".mistletoe/kustomize.json k/base/dep.yaml k/base/kustomization.yaml "
            "k/overlays/alt/kustomization.yaml ");
  EXPECT_EQ((*read("k/overlays/alt"))->files[0].bytes, "{\"root\":\"k/overlays/alt\"}\n");
  // By a file, by one that is named otherwise than as a resource, and in a cycle.
  put("k/base/kustomization.yaml", "resources: [../base/dep.yaml]\n");
  EXPECT_EQ(paths("k/base"), ".mistletoe/kustomize.json base/dep.yaml base/kustomization.yaml ");
  put("k/base/kustomization.yaml", "configMapGenerator: [{name: c, files: [a=../../k/base/dep.yaml]}]\n");
  EXPECT_EQ(paths("k/base"), ".mistletoe/kustomize.json k/base/dep.yaml k/base/kustomization.yaml ");
  put("k/base/kustomization.yaml", "resources: [../base]\n");
  EXPECT_EQ(paths("k/base"), ".mistletoe/kustomize.json base/kustomization.yaml ");
  // A path that stays inside doesn't move the top, and one that ends elsewhere is as forbidden as ever.
  put("k/base/kustomization.yaml", "resources: [./sub/../dep.yaml, sub/.././/dep.yaml]\n");
  EXPECT_EQ(paths("k/base"), "dep.yaml kustomization.yaml ");
  put("k/base/kustomization.yaml", "resources: [../base/../overlays/alt/kustomization.yaml]\n");
  EXPECT_THAT(paths("k/base"), HasSubstr("a file outside of k/base"));
  put("k/base/kustomization.yaml", "resources: [../../../x/k/base/dep.yaml]\n");
  EXPECT_THAT(paths("k/base"), HasSubstr("which is outside of the git work tree"));
}

TEST_F(LocalKustomization, NoFileOutsideOfItsDirectoryIsEverRead) {
  work_tree();
  put("secret", "s3cret");
  put("o/kustomization.yaml", "resources: [../secret]\n");
  EXPECT_THAT(paths("o"), HasSubstr("../secret, a file outside of o"));
  put("o/kustomization.yaml", "configMapGenerator: [{name: c, files: [k=../secret]}]\n");
  EXPECT_THAT(paths("o"), HasSubstr("k=../secret, a file outside of o"));
  put("o/kustomization.yaml", "namePrefix: ../secret\nresources: [/etc/hostname, link]\n");
  EXPECT_EQ(paths("o"), "kustomization.yaml ");
  std::filesystem::create_symlink("../secret", temp.path() / "o/link");
  EXPECT_THAT(paths("o"), HasSubstr("leads out of"));
  put("o/kustomization.yaml", "resources: [linked]\n");
  put("real/kustomization.yaml", "namePrefix: x\n");
  std::filesystem::create_symlink("../real", temp.path() / "o/linked");
  EXPECT_THAT(paths("o"), HasSubstr("is a link to"));
  put("o/kustomization.yaml", "resources:\n- ../empty\n");
  std::filesystem::create_directories(temp.path() / "empty");
  EXPECT_THAT(paths("o"), HasSubstr("../empty, a directory without a kustomization.yaml"));
}

TEST_F(LocalKustomization, CyclesEndAndWrongYamlIsLeftToTheEngine) {
  work_tree();
  put("a/kustomization.yaml", "resources: [../b]\n");
  put("b/kustomization.yaml", "resources: [../a, ../c]\n");
  put("c/kustomization.yaml", "resources: [\n");
  EXPECT_EQ(paths("a"),
            ".mistletoe/kustomize.json a/kustomization.yaml b/kustomization.yaml c/kustomization.yaml ");
}

TEST_F(LocalKustomization, OthersAreNone) {
  put("yaml/a.yaml");
  put("chart/Chart.yaml");
  put("chart/kustomization.yaml");
  put("other/kustomization.yaml");
  put("other/mistletoe.yaml", "kind: MistPackage\nspec: {engine: jinja}\n");
  for (const char* each : {"yaml", "chart", "other"}) EXPECT_EQ(paths(each), "none");
}

// Remembers what is read of it. Each chart has one file beside its Chart.yaml.
class WatchedSource final : public KustomizationSource {
 public:
  std::map<std::string, std::string> files;
  std::size_t chart_bytes = 0;
  mutable std::vector<std::string> asked;

  bool is_file(const std::string& path) const override { return files.contains(path); }
  bool is_directory(const std::string& path) const override { return path.empty(); }
  Status check_directory(const std::string&) const override { return {}; }
  Result<std::vector<std::string>> read(const std::vector<NamedFile>& wanted) const override {
    std::vector<std::string> texts;
    for (const NamedFile& each : wanted) {
      asked.push_back(each.path);
      texts.push_back(files.at(each.path));
    }
    return texts;
  }
  Result<std::vector<PackageFile>> read_all(const std::string& directory) const override {
    asked.push_back(directory);
    return std::vector<PackageFile>{{joined(directory, "data"), std::string(chart_bytes, 'x')}};
  }
  std::string top() const override { return "the test"; }
};

TEST(Kustomization, NoMoreIsHeldThanAPackageMayBe) {
  WatchedSource source;
  source.chart_bytes = 30 << 20;
  std::string& text = source.files["kustomization.yaml"] = "helmCharts:\n";
  for (int i = 0; i < 5; ++i) {
    text += fmt::format("- {{name: c{}}}\n", i);
    source.files[fmt::format("charts/c{}/Chart.yaml", i)];
  }
  const auto tree = read_kustomization(source, "");
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().message, "the kustomization . is larger than 64 MiB");
  EXPECT_THAT(source.asked, ElementsAre("kustomization.yaml", "charts/c0", "charts/c1", "charts/c2"));
}

TEST(Kustomization, AFileIsReadOnceHoweverOftenItIsNamed) {
  WatchedSource source;
  source.files = {{"kustomization.yaml", "generators: [g.yaml, ./g.yaml]\ntransformers: [g.yaml]\n"},
                  {"g.yaml", "kind: ConfigMapGenerator\nfiles: [g.yaml, a.txt]\n"},
                  {"a.txt", "a"}};
  const auto tree = read_kustomization(source, "");
  ASSERT_TRUE(tree.ok()) << tree.error().to_line();
  EXPECT_EQ(listing(*tree), "a.txt g.yaml kustomization.yaml ");
  EXPECT_THAT(source.asked, ElementsAre("kustomization.yaml", "g.yaml", "a.txt"));
}

class GitKustomization : public testing::RegistryFixture {};

TEST_F(GitKustomization, NothingOfARepositoryIsUsedWhileTheTrustPolicyCannotBeRead) {
  upstream.put("base/kustomization.yaml", "resources: [a.yaml]\n");
  upstream.put("base/a.yaml", "kind: A\n");
  upstream.commit();
  const std::string package = fmt::format("git+{}//base", upstream.url());
  ASSERT_TRUE(fetch(package).ok());
  ASSERT_TRUE(files.write(paths.trust_policy(), "garbage: [").ok());
  EXPECT_THAT(fetch(package).error().to_line(), HasSubstr("trust.yaml"));
  const auto base = open().fetch_base({upstream.url(), "main", "base"}, Context());
  ASSERT_FALSE(base.ok());
  EXPECT_THAT(base.error().to_line(), HasSubstr("trust.yaml"));
  paths.named_trust_policy = paths.home / "elsewhere.yaml";
  EXPECT_THAT(fetch(package).error().to_line(), HasSubstr("elsewhere.yaml is not there"));
}

TEST_F(GitKustomization, BasesComeFromTheRepository) {
  upstream.put("base/kustomization.yaml",
               "resources: [a.yaml]\nsecretGenerator: [{name: s, envs: [.env]}]\n");
  upstream.put("base/a.yaml", "kind: A\n");
  upstream.put("base/.env", "k=v\n");
  upstream.put("base/unused.yaml", "kind: B\n");
  upstream.put("overlays/prod/kustomization.yaml", "resources: [../../base]\n");
  upstream.commit();
  const auto fetched = fetch(fmt::format("git+{}//overlays/prod", upstream.url()));
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  EXPECT_EQ(listing(std::get<PackageTree>(fetched->content)),
            ".mistletoe/kustomize.json base/.env base/a.yaml base/kustomization.yaml "
            "overlays/prod/kustomization.yaml ");
  // As a base of another repository, paths stay as they are there.
  const auto base = open().fetch_base({upstream.url(), "main", "overlays/prod"}, Context());
  ASSERT_TRUE(base.ok()) << base.error().to_line();
  EXPECT_EQ(listing(base->tree),
            "base/.env base/a.yaml base/kustomization.yaml overlays/prod/kustomization.yaml ");
  EXPECT_THAT(open().fetch_base({upstream.url(), "main", "overlays"}, Context()).error().to_line(),
              HasSubstr("no kustomization in overlays"));
  EXPECT_THAT(open().fetch_base({upstream.url(), "--evil", ""}, Context()).error().to_line(),
              HasSubstr("--evil"));
  EXPECT_THAT(open().fetch_base({"http://example.org/r", "", ""}, Context()).error().to_line(),
              HasSubstr("http"));
  upstream.put("charted/kustomization.yaml", "helmCharts: [{name: web}]\n");
  upstream.put("charted/charts/web/Chart.yaml", "name: web\n");
  upstream.put("charted/charts/web/templates/a.yaml", "{{ }}\n");
  upstream.commit();
  const auto charted = open().fetch_base({upstream.url(), "main", "charted"}, Context());
  ASSERT_TRUE(charted.ok()) << charted.error().to_line();
  EXPECT_EQ(listing(charted->tree),
            "charted/charts/web/Chart.yaml charted/charts/web/templates/a.yaml charted/kustomization.yaml ");
  // A user who wants the files themselves gets the directory.
  const auto plain = PackageRef::parse(fmt::format("git+{}//base", upstream.url()));
  const auto all = open().fetch(*plain, Context(), "yaml");
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_EQ(listing(std::get<PackageTree>(all->content)), ".env a.yaml kustomization.yaml unused.yaml ");
}

}  // namespace
}  // namespace mist::registry
