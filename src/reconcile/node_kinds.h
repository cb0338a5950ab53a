#pragma once
// The kinds of the objects that a node makes. Pure; any thread.

#include <optional>
#include <set>

#include "blueprint/blueprint.h"
#include "reconcile/queries.h"

namespace mist::reconcile {

/// As far as they can be told without the values that flow along edges; nullopt: they can't. Of a node that
/// makes no objects: none.
std::optional<std::set<ObjectKind>> kinds_of(const blueprint::Blueprint& blueprint, graph::Node node,
                                             const Value& instance, const Queries& queries);

}  // namespace mist::reconcile
