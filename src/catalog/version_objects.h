#pragma once
// The objects that a version makes of its default values: their graph and order, drawn by graph_picture.h;
// what they ask for (security_report.h); and their text, so that two versions can be compared
// (version_changes.h). Made by a worker, kept with the run. No cluster is asked. One thread.

#include <string>

#include "base/context.h"
#include "encoding/value.h"
#include "package/renderer.h"

namespace mist::catalog {

/// More isn't kept: nobody sees anything in a picture of them.
inline constexpr std::size_t kMostGraphObjects = 300;
inline constexpr std::size_t kMostGraphBytes = std::size_t{256} << 10;
/// Longer texts aren't kept: kTooLongText is.
inline constexpr std::size_t kMostTextBytes = std::size_t{4} << 20;

struct VersionObjects {
  /// As schemas/cli/graph.schema.json has it, with one member more, `objects`, how many there are; nodes and
  /// edges are empty where those are too many.
  encoding::Value graph = {};
  encoding::Value security = {};  ///< security_report.h
  std::string text = {};          ///< version_changes.h
};

/// Errors: of the render, and of apply::infer_order.
Result<VersionObjects> version_objects(package::Renderer& renderer, const package::Source& source,
                                       const package::RenderRequest& request, const Context& context);

}  // namespace mist::catalog
