#pragma once
// Empty lists of custom resources. Server-side apply records who owns the items of a list, not the list: of
// one without items nobody is the owner, unless it is atomic. So it goes with a map of which the last owned
// member goes, and it stays when it is wanted no longer. Pure; any thread.

#include <vector>

#include "apply/fields/difference.h"

namespace mist::apply {

/// Whether applying this map of a custom resource may make its manager the owner of nothing in it: all that
/// it holds is empty lists.
bool may_own_nothing(const Value& map);

/// The removals of what `recorded` wants as an empty list, `wanted` not at all, and which is still there,
/// empty and nobody's. They are carried out as what empties (empty_first.h). All are whole objects.
std::vector<FieldDifference> lists_left_empty(const Value& recorded, const Value& wanted, const Value& live);

}  // namespace mist::apply
