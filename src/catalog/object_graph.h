#pragma once
// The graph of a package's objects and their order: made by a worker, kept with the run, drawn by
// graph_picture.h. No cluster is asked. One thread.

#include <string>

#include "base/context.h"
#include "encoding/value.h"
#include "package/renderer.h"

namespace mist::catalog {

/// More isn't kept: nobody sees anything in a picture of them.
inline constexpr std::size_t kMostGraphObjects = 300;
inline constexpr std::size_t kMostGraphBytes = std::size_t{256} << 10;

/// As schemas/cli/graph.schema.json has it, with one member more, `objects`, how many there are; nodes and
/// edges are empty where those are too many. Errors: of the render, and of apply::infer_order.
Result<encoding::Value> object_graph(package::Renderer& renderer, const package::Source& source,
                                     const package::RenderRequest& request, const Context& context);

}  // namespace mist::catalog
