#include "apply/wait/earlier_failure.h"

#include <fmt/core.h>

#include "apimachinery/conditions.h"
#include "encoding/json.h"

namespace mist::apply {

using apimachinery::condition_of;
using encoding::Value;

namespace {

// Its controller judged this generation, and the earlier failure may be about another.
std::string observed_generation(const Value& live) {
  const Value* observed = live.at_path({"status", "observedGeneration"});
  return observed == nullptr ? std::string() : encoding::to_json(*observed);
}

}  // namespace

std::string passing_failure(const Value& live) {
  if (const Value* stalled = condition_of(live, "Stalled");
      stalled != nullptr && stalled->string_at("status") == "True")
    return fmt::format("Stalled {} {} {}", observed_generation(live), stalled->string_at("reason"),
                       stalled->string_at("lastTransitionTime"));
  // A new generation is not a new rollout: scaling is one too. A new rollout changes the condition.
  const Value* progressing = condition_of(live, "Progressing");
  if (progressing != nullptr && progressing->string_at("reason") == "ProgressDeadlineExceeded")
    return fmt::format("ProgressDeadlineExceeded {}", progressing->string_at("lastUpdateTime"));
  return {};
}

Readiness EarlierFailure::judge(Readiness state, const Value& live) {
  const std::string now = passing_failure(live);
  if (!known_) known_ = now;
  if (now != *known_) known_.emplace();  // what comes after it is a new one, though it may look the same
  if (state.health == Health::Failed && !now.empty() && now == *known_) state.health = Health::InProgress;
  return state;
}

}  // namespace mist::apply
