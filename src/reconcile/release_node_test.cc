#include "reconcile/release_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reconcile/decide.h"
#include "reconcile/simulation.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

Value release(std::string_view status = "{}") {
  Value object = yaml(
      "{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {name: web-db, namespace: shop, "
      "generation: 2}, spec: {package: 'team/db:1'}}");
  object.set("status", yaml(status));
  return object;
}
std::string condition(std::string_view status, std::string_view reason, int generation = 2) {
  return fmt::format(
      "{{conditions: [{{type: Ready, status: '{}', reason: {}, message: why, observedGeneration: {}}}]}}",
      status, reason, generation);
}

TEST(ReleaseNode, AReleaseSaysWhyItIsNotReady) {
  EXPECT_TRUE(is_unseen(release()));
  EXPECT_EQ(release_words(release()), "no operator with --releases has looked at it yet");
  EXPECT_FALSE(has_failed(release()));
  const Value failed = release(condition("False", "DeployFailed"));
  EXPECT_TRUE(has_failed(failed));
  EXPECT_EQ(release_words(failed), "DeployFailed: why");
  EXPECT_FALSE(has_failed(release(condition("Unknown", "Progressing"))));
  EXPECT_FALSE(has_failed(release(condition("False", "DependencyNotReady"))));
  EXPECT_EQ(release_words(release(condition("True", "Deployed"))), "");
}

TEST(ReleaseNode, AConditionOfAFormerSpecSaysNothing) {
  const Value former = release(condition("False", "DeployFailed", 1));
  EXPECT_TRUE(is_unseen(former));
  EXPECT_FALSE(has_failed(former));
  EXPECT_EQ(release_words(former), "its last change has not been looked at yet");
  EXPECT_EQ(release_words(release("{conditions: [{type: Suspended, status: 'True'}]}")),
            "it is suspended by its field spec.suspend");
}

TEST(ReleaseNode, IsAboutAReleaseOfItsOwnNameOrAnother) {
  EXPECT_EQ(release_named_by(release()), std::pair(std::string("shop"), std::string("web-db")));
  Value other = release();
  other["spec"].set("releaseName", "db");
  other["spec"].set("targetNamespace", "data");
  EXPECT_EQ(release_named_by(other), std::pair(std::string("data"), std::string("db")));
}

TEST(ReleaseNode, SecretExportsAreKnownToBeLeftOut) {
  const Value some = release("{hiddenExports: [.password, '.users[0].key']}");
  EXPECT_TRUE(hides_export(some, "exports.password"));
  EXPECT_TRUE(hides_export(some, "exports.password.text"));
  EXPECT_FALSE(hides_export(some, "exports.passwords"));
  EXPECT_FALSE(hides_export(some, "exports.host"));
  EXPECT_TRUE(hides_export(release("{hiddenExports: [.]}"), "exports.host"));
}

TEST(ReleaseNode, InTheBlueprintsNamespaceItHasTheBlueprintsAccount) {
  const auto account = [](Value made, const BlueprintAccount& of) {
    give_account(made, of);
    return std::string(made.string_at({"spec", "serviceAccountName"}));
  };
  EXPECT_EQ(account(release(), {"shop", "worker"}), "worker");
  EXPECT_EQ(account(release(), {"shop", ""}), "") << "the operator's own";
  EXPECT_EQ(account(release(), {"mistletoe", "worker"}), "") << "accounts are of the Release's namespace";
  Value named = release();
  named["spec"].set("serviceAccountName", "other");
  EXPECT_EQ(account(named, {"shop", "worker"}), "other");
  Value several = Value::array({release(), yaml("{apiVersion: v1, kind: Pod, metadata: {name: a}}")});
  give_account(several, {"shop", "worker"});
  EXPECT_EQ(several.as_array()[0].string_at({"spec", "serviceAccountName"}), "worker");
  EXPECT_EQ(several.as_array()[1].find("spec"), nullptr);
}

// A package and a ConfigMap that has one of its exports.
class PackageNodeTest : public ::testing::Test {
 protected:
  static Simulation::Functions functions() {
    return {.make = [](const std::string& node, const Value& environment) -> Result<Value> {
              if (node == "db") {
                Value made = release();
                made.erase("status");
                made["metadata"].erase("generation");
                made["spec"]["values"].set("size", *environment.at_path({"instance", "spec", "size"}));
                return made;
              }
              Value made = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: app}}");
              made["data"].set("host", *environment.find("host"));
              return made;
            },
            .check_node = {},
            .check_edge = {}};
  }
  static std::vector<std::string> actions(const std::vector<Round>& rounds) {
    std::vector<std::string> all;
    for (const Round& each : rounds) all.insert(all.end(), each.actions.begin(), each.actions.end());
    return all;
  }
  static NodeReport report(const std::vector<Round>& rounds, std::string_view node) {
    for (const NodeReport& each : rounds.back().nodes)
      if (each.node == node) return each;
    return {};
  }

  const blueprint::Blueprint blueprint =
      *blueprint::Blueprint::parse(yaml("kind: {group: example.com, version: v1, kind: App}\n"
                                        "nodes: {db: {type: package, status: {at: exports.host}}, app: own}\n"
                                        "also: [{from: instance, to: db}, {from: instance, to: app}]\n"
                                        "sequence: [{from: db, to: app, extract: {host: exports.host}}]\n"));
  const Value instance = yaml(
      "{apiVersion: example.com/v1, kind: App, metadata: {name: web, namespace: shop}, spec: {size: 1}}");
};

