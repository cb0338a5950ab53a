#include "releases/status.h"

#include <gtest/gtest.h>

#include "apimachinery/conditions.h"
#include "reconcile/status.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

constexpr std::string_view kBefore = "2026-01-01T00:00:00Z", kNow = "2026-01-02T00:00:00Z";

Value object() {
  return testing::yaml(
      "metadata: {name: web, namespace: apps, generation: 3}\nspec: {package: 'team/web:1.0.0'}");
}

Value with_status(const Report& report, std::string_view now = kBefore) {
  Value result = object();
  result.set("status", status_of(result, report, std::string(now)));
  return result;
}

const Report kDone{.ready = "True",
                   .reason = reason::kDeployed,
                   .message = "web 1.0.0 is deployed as v4",
                   .drifted = Drift{},
                   .deployed = Deployed{"team/web:1.0.0", "sha256:1", 4, 3},
                   .attempt = Attempt{}};

TEST(ReleaseStatus, SaysWhatIsDeployed) {
  const Value done = with_status(kDone);
  EXPECT_TRUE(is_ready(done));
  EXPECT_EQ(applied_generation(done), 3);
  EXPECT_EQ(done.string_at({"status", "package"}), "team/web:1.0.0");
  EXPECT_EQ(done.string_at({"status", "release"}), "apps/web");
  EXPECT_EQ(*done.at_path({"status", "revision"}), Value(4));
  EXPECT_EQ(done.at_path({"status", "conditions"})->size(), 1U);
}

TEST(ReleaseStatus, IsOfTheSpecAsItIsNow) {
  Value done = with_status(kDone);
  done["metadata"].set("generation", 4);
  EXPECT_FALSE(is_ready(done));
  EXPECT_EQ(ready_words(done), "its spec has changed since");
  Value going = with_status(kDone);
  going["metadata"].set("deletionTimestamp", kNow);
  EXPECT_FALSE(is_ready(going));
  EXPECT_EQ(ready_words(going), "it is being deleted");
  EXPECT_EQ(ready_words(object()), "nobody has looked at it yet");
}

TEST(ReleaseStatus, KeepsWhatAFailureDoesNotTouch) {
  Value done = with_status(kDone);
  const Value failed = status_of(
      done, {.ready = "False", .reason = reason::kPackage, .message = "it is gone"}, std::string(kNow));
  EXPECT_EQ(failed.string_at("package"), "team/web:1.0.0");
  EXPECT_EQ(*failed.find("appliedGeneration"), Value(3));
  done.set("status", failed);
  EXPECT_EQ(apimachinery::condition_of(done, "Ready")->string_at("lastTransitionTime"), kNow);
  // The same status keeps its time, and drift that nobody looked at stays.
  done.set(
      "status",
      status_of(done, {.ready = "False", .reason = reason::kPackage, .drifted = Drift{"a field", "sha256:1"}},
                "2026-01-03T00:00:00Z"));
  EXPECT_EQ(apimachinery::condition_of(done, "Ready")->string_at("lastTransitionTime"), kNow);
  done.set("status", status_of(done, {.ready = "False", .reason = reason::kPackage}, std::string(kNow)));
  ASSERT_NE(apimachinery::condition_of(done, "Drifted"), nullptr);
  EXPECT_EQ(apimachinery::condition_of(done, "Drifted")->string_at("message"), "a field");
  EXPECT_EQ(drift_digest_of(done), "sha256:1");
  done.set("status", status_of(done, {.ready = "True", .drifted = Drift{}}, std::string(kNow)));
  EXPECT_EQ(apimachinery::condition_of(done, "Drifted"), nullptr);
  EXPECT_EQ(drift_digest_of(done), "") << "it goes with the condition";
}

TEST(ReleaseStatus, ExportsAreThoseOfWhatIsDeployed) {
  Report done = kDone;
  done.deployed->exports = render::PublicExports{testing::yaml("{host: db}"), {".password"}};
  Value object = with_status(done);
  EXPECT_EQ(*object.at_path({"status", "exports"}), testing::yaml("{host: db}"));
  EXPECT_EQ(*object.at_path({"status", "hiddenExports"}), testing::yaml("[.password]"));
  EXPECT_EQ(revision_of(object), 4);
  // They stay with what is deployed, and go with it.
  for (const Report& report : {Report{.ready = "False", .reason = reason::kFailed}, kDone}) {
    const Value status = status_of(object, report, std::string(kNow));
    EXPECT_EQ(status.string_at({"exports", "host"}), "db");
  }
  done.deployed->exports = render::PublicExports();
  const Value none = status_of(object, done, std::string(kNow));
  EXPECT_EQ(none.find("exports"), nullptr);
  EXPECT_EQ(none.find("hiddenExports"), nullptr);
  EXPECT_EQ(revision_of(Value::object()), -1);
}

TEST(ReleaseStatus, CountsFailuresUntilOneTryGoesWell) {
  Value failed =
      with_status({.ready = "False", .reason = reason::kFailed, .attempt = Attempt{"sha256:2", 2}});
  EXPECT_EQ(attempt_of(failed), (Attempt{"sha256:2", 2}));
  failed.set("status",
             status_of(failed, {.ready = "Unknown", .reason = reason::kProgressing}, std::string(kNow)));
  EXPECT_EQ(attempt_of(failed).failures, 2);
  failed.set("status", status_of(failed, kDone, std::string(kNow)));
  EXPECT_EQ(attempt_of(failed), Attempt{});
}

