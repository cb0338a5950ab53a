#include "view/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::view {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kLastApplied =
    ".metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]";

DriftOutcome outcome_of(action::ObjectDrift object) {
  action::DriftReport report;
  report.found.push_back(std::move(object));
  DriftOutcome outcome;
  outcome.report = std::move(report);
  return outcome;
}

// A field that was recorded otherwise, and one that only kubectl sets.
DriftOutcome edited_secret() {
  action::ObjectDrift object;
  object.key = {apimachinery::kSecret, "shop", "key"};
  object.fields.push_back({".metadata.annotations", {}, Value::object({{"copy", "hidden1"}}), {}, {}});
  apply::ForeignField foreign;
  foreign.path = kLastApplied;
  foreign.live = Value("hidden2");
  object.foreign.push_back(foreign);
  foreign.path = ".metadata.annotations.note";
  foreign.live = Value("seen");
  object.foreign.push_back(foreign);
  return outcome_of(std::move(object));
}

TEST(DriftView, DataOfSecretsIsMaskedWhereverTheyHoldIt) {
  const DriftOutcome outcome = edited_secret();
  for (const std::string& text :
       {drift_text(outcome, {}, {}), encoding::to_json(drift_value({outcome}, {}))}) {
    EXPECT_THAT(text, Not(HasSubstr("hidden")));
    EXPECT_THAT(text, HasSubstr("seen"));
  }
  const DriftOptions shown{.show_secrets = true};
  EXPECT_THAT(drift_text(outcome, {}, shown), HasSubstr("hidden2"));
  EXPECT_THAT(encoding::to_json(drift_value({outcome}, shown)), HasSubstr("hidden1"));
}

TEST(DriftView, OnlyWhatIsForbiddenIsYoursToBeAllowed) {
  action::ObjectDrift object;
  object.key = {{"example.com", "Thing"}, "shop", "one"};
  object.kind = action::DriftKind::Unknown;
  object.reason = "it can't be read: the webhook is down";
  const std::string hidden = drift_text(outcome_of(object), {}, {});
  EXPECT_THAT(hidden, HasSubstr("unknown: it can't be read: the webhook is down\n"));
  EXPECT_THAT(hidden, HasSubstr("1 object could not be looked at\n"));
  object.forbidden = true;
  EXPECT_THAT(drift_text(outcome_of(object), {}, {}),
              HasSubstr("1 object could not be looked at: you may not read it\n"));
}

}  // namespace
}  // namespace mist::view
