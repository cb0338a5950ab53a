#include "apply/plan/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "http/transport.h"
#include "kube/api_failure.h"
#include "testing/api_refusal.h"
#include "testing/crd.h"
#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RedefinedKinds, AreThoseWhoseCrdsAreWritten) {
  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, {"default", "web"},
                               testing::crd_yaml("Tally", "tallies") +
                                   "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n");
  EXPECT_THAT(redefined_kinds(plan), ElementsAre(GroupKind{"example.com", "Tally"}));
  for (PlannedAction& action : plan.writes) action.kind = ActionKind::Unchanged;
  EXPECT_THAT(redefined_kinds(plan), IsEmpty());
}

TEST(OurLabel, IsTheOnlyFieldOrNot) {
  const auto refused = [](const std::vector<std::string>& fields) {
    std::vector<kube::ApiFailure::Cause> causes;
    for (const std::string& field : fields) causes.push_back({"FieldManagerConflict", field});
    return testing::api_refusal(ErrorKind::Conflict, "x can't be written", "Apply failed", causes);
  };
  const std::string label = ".metadata.labels.mistletoe.dev/tied-to-install-version";
  EXPECT_TRUE(is_about_our_label(refused({label})));
  EXPECT_TRUE(is_about_our_label(refused({label, label})));
  EXPECT_FALSE(is_about_our_label(refused({".data.x", label})));
  EXPECT_FALSE(is_about_our_label(refused({".data.x"})));
  EXPECT_FALSE(is_about_our_label(refused({})));
}

// A plan that asks about a ConfigMap that is as wanted, while `meanwhile` happens behind the look.
PlannedAction asked_about(const std::function<void(testing::FakeCluster&)>& meanwhile,
                          const std::optional<Error>& refusal = std::nullopt, const PlanRules& rules = {}) {
  constexpr std::string_view kMap = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {a: "1"}
)";
  const Owner id{"default", "web"};
  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, id, kMap);
  PlannedAction& action = plan.writes.front();
  const kube::ObjectRef ref{action.resource, action.key.ns, action.key.name};
  const Value wanted = with_version(plan.desired[action.desired].rendered, 0);
  Value there = *cluster.apply(ref, wanted, {}, Context());
  action.kind = ActionKind::Update;
  action.ask = true;
  action.uid = there.string_at({"metadata", "uid"});
  const LiveState live{{action.key, {std::move(there), true}}};
  bool done = false;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.dry_run && !std::exchange(done, true)) meanwhile(cluster);
    return call.dry_run ? refusal : std::nullopt;
  });
  EXPECT_TRUE(settle(cluster, plan, live, rules, Context()).ok());
  return plan.writes.front();
}

TEST(Settle, TakesWhatControllersWriteMeanwhileForNoChangeOfOurs) {
  const auto annotate = [](testing::FakeCluster& cluster) {
    Value map = *cluster.find("ConfigMap", "default", "plain");
    map["metadata"]["annotations"].set("example.com/seen", "yes");
    cluster.put(std::move(map), "controller");
  };
  EXPECT_EQ(asked_about([](auto&) {}).kind, ActionKind::Unchanged);
  EXPECT_EQ(asked_about(annotate).kind, ActionKind::Unchanged);
}

TEST(Settle, SeesWhatSomebodyChangesMeanwhile) {
  const auto change = [](testing::FakeCluster& cluster) {
    Value map = *cluster.find("ConfigMap", "default", "plain");
    map["data"].set("a", "2");
    cluster.put(std::move(map), "kubectl-edit");
  };
  EXPECT_EQ(asked_about(change).kind, ActionKind::Conflict);
}

Error refused_with(ErrorKind kind, std::string words) {
  return testing::api_refusal(kind, "cannot apply it", std::move(words));
}

TEST(Settle, WhatTheServerForbidsIsKnownBeforeAnythingIsWritten) {
  const Error policy =
      refused_with(ErrorKind::Forbidden, "configmaps \"plain\" is forbidden: not on Fridays");
  const PlannedAction denied = asked_about([](auto&) {}, policy);
  EXPECT_EQ(denied.kind, ActionKind::Conflict);
  EXPECT_EQ(denied.refusal.cause, ConflictCause::Denied);
  EXPECT_THAT(denied.reason, ::testing::HasSubstr("not on Fridays"));
  EXPECT_EQ(asked_about([](auto&) {}, policy, {.read_only = true}).kind, ActionKind::Conflict);
}