// An upgrade that was refused leaves what no spec of this Release may have deployed.
TEST(ReleaseStatus, RemembersThatItHadTheRelease) {
  const Report refused{.ready = "False",
                       .reason = reason::kFailed,
                       .deployed = Deployed{"team/web:1.0.0", "sha256:1", 4, 0},
                       .attempt = Attempt{"sha256:2", 0}};
  EXPECT_FALSE(is_owned(with_status(refused)));
  Value object = with_status(kDone);
  EXPECT_TRUE(is_owned(object));
  EXPECT_EQ(object.at_path({"status", "owned"}), nullptr) << "appliedGeneration says it";
  for (int i = 0; i < 2; ++i) {
    object.set("status", status_of(object, refused, std::string(kNow)));
    EXPECT_EQ(applied_generation(object), 0);
    EXPECT_TRUE(is_owned(object));
  }
  object.set("status", status_of(object, kDone, std::string(kNow)));
  EXPECT_EQ(object.at_path({"status", "owned"}), nullptr);
  Value failed =
      with_status({.ready = "False", .reason = reason::kFailed, .attempt = Attempt{"sha256:2", 1}});
  failed.set("status", status_of(failed, refused, std::string(kNow)));
  EXPECT_TRUE(is_owned(failed));
}

// Somebody uninstalled it by hand, and what is made by hand under its name next is not this Release's own.
TEST(ReleaseStatus, ForgetsAReleaseThatIsGone) {
  const Report refused{.ready = "False", .reason = reason::kFailed};
  Report gone = refused;
  gone.absent = true;
  gone.attempt = Attempt{"sha256:2", 1};
  Value owned = with_status(refused);
  owned["status"].set("owned", true);
  const Value failed =
      with_status({.ready = "False", .reason = reason::kFailed, .attempt = Attempt{"sha256:2", 1}});
  for (Value object : {owned, failed, with_status(kDone)}) {
    Value kept = object;
    kept.set("status", status_of(object, refused, std::string(kNow)));
    EXPECT_TRUE(is_owned(kept)) << "nobody has looked";
    object.set("status", status_of(object, gone, std::string(kNow)));
    EXPECT_FALSE(is_owned(object));
    EXPECT_EQ(revision_of(object), -1);
    EXPECT_EQ(object.at_path({"status", "package"}), nullptr);
    object.set("status", status_of(object, refused, std::string(kNow)));
    EXPECT_FALSE(is_owned(object));
  }
}

// An operator that ends after this status must find that there is something to try.
TEST(ReleaseStatus, ForgetsWhatWasGivenUpAsSoonAsItSaysThatItWasAskedAgain) {
  Value object =
      with_status({.ready = "False", .reason = reason::kFailed, .attempt = Attempt{"sha256:2", 2}});
  object["metadata"]["annotations"].set("mistletoe.dev/reconcile-at", "now");
  EXPECT_TRUE(is_asked_again(object));
  object.set("status",
             status_of(object, {.ready = "Unknown", .reason = reason::kProgressing}, std::string(kNow)));
  EXPECT_EQ(attempt_of(object), Attempt{});
  EXPECT_FALSE(is_asked_again(object));
  // The failure of that try counts again.
  object.set(
      "status",
      status_of(object, {.ready = "False", .reason = reason::kFailed, .attempt = Attempt{"sha256:2", 1}},
                std::string(kNow)));
  object.set("status", status_of(object, {.ready = "False", .reason = reason::kPackage}, std::string(kNow)));
  EXPECT_EQ(attempt_of(object), (Attempt{"sha256:2", 1}));
}

TEST(ReleaseStatus, KnowsWhyTheLastTryFailedAfterAnotherFault) {
  const Attempt given_up{"sha256:2", 2, std::string(reason::kRolledBack), std::string(9000, 'x')};
  const Report report{.ready = "False",
                      .reason = reason::kRolledBack,
                      .message = given_up.message,
                      .stalled = "the upgrade failed 2 times",
                      .attempt = given_up};
  Value object = with_status(report);
  const Value before = *object.find("status");
  object.set("status",
             status_of(object, {.ready = "False", .reason = reason::kPackage, .message = "no answer"},
                       std::string(kBefore)));
  EXPECT_EQ(apimachinery::condition_of(object, "Stalled"), nullptr);
  const Attempt kept = attempt_of(object);
  EXPECT_EQ(kept.reason, reason::kRolledBack);
  // Reported again from the attempt it holds: the very same status, so that it is not written each time.
  EXPECT_EQ(
      status_of(object,
                {.ready = "False", .reason = kept.reason, .message = kept.message, .stalled = report.stalled},
                std::string(kBefore)),
      before);
}

TEST(ReleaseStatus, RestsWithWhatWasSaidBefore) {
  Value done = with_status(kDone);
  done.set("status", status_of(done, {.suspended = true}, std::string(kNow)));
  EXPECT_TRUE(is_ready(done));
  EXPECT_NE(apimachinery::condition_of(done, "Suspended"), nullptr);
  done.set("status", status_of(done, kDone, std::string(kNow)));
  EXPECT_EQ(apimachinery::condition_of(done, "Suspended"), nullptr);
}

TEST(ReleaseStatus, IsShortEnoughForTheServer) {
  std::string longest(40000, 'x');
  longest += "ä";
  const Value failed = with_status({.ready = "False", .reason = reason::kFailed, .message = longest});
  EXPECT_LT(apimachinery::condition_of(failed, "Ready")->string_at("message").size(), 9000U);
}

}  // namespace
}  // namespace mist::releases
