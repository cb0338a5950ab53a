#pragma once
// Failures that are older than what this run changed. A Deployment past its progress deadline says so until
// its rollout gets on; a custom resource is Stalled until its controller tries again. An upgrade may bring
// what was missing (a claim, a ConfigMap, a quota) without touching either, so such a failure counts against
// it only once it is another one than before: no clocks are compared. Until then the object is in progress.
// An object that can't get over its failure (a Job, a lost claim) has failed whenever that was. Plain values;
// any thread.

#include <optional>
#include <string>

#include "apply/wait/readiness.h"

namespace mist::apply {

/// Names the failure that the object reports and may get over; empty: it reports none. Equal as long as it is
/// the same failure.
std::string passing_failure(const encoding::Value& live);

class EarlierFailure {
 public:
  /// `known`: passing_failure() when this run wrote the object; nullopt: it didn't, and the first look
  /// counts.
  explicit EarlierFailure(std::optional<std::string> known = {}) : known_(std::move(known)) {}

  /// Each look at the object. `state`: its readiness().
  Readiness judge(Readiness state, const encoding::Value& live);

 private:
  std::optional<std::string> known_;
};

}  // namespace mist::apply
