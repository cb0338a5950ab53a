#include "package/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apimachinery/kube_types.h"
#include "base/text.h"
#include "encoding/yaml.h"
#include "package/objects.h"
#include "testing/source_dir.h"
#include "wasm/instance.h"

namespace mist::package {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "Chart.yaml:3: version: the version is missing", one line each.
std::vector<std::string> lines_of(std::vector<Finding> findings) {
  sort_findings(findings);
  std::vector<std::string> lines;
  for (const Finding& each : findings)
    lines.push_back(fmt::format("{}:{}: {}: {}", each.file, each.line, each.rule, each.message));
  return lines;
}
std::vector<std::string> lint_chart(const Files& files) {
  return lines_of(lint_files(files, find_engine("helm")));
}

constexpr std::string_view kGoodChart =
    "apiVersion: v2\nname: a\nversion: 1.0.0\ndescription: d\nicon: https://x/y.png\n";
const std::string kSchema =
    R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "object",
  "properties": {"c": {"type": "string"}}}}})";

TEST(Lint, FindsNothingInAGoodChart) {
  EXPECT_THAT(lint_chart({{"Chart.yaml", std::string(kGoodChart)},
                          {"values.yaml", "a: 1\nb: {c: x}\n"},
                          {"values.schema.json", kSchema},
                          {"templates/_h.tpl", "{{ define \"a.x\" }}{{ end }}"},
                          {"templates/x.yaml", "{{ include \"a.x\" . }}{{ .Values.a }}{{ .Values.b.c }}"}}),
              IsEmpty());
}

TEST(Lint, ReadsChartsAsHelmLintDoes) {
  EXPECT_THAT(
      lint_chart({{"Chart.yaml",
                   "apiVersion: v3\nversion: 1.0\ntype: app\nappVersion: 1.29\nmaintainers:\n- email: x\n"
                   "dependencies:\n- {name: db, version: 1.x, repository: 'https://x'}\n"
                   "- {name: here, version: 1.x}\n"},
                  {"charts/here-1.0.0.tgz", "x"}}),
      ElementsAre("Chart.yaml:0: metadata: the name is missing", "Chart.yaml:0: chart-icon: there is no icon",
                  "Chart.yaml:0: description: the description is missing",
                  "Chart.yaml:1: metadata: apiVersion must be v2 (or v1), is \"v3\"",
                  "Chart.yaml:2: version: the version is a number, no SemVer such as 1.2.3",
                  "Chart.yaml:3: metadata: type must be application or library, is \"app\"",
                  "Chart.yaml:4: metadata: appVersion must be a text: put it in quotes",
                  "Chart.yaml:6: metadata: a maintainer has no name",
                  "Chart.yaml:8: dependency: the dependency db isn't in charts/: mistctl dependency build "
                  "fetches it"));
}

TEST(Lint, NamesKeysOfTheDefaultsThatYamlReadsInAnotherWay) {
  EXPECT_THAT(lint_chart({{"Chart.yaml", std::string(kGoodChart)},
                          {"values.yaml", "a: {'no': 1, on: 1}\nb: 1\nb: 2\n"},
                          {"values.schema.json", R"({"type": "object", "properties": {"a": {}, "b": {}}})"},
                          {"templates/x.yaml", ".a .b"}}),
              ElementsAre(HasSubstr("values.yaml:1: key: the key on is a boolean in YAML"),
                          HasSubstr("values.yaml:3: key: the key \"b\" is set twice")));
}

TEST(Lint, HoldsDefaultsAgainstTheSchema) {
  EXPECT_THAT(lint_chart({{"Chart.yaml", std::string(kGoodChart)},
                          {"values.yaml", "a: many\nb:\n  c: x\n  d: 1\ne: 1\nglobal: {}\n"},
                          {"values.schema.json", kSchema},
                          {"templates/x.yaml", ".a .b.c .b.d .e"}}),
              ElementsAre(HasSubstr("values.yaml:1: defaults: a: must be integer"),
                          "values.yaml:4: undescribed: b.d isn't in the schema",
                          "values.yaml:5: undescribed: e isn't in the schema"));
  EXPECT_THAT(lines_of(lint_files({{"Chart.yaml", std::string(kGoodChart)},
                                   {"values.yaml", "a: many\nlost: 1\n"},
                                   {"values.schema.json", kSchema},
                                   {"templates/x.yaml", ".a"}},
                                  find_engine("helm"), ChartSchema::Ignored)),
              ElementsAre("values.yaml:2: unused-value: no template seems to use lost"));
  EXPECT_THAT(lint_chart({{"Chart.yaml", std::string(kGoodChart)}, {"values.schema.json", R"({"type": 3})"}}),
              ElementsAre(HasSubstr("values.schema.json:0: schema: ")));
  EXPECT_THAT(lint_chart({{"Chart.yaml", std::string(kGoodChart)}, {"values.yaml", "a: [\n"}}),
              ElementsAre(HasSubstr("values.yaml:2: defaults: ")));
}

