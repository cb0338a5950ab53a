#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "encoding/json.h"
#include "kube/api_down.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kCore =
    R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1",
 "freshness":"Current","resources":[
  {"resource":"configmaps","responseKind":{"group":"","version":"v1","kind":"ConfigMap"},"scope":"Namespaced",
   "singularResource":"configmap","verbs":["get","list"],"shortNames":["cm"]},
  {"resource":"namespaces","responseKind":{"kind":"Namespace"},"scope":"Cluster","singularResource":"namespace",
   "verbs":["get"],"shortNames":["ns"],"subresources":[{"subresource":"finalize"}]}]}]}]})";
constexpr std::string_view kGroups = R"({"kind":"APIGroupDiscoveryList","items":[
 {"metadata":{"name":"autoscaling"},"versions":[
  {"version":"v2","resources":[{"resource":"horizontalpodautoscalers",
    "responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["get"]}]},
  {"version":"v1","resources":[{"resource":"horizontalpodautoscalers",
    "responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["get"]}]}]},
 {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}]})";

class DiscoveryTest : public ::testing::Test {
 protected:
  DiscoveryTest() { serve(kCore, kGroups); }

  void serve(std::string_view core, std::string_view groups) {
    answers["/api"] = *encoding::parse_json(core);
    answers["/apis"] = *encoding::parse_json(groups);
  }
  std::unique_ptr<Discovery> make(std::string identity = "me") {
    return std::make_unique<Discovery>(
        Discovery::Dependencies{
            .get = [this](const Discovery::Question& question, const Context&) -> Result<Discovery::Answer> {
              ++requests;
              const auto found = answers.find(question.path);
              if (found == answers.end()) return error(ErrorKind::Retryable, "503");
              const auto tag = etags.find(question.path);
              const std::string etag = tag == etags.end() ? "" : tag->second;
              if (!etag.empty() && etag == question.known) return Discovery::Answer{{}, etag};
              return Discovery::Answer{found->second, etag};
            },
            .fs = fs,
            .clock = clock,
            .events = events},
        DiscoveryCache{directory.path() / "cache", std::move(identity)});
  }

  std::map<std::string, Value> answers;
  std::map<std::string, std::string> etags;  // a path without one is answered whole each time
  std::atomic<int> requests = 0;
  HostFileSystem fs;
  testing::TempDir directory;
  testing::FakeClock clock;
  NullEventSink events;
};

TEST_F(DiscoveryTest, TwoRequestsThenNone) {
  const auto first = make();
  const auto config_map = first->resource_for({"", "ConfigMap"}, "", {});
  ASSERT_TRUE(config_map.ok()) << config_map.error().to_line();
  EXPECT_EQ(config_map->resource, "configmaps");
  EXPECT_TRUE(config_map->namespaced);
  EXPECT_FALSE(first->resource_for({"", "Namespace"}, "v1", {})->namespaced);
  EXPECT_EQ(requests, 2);
  EXPECT_TRUE(make()->resource_for({"", "ConfigMap"}, "v1", {}).ok());
  EXPECT_EQ(requests, 2) << "another command reads the file";
  EXPECT_TRUE(make("somebody else")->resource_for({"", "ConfigMap"}, "v1", {}).ok());
  EXPECT_EQ(requests, 4);
  clock.advance(10min);
  EXPECT_TRUE(make()->resource_for({"", "ConfigMap"}, "v1", {}).ok());
  EXPECT_EQ(requests, 6) << "the file is too old";
}

TEST_F(DiscoveryTest, PrefersTheFirstVersionAndKnowsTheOthers) {
  const auto discovery = make();
  const GroupKind autoscaler{"autoscaling", "HorizontalPodAutoscaler"};
  EXPECT_EQ(discovery->resource_for(autoscaler, "", {})->gvk.version, "v2");
  EXPECT_EQ(discovery->resource_for(autoscaler, "v1", {})->gvk.version, "v1");
  const auto missing = discovery->resource_for(autoscaler, "v3", {});
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(missing.error().message,
            "the cluster serves HorizontalPodAutoscaler.autoscaling in v2, v1, not in v3");
  EXPECT_EQ(discovery->all_resources({})->size(), 3u);
}

TEST_F(DiscoveryTest, ServedAreAllVersionsAndTheKindsOfSubresources) {
  // policy has no resource; metrics.k8s.io and cold.example.com don't answer, and the aggregator repeats what
  // it knew of them.
  serve(kCore, R"({"kind":"APIGroupDiscoveryList","items":[
 {"metadata":{"name":"apps"},"versions":[
  {"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced",
    "verbs":["get"],"subresources":[
     {"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}},
     {"subresource":"status","responseKind":{"group":"apps","version":"v1","kind":"Deployment"}},
     {"subresource":"nothing"}]}]},
  {"version":"v1beta1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},
    "scope":"Namespaced","verbs":["get"]}]}]},
 {"metadata":{"name":"policy"},"versions":[{"version":"v1"}]},
 {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale","resources":[
  {"resource":"pods","responseKind":{"kind":"PodMetrics"},"scope":"Namespaced","verbs":["get"],"subresources":[
   {"subresource":"x","responseKind":{"kind":"Y"}}]}]}]},
 {"metadata":{"name":"cold.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]})");
  etags["/apis"] = "\"one\"";
  for (const std::string_view from : {"the server", "the file"}) {
    const auto served = make()->served_apis({});
    ASSERT_TRUE(served.ok()) << from << ": " << served.error().to_line();
    EXPECT_THAT(served->group_versions, ElementsAre("apps/v1", "apps/v1beta1", "cold.example.com/v1",
                                                    "metrics.k8s.io/v1beta1", "policy/v1", "v1"))
        << from;
    EXPECT_THAT(served->kinds, ElementsAre("apps/v1/Deployment", "apps/v1/Scale", "apps/v1beta1/Deployment",
                                           "metrics.k8s.io/v1beta1/PodMetrics", "metrics.k8s.io/v1beta1/Y",
                                           "v1/ConfigMap", "v1/Namespace"))
        << from;
  }
  EXPECT_EQ(requests, 3) << "the second only confirms";
}

// They would break the file in which it is kept.
TEST(ApiCatalogs, NamesWithSeparatorsAreLeftOut) {
  ApiCatalog catalog;
  ASSERT_TRUE(catalog
                  .add_aggregated(*encoding::parse_json(R"({"kind":"APIGroupDiscoveryList","items":[
    {"metadata":{"name":"a\tb"},"versions":[{"version":"v1","resources":[{"resource":"x",
      "responseKind":{"kind":"X"},"subresources":[{"subresource":"s","responseKind":{"kind":"S"}}]}]}]},
    {"metadata":{"name":"c"},"versions":[{"version":"","resources":[{"resource":"x",
      "responseKind":{"kind":"X"},"subresources":[{"subresource":"s","responseKind":{"kind":"S"}}]}]}]}]})"))
                  .ok());
  ASSERT_TRUE(
      catalog
          .add_group_version(*encoding::parse_json(R"({"kind":"APIResourceList","groupVersion":"d\n/v1",
    "resources":[{"name":"x/s","kind":"S"}]})"))
          .ok());
  EXPECT_THAT(catalog.group_versions, ::testing::IsEmpty());
  EXPECT_THAT(catalog.subresource_kinds, ::testing::IsEmpty());
  EXPECT_TRUE(ApiCatalog::parse(catalog.to_text()).has_value());
}

