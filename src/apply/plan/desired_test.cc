#include "apply/plan/desired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Owner kRelease{"shop", "web"};

RenderedObject job(std::string_view name, std::string_view events) {
  const auto value = encoding::parse_yaml(fmt::format(
      "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, annotations: {{helm.sh/hook: '{}'}}}}}}",
      name, events));
  return {*apimachinery::Object::from_value(*value), "web/templates/hooks.yaml", 1};
}
RenderedObject plain_job(std::string_view name) {
  const auto value =
      encoding::parse_yaml(fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}}}}}", name));
  return {*apimachinery::Object::from_value(*value), "web/templates/all.yaml", 1};
}

// "a (pre-install hook, weight 0)", or why it is refused.
std::vector<std::string> wanted(const std::vector<RenderedObject>& hooks, HookVerb verb) {
  const auto prepared = prepare_with_hooks_offline({plain_job("main")}, hooks, verb, kRelease);
  if (!prepared.ok()) return {prepared.error().message};
  std::vector<std::string> lines;
  for (const DesiredObject& each : prepared->desired)
    lines.push_back(each.hook ? fmt::format("{} ({})", each.key.display(), each.hook->words)
                              : each.key.display());
  return lines;
}

TEST(PrepareWithHooksOffline, HasTheHooksOfOneMoment) {
  const std::vector hooks{job("check", "pre-install"), job("check", "pre-upgrade"),
                          job("last", "post-install")};
  EXPECT_THAT(wanted(hooks, HookVerb::Install),
              ElementsAre("Job shop/check (pre-install hook, weight 0)", "Job shop/main",
                          "Job shop/last (post-install hook, weight 0)"));
  EXPECT_THAT(wanted(hooks, HookVerb::Upgrade),
              ElementsAre("Job shop/check (pre-upgrade hook, weight 0)", "Job shop/main"));
  EXPECT_THAT(wanted(hooks, HookVerb::None), ElementsAre("Job shop/main"));
}

TEST(PrepareWithHooksOffline, OnlyWhatIsOverMayHaveTheNameOfAnother) {
  EXPECT_THAT(wanted({job("main", "pre-install")}, HookVerb::Install),
              ElementsAre("Job shop/main (pre-install hook, weight 0)", "Job shop/main"));
  EXPECT_THAT(wanted({job("main", "post-install")}, HookVerb::Install),
              ElementsAre(HasSubstr("Job shop/main is there twice")));
  EXPECT_THAT(wanted({job("a", "pre-install"), job("a", "pre-install")}, HookVerb::Install),
              ElementsAre(HasSubstr("Job shop/a is there twice")));
}

// "ok", or what is wrong; the objects stand in one file.
struct Prepared {
  std::vector<DesiredObject> desired;
  std::string words = "ok";
};
Prepared prepared(std::string_view text) {
  std::vector<RenderedObject> objects;
  auto documents = encoding::parse_yaml_documents(text);
  EXPECT_TRUE(documents.ok());
  for (encoding::Value& document : *documents) {
    const std::uint32_t line = document.position().line;
    objects.push_back({*apimachinery::Object::from_value(std::move(document)), "all.yaml", line});
  }
  auto result = prepare_offline(std::move(objects), kRelease);
  if (!result.ok()) return {{}, result.error().to_line()};
  return {*std::move(result)};
}

std::vector<std::string> warnings(const std::vector<DesiredObject>& desired) {
  struct Warnings final : EventSink {
    void message(const Message& event) override { texts.push_back(event.text); }
    void began(const ActivityBegan&) override {}
    void ended(const ActivityEnded&) override {}
    void object(const ObjectProgress&) override {}
    std::vector<std::string> texts;
  } events;
  warn_of_left_out(desired, events);
  return std::move(events.texts);
}