TEST(Lint, SeesWhatNothingUses) {
  EXPECT_THAT(
      lint_chart(
          {{"Chart.yaml", std::string(kGoodChart)},
           {"values.yaml", "image: {name: x, tag: y}\nwhole: {k: 1}\nlost: 1\nlo: 1\n"},
           {"templates/_h.tpl", "{{- define \"used\" }}{{ end }}\n{{- define \"gone.one\" }}{{ end }}"},
           {"templates/x.yaml",
            "{{ template \"used\" }} {{ .Values.image.name }} {{ toYaml .Values.whole }} "
            "{{ .Values.lo }}"},
           {"tests/a.yaml", "lost: 1"}}),
      ElementsAre(
          "templates/_h.tpl:2: unused-template: nothing includes \"gone.one\"",
          "values.yaml:0: no-schema: no values.schema.json describes the values: typing errors in them go "
          "unnoticed",
          "values.yaml:1: unused-value: no template seems to use image.tag",
          "values.yaml:3: unused-value: no template seems to use lost"));
}

TEST(Lint, ReadsMistletoeYaml) {
  const auto plain = [](std::string text) {
    return lines_of(lint_files({{"mistletoe.yaml", std::move(text)}, {"a.yaml", ""}}, nullptr));
  };
  const std::string head = "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: a}\n";
  EXPECT_THAT(plain(head + "spec: {version: 1.0.0, description: d}\n"), IsEmpty());
  EXPECT_THAT(
      plain(head + "spec: {version: '1'}\n"),
      ElementsAre("mistletoe.yaml:0: version: the version \"1\" is not a SemVer such as 1.2.3",
                  "mistletoe.yaml:0: description: spec.description is missing: nobody sees what it is"));
  EXPECT_THAT(
      plain(head + "spec: {versoin: 1.0.0, version: 1.0.0, description: d}\n"),
      ElementsAre(
          "mistletoe.yaml:0: metadata: spec.versoin (did you mean version?) is unknown, and ignored"));
  EXPECT_THAT(
      plain("metadata: {name: a}\nspec: {version: 1.0.0}\n"),
      ElementsAre("mistletoe.yaml:0: metadata: it is ignored, with name, version and dependencies: it "
                  "has no kind: MistPackage"));
  EXPECT_THAT(
      lines_of(lint_files({{"a.yaml", ""}}, nullptr)),
      ElementsAre(":0: no-metadata: there is no mistletoe.yaml, so it has no version and no description"));
}

std::vector<std::string> lint_yaml(const std::string& text, const EngineKind* engine = nullptr,
                                   const FileOrigins& origins = {},
                                   const apimachinery::KubeTypes* types = nullptr) {
  NullEventSink nobody;
  Rendered rendered;
  auto objects = parse_objects({{"chart/templates/a.yaml", text}}, nobody,
                               engine == nullptr ? Lines::Written : Lines::Rendered, origins);
  EXPECT_TRUE(objects.ok());
  rendered.objects = *std::move(objects);
  return lines_of(lint_objects(rendered, engine, "default", types));
}

TEST(Lint, LooksAtImagesWhereverTheyAre) {
  const auto pod = [](std::string_view image) {
    return fmt::format(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec:\n  jobTemplate:\n    spec:\n"
        "      template:\n        spec:\n          containers:\n          - name: main\n            image: "
        "{}\n",
        image);
  };
  EXPECT_THAT(lint_yaml(pod("nginx:1.29")), IsEmpty());
  EXPECT_THAT(lint_yaml(pod("host:5000/nginx@sha256:ab")), IsEmpty());
  EXPECT_THAT(
      lint_yaml(pod("host:5000/nginx")),
      ElementsAre(
          "chart/templates/a.yaml:11: image-tag: CronJob a: the image host:5000/nginx of container main "
          "has no tag: what runs would change by itself"));
  // A line of an engine's output is the template's, or none.
  std::vector<std::uint32_t> lines(20, 3);
  EXPECT_THAT(lint_yaml(pod("nginx:latest"), find_engine("helm"),
                        {{"chart/templates/a.yaml", {"templates/a.yaml", lines}}}),
              ElementsAre(HasSubstr("templates/a.yaml:3: image-tag: ")));
  EXPECT_THAT(lint_yaml(pod("nginx:latest"), find_engine("helm")),
              ElementsAre(HasSubstr(
                  "templates/a.yaml:0: image-tag: CronJob a: the image nginx:latest of container main "
                  "has the tag latest")));
}

