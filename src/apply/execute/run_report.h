#pragma once
// The meaning of a run of the Sequence graph for the objects that its first nodes stand for: the outcome of
// each, and one error for all that went wrong. Pure; any thread.

#include <optional>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "apply/execute/run_graph.h"
#include "base/context.h"
#include "base/event.h"
#include "base/result.h"

namespace mist::apply {

/// The progress of an object whose write or deletion failed: the server's own words, where there are any. The
/// outcome of a request that was cut off is unknown.
ObjectProgress failed_progress(const apimachinery::ObjectKey& key, const Error& failure);

/// The outcome of an object.
using Outcome = NodeResult;

/// Of nodes [0, objects).
std::vector<Outcome> outcomes_of(const GraphRun& run, std::size_t objects);

/// The first failure, with what else failed and how much did not happen; nullopt: all was done. Objects that
/// failed for the same reason are named together. Requests that were cut off because somebody stopped the run
/// are no failures of their own. `name_of`: empty for a barrier, which only gathers others. `done_word`: "are
/// written".
std::optional<Error> failure_of(const GraphRun& run, const graph::SequenceGraph& order, std::size_t objects,
                                const graph::NameOf& name_of, std::string_view done_word,
                                const Context& context);

}  // namespace mist::apply
