#pragma once
// The picture of a package's objects: a box for each, in columns of what can be written at the same time, and
// an arrow from what comes before to what comes after. The same as a list, for everybody who doesn't see it.
// Pure; any thread.

#include "catalog/markup.h"
#include "encoding/value.h"

namespace mist::catalog {

/// Of a graph as version_objects.h makes them; whatever else the value holds, what is drawn is bounded.
/// Empty: nothing is known.
Markup graph_picture(const encoding::Value& graph);

}  // namespace mist::catalog