// It would be deleted, and never come back.
TEST(Settle, WhatWouldBeInvalidAsANewObjectTooIsNotReplaced) {
  const auto refusal = [](const std::vector<kube::ApiFailure::Cause>& causes) {
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply it", "x: Invalid value: field is immutable",
                                causes);
  };
  PlanRules rules;
  rules.allowed.replace = true;
  EXPECT_EQ(asked_about([](auto&) {}, refusal({{"FieldValueForbidden", "spec"}}), rules).kind,
            ActionKind::Replace);
  const PlannedAction both = asked_about(
      [](auto&) {}, refusal({{"FieldValueForbidden", "spec"}, {"FieldValueNotSupported", "spec.policy"}}),
      rules);
  EXPECT_EQ(both.kind, ActionKind::Conflict);
  EXPECT_EQ(both.refusal.cause, ConflictCause::Refused);
}

// A plan that replaces a ConfigMap, of which the server refuses just the dry run of that verb.
PlannedAction replaced(std::string_view verb, const Error& refusal) {
  const Owner id{"default", "web"};
  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, id, "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}");
  PlannedAction& action = plan.writes.front();
  const kube::ObjectRef ref{action.resource, action.key.ns, action.key.name};
  Value there = *cluster.apply(ref, with_version(plan.desired[0].rendered, 0), {}, Context());
  action.kind = ActionKind::Replace;
  action.refusal.cause = ConflictCause::Immutable;
  action.uid = there.string_at({"metadata", "uid"});
  const LiveState live{{action.key, {std::move(there), true}}};
  const Error immutable = testing::api_refusal(ErrorKind::Invalid, "cannot apply it", "field is immutable",
                                               {{"FieldValueForbidden", "data"}});
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (!call.dry_run) return std::nullopt;
    if (call.verb == verb) return refusal;
    return call.verb == "apply" ? std::optional(immutable) : std::nullopt;
  });
  PlanRules rules;
  rules.allowed.replace = true;
  EXPECT_TRUE(settle(cluster, plan, live, rules, Context()).ok());
  EXPECT_TRUE(cluster.find("ConfigMap", "default", "plain").has_value());
  return plan.writes.front();
}

TEST(Settle, WhatCouldNotComeBackIsNotDeleted) {
  const Error rights = refused_with(ErrorKind::Forbidden,
                                    "x is forbidden: User \"ann\" cannot create resource \"configmaps\"");
  const Error denied = refused_with(ErrorKind::Forbidden, "x is forbidden: not on Fridays");
  const Error quota = refused_with(ErrorKind::Forbidden, "x is forbidden: exceeded quota: all, requested: 1");
  EXPECT_EQ(replaced("create", rights).refusal.cause, ConflictCause::NoRight);
  EXPECT_EQ(replaced("create", denied).refusal.cause, ConflictCause::Denied);
  EXPECT_EQ(replaced("delete", denied).refusal.cause, ConflictCause::Denied);
  // The old object still counts.
  EXPECT_EQ(replaced("create", quota).kind, ActionKind::Replace);
  EXPECT_EQ(replaced("get", denied).kind, ActionKind::Replace);
}

TEST(Settle, RightsThatAreMissingStopAWriteAndNoLook) {
  const Error rights =
      refused_with(ErrorKind::Forbidden,
                   "configmaps \"plain\" is forbidden: User \"ann\" cannot patch resource \"configmaps\"");
  EXPECT_EQ(asked_about([](auto&) {}, rights).refusal.cause, ConflictCause::NoRight);
  EXPECT_EQ(asked_about([](auto&) {}, rights, {.read_only = true}).kind, ActionKind::Update);
}

// The planned creation of a ConfigMap after the server refused its dry run.
PlannedAction created(const Error& refusal, const PlanRules& rules = {}) {
  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, {"default", "web"},
                               "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}");
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.key.name != "plain") return std::nullopt;
    EXPECT_TRUE(call.dry_run);
    return refusal;
  });
  ask_about_all_changes(plan);
  EXPECT_TRUE(settle(cluster, plan, {}, rules, Context()).ok());
  EXPECT_FALSE(cluster.find("ConfigMap", "default", "plain").has_value());
  return plan.writes.back();
}

