#pragma once
// The Sequence graph of a set of objects: which must be there before which is written, inferred from what the
// objects say. Edges ask only that their source is present, but for definitions: a CustomResourceDefinition
// must be established before its objects. Pure; any thread.

#include <functional>
#include <vector>

#include "apimachinery/object.h"
#include "graph/sequence.h"

namespace mist::apply {

/// What an edge's source must be; the label of graph::Edge.
enum class EdgePredicate : int { Present = 0, Established = 1 };

/// Node i is objects[i]; barrier nodes without an object follow after them (graph.size() may be larger).
/// Invalid on a circle, naming its path.
Result<graph::SequenceGraph> infer_order(const std::vector<const apimachinery::Object*>& objects);

}  // namespace mist::apply