TEST_F(DiscoveryTest, OfAnApiThatDoesNotAnswerNothingIsKnown) {
  const auto discovery = make();
  const GroupKind metrics{"metrics.k8s.io", "PodMetrics"};
  for (const std::string version : {"", "v1beta1"}) {
    const auto down = discovery->resource_for(metrics, version, {});
    ASSERT_FALSE(down.ok());
    EXPECT_TRUE(is_api_down(down.error()));
    EXPECT_EQ(down.error().kind, ErrorKind::Retryable) << "it is not gone";
    EXPECT_EQ(down.error().message,
              "the API service v1beta1.metrics.k8s.io doesn't answer, so nothing is known of "
              "PodMetrics.metrics.k8s.io");
    EXPECT_EQ(down.error().because, "503") << "who may not read API services is told that";
  }
  answers["/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"] = *encoding::parse_json(
      R"({"status":{"conditions":[{"type":"Available","status":"False","reason":"MissingEndpoints","message":"none"}]}})");
  EXPECT_EQ(discovery->resource_for(metrics, "", {}).error().because, "MissingEndpoints: none");
  answers["/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"] = *encoding::parse_json(
      R"({"status":{"conditions":[{"type":"Available","status":"True","reason":"Passed","message":"all checks"}]}})");
  EXPECT_THAT(discovery->resource_for(metrics, "", {}).error().because, HasSubstr("in a moment"));
  // Nobody serves a version that isn't registered.
  EXPECT_EQ(discovery->resource_for(metrics, "v7", {}).error().kind, ErrorKind::NotFound);
}