TEST(Settle, WhatCannotBeCreatedIsKnownBeforeAnythingIsWritten) {
  const Error invalid =
      testing::api_refusal(ErrorKind::Invalid, "cannot apply it",
                           "ConfigMap \"plain\" is invalid: x: too long", {{"FieldValueTooLong", "x"}});
  const PlannedAction refused = created(invalid);
  EXPECT_EQ(refused.refusal.cause, ConflictCause::Refused);
  EXPECT_EQ(refused.refusal.field, "x");
  EXPECT_EQ(created(refused_with(ErrorKind::Forbidden, "x is forbidden: not on Fridays")).refusal.cause,
            ConflictCause::Denied);
  const Error rights = refused_with(ErrorKind::Forbidden,
                                    "x is forbidden: User \"ann\" cannot create resource \"configmaps\"");
  EXPECT_EQ(created(rights).refusal.cause, ConflictCause::NoRight);
  EXPECT_EQ(created(rights, {.read_only = true}).kind, ActionKind::Create);
}

// How many dry runs a first install of twenty ConfigMaps sends.
std::size_t asked_of_twenty(const std::string& policy) {
  testing::FakeCluster cluster;
  std::string maps;
  for (int i = 0; i < 20; ++i)
    maps += fmt::format("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m{}}}}}\n", i);
  Plan plan = testing::plan_of(cluster, {"default", "web"}, maps);
  if (!policy.empty()) cluster.put(*encoding::parse_yaml(policy), "kubectl");
  std::atomic<std::size_t> asked = 0;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.dry_run) ++asked;
    return std::nullopt;
  });
  ask_about_all_changes(plan);
  EXPECT_TRUE(settle(cluster, plan, {}, {}, Context()).ok());
  return asked;
}

TEST(Settle, OneOfManyTellsOfRightsWhereNothingJudgesThem) {
  const std::string judge =
      "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: "
      "{{name: "
      "j}}, webhooks: [{{name: j.example.com, rules: [{{apiGroups: [{}], operations: [{}], resources: "
      "['*']}}]}}]}}";
  EXPECT_EQ(asked_of_twenty(""), 1);
  EXPECT_EQ(asked_of_twenty(fmt::format(fmt::runtime(judge), "apps", "CREATE")), 1);
  EXPECT_EQ(asked_of_twenty(fmt::format(fmt::runtime(judge), "''", "DELETE")), 1);
  EXPECT_EQ(asked_of_twenty(fmt::format(fmt::runtime(judge), "''", "CREATE")), 20);
}

TEST(Settle, AServerThatIsGoneIsAskedNoFurther) {
  testing::FakeCluster cluster;
  std::string objects;
  for (int i = 0; i < 100; ++i)
    objects += fmt::format("---\n{{apiVersion: v1, kind: Service, metadata: {{name: s{}}}}}\n", i);
  Plan plan = testing::plan_of(cluster, {"default", "web"}, objects);
  std::atomic<std::size_t> asked = 0;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    ++asked;
    return http::undelivered(http::Sent::Maybe, "the connection broke");
  });
  ask_about_all_changes(plan);
  const Status settled = settle(cluster, plan, {}, {}, Context());
  ASSERT_FALSE(settled.ok());
  EXPECT_THAT(settled.error().to_line(), HasSubstr("the connection broke"));
  EXPECT_LE(asked, 16) << "each would wait as long";
}

TEST(Settle, WhatTheServerCannotSayYetIsLeftToTheWrite) {
  EXPECT_EQ(created(refused_with(ErrorKind::NotFound, "namespaces \"default\" not found")).kind,
            ActionKind::Create);
  EXPECT_EQ(created(refused_with(ErrorKind::Conflict, "plain already exists")).kind, ActionKind::Create);
}

TEST(Settle, AWebhookThatNoDryRunMayCallSaysNothing) {
  const Error webhook = refused_with(
      ErrorKind::Invalid, "admission webhook \"a.b\" does not support dry run because the sideEffects field");
  EXPECT_EQ(asked_about([](auto&) {}, webhook).kind, ActionKind::Update);
  const Error invalid = refused_with(ErrorKind::Invalid, "ConfigMap \"plain\" is invalid: x: too long");
  EXPECT_EQ(asked_about([](auto&) {}, invalid).refusal.cause, ConflictCause::Refused);
}

}  // namespace
}  // namespace mist::apply
