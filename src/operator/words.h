#pragma once
// The words of reconcile/ that the operator uses all the time, and those of the server.

#include <string>

#include "base/error.h"
#include "blueprint/blueprint.h"
#include "reconcile/decide.h"
#include "reconcile/ownership.h"

namespace mist::operator_ {

using blueprint::kBlueprintLabel;
using encoding::Value;
using reconcile::Collection;
using reconcile::has_finalizer;
using reconcile::id_of;
using reconcile::kFinalizer;
using reconcile::kHashAnnotation;
using reconcile::kInstanceLabel;
using reconcile::kManager;
using reconcile::kRecordAnnotation;
using reconcile::NodeReport;
using reconcile::NodeState;
using reconcile::ObjectId;
using reconcile::Observation;
using reconcile::Plan;
using reconcile::Record;

/// Of a failed request: what the server said, where it said anything.
inline const std::string& server_words(const Error& failure) {
  return failure.because.empty() ? failure.message : failure.because;
}

}  // namespace mist::operator_