TEST_F(DiscoveryTest, UnknownKindAsksAgainOnce) {
  const auto discovery = make();
  ASSERT_TRUE(discovery->resource_for({"", "ConfigMap"}, "", {}).ok());
  const auto unknown = discovery->resource_for({"example.com", "Toy"}, "", {});
  EXPECT_EQ(unknown.error().message, "the cluster has no kind Toy.example.com");
  EXPECT_EQ(requests, 4);
  etags["/apis"] = "\"toys\"";
  serve(kCore, R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"example.com"},"versions":[
    {"version":"v1","resources":[{"resource":"toys","responseKind":{"kind":"Toy"},"scope":"Cluster","verbs":[]}]}]}]})");
  EXPECT_TRUE(discovery->resource_for({"example.com", "Toy"}, "", {}).ok());
  EXPECT_EQ(requests, 6);
  EXPECT_EQ(make()->resource_for({"example.com", "Toy"}, "v1", {})->resource, "toys");
  EXPECT_EQ(requests, 7) << "what was learned is in the file, and nothing changed since";
}

TEST_F(DiscoveryTest, InvalidateTrustsNeitherMemoryNorFile) {
  const auto discovery = make();
  ASSERT_TRUE(discovery->resource_for({"", "ConfigMap"}, "", {}).ok());
  discovery->invalidate();
  ASSERT_TRUE(discovery->resource_for({"", "ConfigMap"}, "", {}).ok());
  EXPECT_EQ(requests, 4);
}

std::string toys(std::string_view scope) {
  return fmt::format(
      R"({{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"example.com"}},"versions":[
    {{"version":"v1","resources":[{{"resource":"toys","responseKind":{{"kind":"Toy"}},"scope":"{}","verbs":[]}}]}}]}}]}})",
      scope);
}

TEST_F(DiscoveryTest, AKindThatMayBeReplacedIsAskedForAgainInEachCommand) {
  const GroupKind toy{"example.com", "Toy"};
  serve(kCore, toys("Namespaced"));
  etags["/apis"] = "\"one\"";
  EXPECT_TRUE(make()->resource_for(toy, "v1", {})->namespaced);
  EXPECT_EQ(requests, 2);
  const auto unchanged = make();
  EXPECT_TRUE(unchanged->resource_for({"", "ConfigMap"}, "", {}).ok());
  EXPECT_EQ(requests, 2) << "nobody can replace what is compiled into the server";
  EXPECT_TRUE(unchanged->resource_for(toy, "v1", {})->namespaced);
  EXPECT_EQ(requests, 3) << "nothing changed";
  EXPECT_TRUE(unchanged->resource_for(toy, "", {})->namespaced);
  EXPECT_EQ(requests, 3) << "as the server just said";

  serve(kCore, toys("Cluster"));
  etags["/apis"] = "\"two\"";
  EXPECT_FALSE(make()->resource_for(toy, "v1", {})->namespaced);
  EXPECT_EQ(requests, 5);
  EXPECT_FALSE(make()->resource_for(toy, "v1", {})->namespaced);
  EXPECT_EQ(requests, 6) << "what was learned is in the file, with its tag";
  clock.advance(6s);
  EXPECT_FALSE(unchanged->resource_for(toy, "v1", {})->namespaced) << "one that lives long asks, too";
}

