#pragma once
// The kinds that FakeCluster serves from the start, how a CRD adds one, and what a controller would report.
// Pure functions; any thread.

#include <vector>

#include "testing/fake_store.h"

namespace mist::testing {

std::vector<FakeKind> built_in_kinds();
/// Only the versions that are served.
FakeKind kind_of_crd(const Value& crd);
/// The status of a workload whose controller has finished; null for kinds without controller.
Value ready_status(const Value& object);

}  // namespace mist::testing