TEST(Prepare, WhatOnlyServersWriteIsLeftOutWithAWarning) {
  const Prepared exported = prepared(R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: 1234
  resourceVersion: "7"
  generation: 3
  managedFields: [{manager: kubectl}]
  selfLink: /apis/apps/v1
  creationTimestamp: "2026-01-01T00:00:00Z"
spec:
  template:
    metadata: {creationTimestamp: null, uid: x, labels: {a: b}}
status:
  replicas: 3
)");
  ASSERT_EQ(exported.words, "ok");
  const encoding::Value& web = exported.desired.front().rendered.object.value();
  for (const std::string_view name :
       {"uid", "resourceVersion", "generation", "managedFields", "selfLink", "creationTimestamp"})
    EXPECT_EQ(web.at_path({"metadata", name}), nullptr) << name;
  EXPECT_EQ(web.find("status"), nullptr);
  EXPECT_EQ(web.at_path({"spec", "template", "metadata", "uid"}), nullptr);
  EXPECT_EQ(web.at_path({"spec", "template", "metadata", "creationTimestamp"}), nullptr);
  EXPECT_EQ(web.string_at({"spec", "template", "metadata", "labels", "a"}), "b");
  EXPECT_THAT(warnings(exported.desired),
              ElementsAre("Deployment shop/web (all.yaml:10) is applied without metadata.creationTimestamp, "
                          "metadata.generation, metadata.managedFields, metadata.resourceVersion, "
                          "metadata.selfLink, metadata.uid, spec.template.metadata.uid, status (only the "
                          "server sets them)"));
}

TEST(Prepare, NothingIsSaidOfFieldsThatSayNothing) {
  const Prepared generated = prepared(
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, creationTimestamp: null}, spec: "
      "{volumeClaimTemplates: [{metadata: {name: d, creationTimestamp: null}, status: {}}]}, status: "
      "{conditions: "
      "[], names: {kind: ''}}}");
  ASSERT_EQ(generated.words, "ok");
  EXPECT_EQ(generated.desired.front().rendered.object.value().find("status"), nullptr);
  EXPECT_THAT(warnings(generated.desired), ElementsAre());
}

TEST(Prepare, ManyObjectsShareAWarning) {
  std::string text;
  for (int i = 0; i < 9; ++i)
    text += fmt::format("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{}, uid: x}}}}\n", i);
  const Prepared all = prepared(text);
  EXPECT_THAT(
      warnings(all.desired),
      ElementsAre("9 objects are applied without metadata.uid (only the server sets it); the first is "
                  "ConfigMap shop/c0 (all.yaml:2)"));
}

TEST(Prepare, AClusterScopedObjectLosesItsNamespace) {
  const Prepared role = prepared(
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: view\n  namespace: "
      "shop\n");
  ASSERT_EQ(role.words, "ok");
  EXPECT_EQ(role.desired.front().key.display(), "ClusterRole view");
  EXPECT_THAT(
      warnings(role.desired),
      ElementsAre("ClusterRole view (all.yaml:5) is applied without metadata.namespace (its kind has no "
                  "namespace)"));
}

constexpr std::string_view kWidgets = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v2, served: true, storage: false, subresources: {status: {}}}
---
)";

TEST(Prepare, AStatusWithoutASubresourceIsAFieldLikeAny) {
  const auto status_of = [](std::string_view version) {
    const Prepared widget = prepared(
        fmt::format("{}apiVersion: example.com/{}\nkind: Widget\nmetadata: {{name: w}}\nstatus: {{a: 1}}\n",
                    kWidgets, version));
    EXPECT_EQ(widget.words, "ok");
    const encoding::Value* const status = widget.desired.back().rendered.object.value().find("status");
    return status != nullptr;
  };
  EXPECT_TRUE(status_of("v1"));
  EXPECT_FALSE(status_of("v2"));
}

TEST(Prepare, ItemsOfOneKeyAreRefusedAtTheLineOfTheSecond) {
  const Prepared pod = prepared(R"(apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: web
    env:
    - {name: A, value: "1"}
    - {name: B, value: "2"}
    - {name: A, value: "3"}
    ports:
    - {containerPort: 80}
    - {containerPort: 80, protocol: UDP}
    - {containerPort: 80, protocol: TCP}
)");
  EXPECT_THAT(pod.words, HasSubstr("all.yaml:10"));
  EXPECT_THAT(pod.words, HasSubstr("Pod p: spec.containers[0].env has name=A twice (first in line 8)"));
  EXPECT_THAT(pod.words, HasSubstr("spec.containers[0].ports has containerPort=80, protocol=TCP twice"));
}

TEST(Prepare, ListsWithoutKeysMayRepeatThemselves) {
  EXPECT_EQ(
      prepared(
          "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, args: [x, x], env: "
          "[{name: A}, {name: B}], ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]}], "
          "tolerations: [{key: a}, {key: a}]}}")
          .words,
      "ok");
}

}  // namespace
}  // namespace mist::apply
