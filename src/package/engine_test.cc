#include "package/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/renderer.h"
#include "package/tree_metadata.h"
#include "testing/temp_dir.h"

namespace mist::package {
namespace {

using ::testing::HasSubstr;

std::string chosen(const Files& files, std::string_view wanted = {}, std::string_view declared = {}) {
  const auto kind = choose_engine(files, wanted, declared);
  if (!kind.ok()) return "error";
  return *kind == nullptr ? "none" : std::string((*kind)->name);
}

TEST(ChooseEngine, SeesItFromTheFiles) {
  EXPECT_EQ(chosen({{"Chart.yaml", ""}, {"templates/main.ncl", ""}}), "helm");
  for (const char* name : {"kustomization.yaml", "kustomization.yml", "Kustomization"})
    EXPECT_EQ(chosen({{name, ""}, {"a.yaml", ""}}), "kustomize") << name;
  EXPECT_EQ(chosen({{"K3.yaml", ""}}), "jinja");
  EXPECT_EQ(chosen({{"main.ncl", ""}}), "nickel");
  EXPECT_EQ(chosen({{"main.py", ""}, {"deployment.yaml.j2", ""}}), "python");
  EXPECT_EQ(chosen({{"main.py", ""}, {"go.mod", ""}}), "none") << "a program in Go with a tool beside it";
  EXPECT_EQ(chosen({{"web/deployment.hbs", ""}}), "handlebars");
  EXPECT_EQ(chosen({{"web/deployment.handlebars", ""}}), "handlebars");
  EXPECT_EQ(chosen({{"deployment.yaml.j2", ""}}), "jinja");
  EXPECT_EQ(chosen({{"deployment.yaml.jinja2", ""}}), "jinja");
  EXPECT_EQ(chosen({{"a.yaml", ""}, {"sub/Chart.yaml", ""}}), "none") << "only the top counts";
}

TEST(ChooseEngine, WhatIsSaidWins) {
  EXPECT_EQ(chosen({{"Chart.yaml", ""}}, "", "jinja"), "jinja");
  EXPECT_EQ(chosen({{"Chart.yaml", ""}}, "kustomize", "jinja"), "kustomize");
  EXPECT_EQ(chosen({{"Chart.yaml", ""}}, "yaml"), "none");
  EXPECT_EQ(chosen({{"Chart.yaml", ""}}, "", "yaml"), "none");
  EXPECT_EQ(chosen({{"Chart.yaml", ""}}, "", "openpgp"), "error") << "it renders nothing";
  const auto unknown = choose_engine({}, "hlem", "");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().hint, HasSubstr("helm"));
}

TEST(TreeMetadata, IsTheDocumentElseTheChart) {
  const Files chart{
      {"Chart.yaml",
       "apiVersion: v2\nname: shop\nversion: 1.2.3\ndescription: Sells\nmaintainers:\n- {name: Ann, "
       "email: ann@example.org}\n- {name: Bob}\n"},
      {"values.schema.json", R"({"type": "object"})"}};
  const auto metadata = tree_metadata(chart, find_engine("helm"), "dir", "");
  ASSERT_TRUE(metadata.ok()) << metadata.error().to_line();
  EXPECT_EQ(metadata->name, "shop");
  EXPECT_EQ(metadata->version, "1.2.3");
  EXPECT_THAT(metadata->maintainers, ::testing::ElementsAre("Ann <ann@example.org>", "Bob"));
  EXPECT_TRUE(metadata->inputs.is_object());
  const Files declared{
      {"mistletoe.yaml",
       "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: own}\nspec: {engine: "
       "jinja, version: 2.0.0}\n"}};
  const auto own = declared_metadata(declared);
  ASSERT_TRUE(own.ok() && *own);
  EXPECT_EQ((*own)->engine, "jinja");
  EXPECT_EQ(tree_metadata(declared, find_engine("jinja"), "dir", "")->version, "2.0.0");
  EXPECT_EQ(tree_metadata({}, find_engine("jinja"), "dir", "v7")->name, "dir");
  const auto wrong = declared_metadata({{"mistletoe.yaml", "kind: MistPackage\nspec: {engin: x}\n"}});
  EXPECT_FALSE(wrong.ok());
  EXPECT_FALSE(*declared_metadata({{"mistletoe.yaml", "kind: ConfigMap\n"}}))
      << "Kubernetes YAML of that name";
}

TEST(EngineStore, KnowsItsDigestsAndSaysWhatIsMissing) {
  const testing::TempDir temp;
  constexpr std::array kDigests{
      EngineDigest{"helm", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}};
  const EngineStore store(temp.path(), kDigests);
  EXPECT_TRUE(store.digest("helm").ok());
  EXPECT_THAT(store.digest("nickel").error().message, HasSubstr("without the engine nickel"));
  EXPECT_THAT(store.read("helm").error().hint, HasSubstr("MIST_ENGINES_LOCATION"));
  // A file that isn't the one of this build is never run.
  ASSERT_TRUE(HostFileSystem().write(temp.path() / "helm.wasm", "other").ok());
  NullEventSink events;
  RendererOptions options;
  options.engines = store;
  Renderer renderer(std::move(options), events);
  const Status compiled = renderer.compile_engine("helm");
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.error().message, HasSubstr("is not what it should be"));
}

TEST(Renderer, ChartsNeedTheirEngine) {
  NullEventSink events;
  Renderer renderer({}, events);
  const Source chart{"./chart", "chart", "", "sha256:0", Files{{"Chart.yaml", "name: x"}}};
  RenderRequest request;
  request.release_name = "web";
  request.user_values = Value::object();
  EXPECT_THAT(renderer.render(chart, request, Context()).error().message,
              HasSubstr("without the engine helm"));
  EXPECT_TRUE(has_chart_values(*engine_of(chart)));
  EXPECT_FALSE(has_chart_values(*engine_of({"./dir", "dir", "", "", Files{{"kustomization.yaml", ""}}})));
}

TEST(Renderer, LeavesOutWhatIsNoManifest) {
  NullEventSink events;
  Renderer renderer({}, events);
  const Source source{
      "./dir", "dir", "", "sha256:0",
      Files{{".github/workflows/ci.yaml", "on: push"},
            {"mistletoe.yaml",
             "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: own}\nspec: {}\n"},
            {"cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}"}}};
  RenderRequest request;
  request.release_name = "web";
  request.user_values = Value::object();
  const auto rendered = renderer.render(source, request, Context());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_EQ(rendered->objects.size(), 1U);
  EXPECT_EQ(rendered->metadata.name, "own");
}

}  // namespace
}  // namespace mist::package
