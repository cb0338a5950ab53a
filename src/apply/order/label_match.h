#pragma once
// Does a LabelSelector of an object select these labels? Pure; any thread.

#include "encoding/value.h"

namespace mist::apply {

/// metav1.LabelSelector (matchLabels and matchExpressions); an empty one selects everything, one with an
/// operator that isn't known nothing. `labels` may be null: there are none.
bool selects(const encoding::Value& selector, const encoding::Value* labels);

/// A plain map, as `spec.selector` of a Service: every entry must be there. An empty one selects nothing.
bool selects_by_map(const encoding::Value& map, const encoding::Value* labels);

}  // namespace mist::apply