TEST(Lint, KnowsWhatCannotBeInstalled) {
  EXPECT_THAT(lint_yaml(""), ElementsAre(":0: nothing: it renders no object"));
  EXPECT_THAT(lint_yaml("apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n"),
              ElementsAre(HasSubstr(
                  ":1: api-version: Ingress a: Kubernetes v1.37.0 doesn't serve extensions/v1beta1")));
  EXPECT_THAT(lint_yaml("apiVersion: example.com/v1\nkind: X\nmetadata: {name: a, namespace: kube-system}\n"),
              ElementsAre(HasSubstr(":3: namespace: X kube-system/a is always in namespace kube-system")));
}

// The types of a Kubernetes, as tools/kube-schemas writes them.
apimachinery::KubeTypes types() {
  auto types = apimachinery::KubeTypes::parse(R"({"kubernetes": "v1.36.0",
    "lifecycle": [
      {"group": "policy", "version": "v1beta1", "kind": "Budget", "deprecated": 21, "removed": 25},
      {"group": "apps", "version": "v1beta9", "kind": "Deployment", "deprecated": 30, "removed": 40}],
    "schemas": {"D": {"type": "object", "properties": {"metadata": {}, "spec": {"type": "object", "required": ["selector"],
        "properties": {"replicas": {"type": "integer"}, "selector": {"type": "object"}}}},
      "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"},
        {"group": "apps", "version": "v1beta9", "kind": "Deployment"}, {"group": "policy", "version": "v1", "kind": "Budget"}]},
      "C": {"x-kubernetes-group-version-kind":
        [{"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition"}]}}})");
  EXPECT_TRUE(types.ok());
  return *std::move(types);
}

TEST(Lint, HoldsObjectsAgainstTheTypesOfKubernetes) {
  const apimachinery::KubeTypes known = types();
  const std::string deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  ";
  EXPECT_THAT(lint_yaml(deployment + "selector: {}\n", nullptr, {}, &known), IsEmpty());
  EXPECT_THAT(
      lint_yaml(deployment + "selector: {}\n  replcas: 1\n", nullptr, {}, &known),
      ElementsAre("chart/templates/a.yaml:6: field: Deployment a: spec.replcas: there is no such field (did "
                  "you mean replicas?)"));
  EXPECT_THAT(
      lint_yaml(deployment + "replicas: '1'\n", nullptr, {}, &known),
      ElementsAre(
          HasSubstr("a.yaml:4: field: Deployment a: spec.selector: it is required, and missing"),
          HasSubstr("a.yaml:5: field: Deployment a: spec.replicas: it must be an integer, and is a string")));
  // The line of the template, or none.
  std::vector<std::uint32_t> lines(20, 3);
  EXPECT_THAT(lint_yaml(deployment + "selector: {}\n  replcas: 1\n", find_engine("helm"),
                        {{"chart/templates/a.yaml", {"templates/a.yaml", lines}}}, &known),
              ElementsAre(HasSubstr("templates/a.yaml:3: field: ")));
}

TEST(Lint, KnowsWhatBecomesOfKinds) {
  const apimachinery::KubeTypes known = types();
  const auto object = [&](std::string_view version, std::string_view kind) {
    return lint_yaml(fmt::format("apiVersion: {}\nkind: {}\nmetadata: {{name: a}}\n", version, kind), nullptr,
                     {}, &known);
  };
  EXPECT_THAT(object("policy/v1beta1", "Budget"),
              ElementsAre(HasSubstr(
                  "a.yaml:1: removed-version: Budget a: Kubernetes has no policy/v1beta1 Budget since "
                  "1.25; use policy/v1")));
  EXPECT_THAT(object("v1", "Deployment"),
              ElementsAre(HasSubstr("unknown-kind: Deployment a: Kubernetes 1.36 has no v1 "
                                    "Deployment; use apps/v1")));
  EXPECT_THAT(
      object("apps/v1beta9", "Deployment"),
      ElementsAre(
          HasSubstr("api-version: Deployment a: Kubernetes 1.36 doesn't serve apps/v1beta9 by default"),
          HasSubstr("deprecated-version: Deployment a: apps/v1beta9 Deployment is deprecated since "
                    "Kubernetes 1.30, and ends with 1.40; use apps/v1")));
  EXPECT_THAT(object("example.com/v1", "Shop"),
              ElementsAre(HasSubstr("unchecked: Shop a: no CRD of the package defines Shop.example.com")));
}