TEST_F(DiscoveryTest, AKindOfTwoResourcesIsTheOneThatKeepsObjects) {
  const std::string text = R"({"kind":"APIGroupDiscoveryList","items":[
 {"metadata":{"name":"template.openshift.io"},"versions":[{"version":"v1","resources":[
  {"resource":"processedtemplates","responseKind":{"kind":"Template"},"scope":"Namespaced","verbs":["create"]},
  {"resource":"templates","responseKind":{"kind":"Template"},"scope":"Namespaced","verbs":["get","list","patch"]},
  {"resource":"undertemplates","responseKind":{"kind":"Template"},"scope":"Namespaced","verbs":["create"]}]}]},
 {"metadata":{"name":"reviews.example.com"},"versions":[{"version":"v1","resources":[
  {"resource":"localreviews","responseKind":{"kind":"Review"},"scope":"Namespaced","verbs":["create"]},
  {"resource":"reviews","responseKind":{"kind":"Review"},"scope":"Cluster","verbs":["create"]}]}]}]})";
  serve(kCore, text);
  etags["/apis"] = "\"one\"";
  const GroupKind kind{"template.openshift.io", "Template"};
  for (const std::string_view from : {"the server", "the file"}) {
    const auto discovery = make();
    EXPECT_EQ(discovery->resource_for(kind, "v1", {})->resource, "templates") << from;
    EXPECT_EQ(discovery->resource_for(kind, "", {})->resource, "templates") << from;
    EXPECT_EQ(discovery->resource_for_alias("template", {})->resource, "templates") << from;
    EXPECT_EQ(discovery->resource_for({"reviews.example.com", "Review"}, "v1", {})->resource, "reviews")
        << from;
    EXPECT_EQ(discovery->all_resources({})->size(), 7u) << from << ": pruning looks at each resource";
    EXPECT_THAT(discovery->resource_for(kind, "v2", {}).error().message, HasSubstr("in v1, not in v2"))
        << from;
  }
}

TEST_F(DiscoveryTest, ListsOfAllKindsAreAsTheServerHasThemNow) {
  etags["/apis"] = "\"one\"";
  const auto lasting = make();
  EXPECT_EQ(lasting->all_resources({})->size(), 3u);
  EXPECT_EQ(lasting->served_apis({})->group_versions.size(), 4u);
  EXPECT_EQ(lasting->apis_down({})->size(), 1u);
  EXPECT_EQ(requests, 3) << "the third asks for the condition of what is down";
  EXPECT_EQ(make()->all_resources({})->size(), 3u);
  EXPECT_EQ(requests, 4) << "another command asks whether its file is still right";

  serve(kCore, toys("Namespaced"));
  etags["/apis"] = "\"two\"";
  EXPECT_EQ(make()->all_resources({})->back().resource, "toys") << "a file isn't trusted";
  clock.advance(6s);
  EXPECT_EQ(lasting->all_resources({})->back().resource, "toys") << "memory neither";
  serve(kCore, kGroups);
  etags["/apis"] = "\"three\"";
  clock.advance(6s);
  EXPECT_EQ(lasting->served_apis({})->group_versions.size(), 4u);
  serve(kCore, toys("Namespaced"));
  etags["/apis"] = "\"four\"";
  clock.advance(6s);
  EXPECT_TRUE(lasting->apis_down({})->empty());
}