TEST_F(PackageNodeTest, WhatComesAfterGetsItsExportsWhenItIsReady) {
  Simulation simulation(blueprint, instance, functions(), true);
  simulation.release("db", {.exports = yaml("{host: db.shop}")});
  EXPECT_THAT(actions(simulation.settle()),
              ElementsAre("create Release shop/web-db (node db)", "create ConfigMap shop/app (node app)"));
  EXPECT_EQ(simulation.status().string_at("at"), "db.shop");
  // Another input: what comes after waits for the next state of the package, not for the former.
  simulation.release("db", {.exports = yaml("{host: other.shop}")});
  simulation.change_instance(yaml("{spec: {size: 2}}"));
  const auto rounds = simulation.settle();
  EXPECT_THAT(actions(rounds),
              ElementsAre("change Release shop/web-db (node db)", "change ConfigMap shop/app (node app)"));
  EXPECT_EQ(report(rounds, "db").state, NodeState::Ready);
}

TEST_F(PackageNodeTest, AFailureIsToldInItsOwnWordsAndLeavesTheRest) {
  Simulation simulation(blueprint, instance, functions(), true);
  simulation.release("db", {.exports = yaml("{host: db.shop}")});
  simulation.settle();
  simulation.release("db", {.failure = "Deployment shop/web-db: 0 of 1 replicas are ready"});
  simulation.change_instance(yaml("{spec: {size: 2}}"));
  const auto rounds = simulation.settle();
  EXPECT_THAT(actions(rounds), ElementsAre("change Release shop/web-db (node db)"));
  EXPECT_EQ(report(rounds, "db").state, NodeState::Failed);
  EXPECT_EQ(report(rounds, "db").detail, "DeployFailed: Deployment shop/web-db: 0 of 1 replicas are ready");
  EXPECT_EQ(report(rounds, "app").state, NodeState::Ready) << "it has the last good values";
  EXPECT_EQ(simulation.status().at_path({"conditions"})->as_array()[0].string_at("reason"), "Failed");
}

TEST_F(PackageNodeTest, IsDeletedAfterWhatCameAfterIt) {
  Simulation simulation(blueprint, instance, functions(), true);
  simulation.release("db", {.exports = yaml("{host: db.shop}")});
  simulation.settle();
  simulation.delete_instance();
  EXPECT_THAT(actions(simulation.settle()),
              ElementsAre("delete ConfigMap shop/app (node app)", "delete Release shop/web-db (node db)"));
  EXPECT_TRUE(simulation.gone());
}

TEST_F(PackageNodeTest, AnExportThatIsNotThereIsWaitedFor) {
  Simulation simulation(blueprint, instance, functions(), true);
  const auto rounds = simulation.settle();
  EXPECT_EQ(report(rounds, "app").detail, "waits for exports.host of db");
  EXPECT_EQ(report(rounds, "db").state, NodeState::Ready);
}

// One look at a Release that is there as it is wanted.
class KeptReleaseTest : public PackageNodeTest {
 protected:
  Plan decided(const std::string& status) {
    there = Value();
    Value live = instance;
    live["metadata"].set("uid", "u1");
    Queries queries{.make = functions().make,
                    .observe =
                        [&](const ObjectId& id, bool) {
                          if (id.kind != "Release" || there.is_null())
                            return Observation{Observation::State::Absent, {}, {}};
                          return Observation{Observation::State::There, there, {}};
                        },
                    .not_kept = [](const Value&) { return std::string("start it with --releases all"); }};
    const Plan first = decide(blueprint, live, {}, queries);
    EXPECT_EQ(first.applies.size(), 1U);
    there = first.applies.front().object;
    there["metadata"].set("uid", "r1");
    there["metadata"].set("generation", 2);
    there["metadata"].set("managedFields", Value::array({}));
    there.set("status", yaml(status));
    return decide(blueprint, live, first.record, queries);
  }
  static std::string detail(const Plan& plan, std::string_view node) {
    for (const NodeReport& each : plan.nodes)
      if (each.node == node) return each.detail;
    return {};
  }
  Value there;
};

TEST_F(KeptReleaseTest, SaysWhatToDoWhereNobodyLooksAtIt) {
  const Plan plan = decided("{}");
  EXPECT_EQ(detail(plan, "db"),
            "no operator with --releases has looked at it yet; start it with --releases all");
  EXPECT_THAT(plan.applies, IsEmpty());
}

TEST_F(KeptReleaseTest, IsNotReadyByTheStatusOfAFormerSpec) {
  const std::string exports = "exports: {host: old}, observedGeneration: 1, ";
  const Plan former = decided("{" + exports + condition("True", "Deployed", 1).substr(1));
  EXPECT_THAT(detail(former, "db"), HasSubstr("its last change has not been looked at yet"));
  EXPECT_THAT(former.applies, IsEmpty()) << "what comes after waits";
  // An operator that writes the status of a look that began before the change.
  const Plan mixed =
      decided("{exports: {host: old}, observedGeneration: 2, " + condition("True", "Deployed", 1).substr(1));
  EXPECT_THAT(mixed.applies, IsEmpty());
}

TEST_F(KeptReleaseTest, SaysThatAnExportIsSecret) {
  const Plan plan = decided("{hiddenExports: [.host], observedGeneration: 2, " +
                            condition("True", "Deployed", 2).substr(1));
  EXPECT_THAT(detail(plan, "app"), HasSubstr("waits for exports.host of db, which is secret"));
}

TEST_F(KeptReleaseTest, WithoutTheKindTheReasonIsTold) {
  Queries queries{.make = functions().make, .observe = [](const ObjectId&, bool) {
                    return Observation{Observation::State::Unknown, {}, std::string(kNoReleases)};
                  }};
  const Plan plan = decide(blueprint, instance, {}, queries);
  EXPECT_THAT(detail(plan, "db"), HasSubstr("mistletoe-operator --crds | kubectl apply -f -"));
}

}  // namespace
}  // namespace mist::reconcile