TEST(Lint, AKindOfThePackagesOwnGroupIsMisspelled) {
  const apimachinery::KubeTypes known = types();
  EXPECT_THAT(
      lint_yaml("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                "metadata: {name: shops.example.com}\nspec: {group: example.com, names: {kind: Shop}}\n---\n"
                "apiVersion: example.com/v1\nkind: Shpo\nmetadata: {name: a}\n",
                nullptr, {}, &known),
      Contains(HasSubstr(
          "unknown-kind: Shpo a: no CRD of the package defines Shpo.example.com (did you mean Shop?)")));
}

TEST(Lint, CustomResourcesAreCheckedByTheirOwnDefinitions) {
  const apimachinery::KubeTypes known = types();
  EXPECT_THAT(
      lint_yaml("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                "metadata: {name: shops.example.com}\nspec: {group: example.com, names: {kind: Shop}}\n---\n"
                "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\n",
                nullptr, {}, &known),
      IsEmpty());
}

TEST(Lint, KnowsTheWordsOfHooks) {
  const auto job = [](std::string_view annotations) {
    return fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {{{}}}\n",
                       annotations);
  };
  EXPECT_THAT(lint_yaml(job("helm.sh/hook: 'Pre-Install, post-upgrade', helm.sh/hook-weight: '-5'")),
              IsEmpty());
  EXPECT_THAT(
      lint_yaml(job("helm.sh/hook: pre-instal, helm.sh/hook-weight: first, "
                    "helm.sh/hook-delete-policy: hook-succeded")),
      ElementsAre(
          HasSubstr("helm.sh/hook has \"pre-instal\", which Helm doesn't know; did you mean pre-install?"),
          HasSubstr("helm.sh/hook-delete-policy has \"hook-succeded\""),
          HasSubstr("helm.sh/hook-weight is \"first\", no whole number")));
}

// Helm drops a document with an unknown hook, so that no rendered object shows it.
TEST(Lint, ReadsHooksInTheTextOfCharts) {
  EXPECT_THAT(
      lint_chart({{"Chart.yaml", std::string(kGoodChart)},
                  {"templates/job.yaml",
                   "metadata:\n  annotations:\n    \"helm.sh/hook\": pre-install,post-upgrad\n"
                   "    helm.sh/hook-weight: \"5\" # early\n    'helm.sh/hook-delete-policy': {{ .x }}\n"}}),
      ElementsAre(
          "templates/job.yaml:3: hook: helm.sh/hook has \"post-upgrad\", which Helm doesn't know; did "
          "you mean post-upgrade?"));
}

TEST(Lint, AnErrorIsAFindingAtItsPlace) {
  const Finding found =
      finding_of("render",
                 error(ErrorKind::Invalid, "it failed")
                     .caused_by(error(ErrorKind::Invalid, "bad")
                                    .at({.file = "a.yaml", .line = 3, .column = 1, .excerpt = {}})
                                    .with_because("no such thing")),
                 "in the test case x");
  EXPECT_EQ(found.file, "a.yaml");
  EXPECT_EQ(found.line, 3u);
  EXPECT_EQ(found.message, "in the test case x: no such thing");
}

TEST(Lint, ATrapSaysWhichLimitItWas) {
  Error trap = error(ErrorKind::Trap, "shop.wasm ran longer than its limit of 10 s")
                   .with_because("it said: no\nits backtrace: function 0");
  trap.details.set(wasm::WithoutBacktrace{""});
  EXPECT_EQ(finding_of("render", trap, "with the default values").message,
            "with the default values: shop.wasm ran longer than its limit of 10 s");
  trap.details.set(wasm::WithoutBacktrace{"it said: no"});
  EXPECT_EQ(finding_of("render", trap, "").message,
            "shop.wasm ran longer than its limit of 10 s: it said: no");
}

TEST(Lint, EveryRuleStandsInTheManual) {
  const auto page = HostFileSystem().read(testing::source_dir() / "src/cli/commands/package.md");
  ASSERT_TRUE(page.ok());
  for (const LintRule& rule : lint_rules()) {
    const std::string row = fmt::format("* `{}` ({}): {}", rule.name, to_string(rule.level), rule.meaning);
    EXPECT_THAT(*page, HasSubstr(row));
  }
}

}  // namespace
}  // namespace mist::package