TEST_F(DiscoveryTest, InMemoryBuiltInKindsGetTooOldAsInTheFile) {
  const GroupKind autoscaler{"autoscaling", "HorizontalPodAutoscaler"};
  etags["/apis"] = "\"one\"";
  const auto discovery = make();
  EXPECT_EQ(discovery->resource_for(autoscaler, "", {})->gvk.version, "v2");
  serve(kCore, R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"autoscaling"},"versions":[
    {"version":"v3","resources":[{"resource":"horizontalpodautoscalers",
      "responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["get"]}]}]}]})");
  etags["/apis"] = "\"two\"";
  clock.advance(9min);
  EXPECT_EQ(discovery->resource_for(autoscaler, "", {})->gvk.version, "v2");
  EXPECT_EQ(requests, 2);
  clock.advance(1min);
  EXPECT_EQ(discovery->resource_for(autoscaler, "", {})->gvk.version, "v3") << "the server was upgraded";
}

TEST_F(DiscoveryTest, AServerWithoutTagsIsAskedForAllOfIt) {
  const GroupKind toy{"example.com", "Toy"};
  serve(kCore, toys("Namespaced"));
  EXPECT_TRUE(make()->resource_for(toy, "v1", {})->namespaced);
  serve(kCore, toys("Cluster"));
  EXPECT_FALSE(make()->resource_for(toy, "v1", {})->namespaced);
  EXPECT_EQ(requests, 4);
}

TEST_F(DiscoveryTest, WhatCannotBeConfirmedIsAnError) {
  const GroupKind toy{"example.com", "Toy"};
  serve(kCore, toys("Namespaced"));
  etags["/apis"] = "\"one\"";
  EXPECT_TRUE(make()->resource_for(toy, "v1", {}).ok());
  answers.erase("/apis");
  const auto unknown = make()->resource_for(toy, "v1", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::Retryable);
}

TEST_F(DiscoveryTest, ErrorsSuggestOrExplain) {
  const auto discovery = make();
  EXPECT_EQ(discovery->resource_for({"", "ConfigMpa"}, "", {}).error().hint, "did you mean ConfigMap?");
  EXPECT_EQ(discovery->resource_for({"apps", "ConfigMap"}, "", {}).error().hint,
            "ConfigMap is in the API group \"\"");
  EXPECT_THAT(discovery->resource_for({"metrics.k8s.io", "NodeMetrics"}, "", {}).error().message,
              HasSubstr("doesn't answer"));
}

TEST_F(DiscoveryTest, KnowsAliases) {
  const auto discovery = make();
  for (const std::string_view word : {"cm", "configmap", "ConfigMaps", "configmap", "hpa.autoscaling"}) {
    const auto found = discovery->resource_for_alias(word, {});
    EXPECT_EQ(found.ok(), word != "hpa.autoscaling") << word;
  }
}

TEST_F(DiscoveryTest, DamagedCacheFileIsIgnored) {
  ASSERT_TRUE(make()->resource_for({"", "ConfigMap"}, "", {}).ok());
  const Path file = directory.path() / "cache" / fs.list(directory.path() / "cache")->front().name;
  const std::string whole = *fs.read(file);
  for (const std::string& damaged : {std::string(), std::string("x"), whole.substr(0, whole.size() / 2),
                                     whole.substr(0, whole.size() - 1), "9999999999\n" + whole}) {
    requests = 0;
    ASSERT_TRUE(fs.write(file, damaged).ok());
    EXPECT_TRUE(make()->resource_for({"", "ConfigMap"}, "", {}).ok());
    EXPECT_EQ(requests, 2);
  }
}

TEST_F(DiscoveryTest, FallsBackToTheOldWay) {
  serve(R"({"kind":"APIVersions","versions":["v1"]})",
        R"({"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1beta1"},
           {"groupVersion":"apps/v1"}],"preferredVersion":{"groupVersion":"apps/v1"}},
           {"name":"broken","versions":[{"groupVersion":"broken/v1"}]}]})");
  answers["/api/v1"] = *encoding::parse_json(R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"podproofs","namespaced":true,"kind":"Pod","verbs":["create"]},
    {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get"]},
    {"name":"pods/log","namespaced":true,"kind":"Pod","verbs":["get"]},
    {"name":"pods/eviction","namespaced":true,"kind":"Eviction","verbs":["create"]}]})");
  for (const std::string_view version : {"v1", "v1beta1"})
    answers[fmt::format("/apis/apps/{}", version)] = *encoding::parse_json(fmt::format(
        R"({{"kind":"APIResourceList","groupVersion":"apps/{}","resources":[
        {{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":[]}}]}})",
        version));
  const auto discovery = make();
  EXPECT_EQ(discovery->resource_for({"", "Pod"}, "", {})->resource, "pods");
  EXPECT_EQ(discovery->resource_for({"apps", "Deployment"}, "", {})->gvk.version, "v1");
  EXPECT_THAT(discovery->resource_for({"broken", "X"}, "", {}).error().message,
              HasSubstr("v1.broken doesn't answer"));
  EXPECT_THAT(discovery->served_apis({})->group_versions,
              ElementsAre("apps/v1", "apps/v1beta1", "broken/v1", "v1"));
  EXPECT_THAT(discovery->served_apis({})->kinds,
              ElementsAre("apps/v1/Deployment", "apps/v1beta1/Deployment", "v1/Eviction", "v1/Pod"));
}

}  // namespace
}  // namespace mist::kube
