#pragma once
// The order of a release's objects, installed or not. Nothing is written.

#include <vector>

#include "action/environment.h"
#include "apply/order/order.h"

namespace mist::action {

struct ReleaseGraph {
  release::ReleaseId id;
  int revision = -1;  ///< -1: it isn't installed
  std::vector<release::RenderedObject> objects;
  apply::Order order;  ///< node i is objects[i]
};

/// Of objects as a release has them: namespaces filled in. `hooks` of a chart, as rendered: those of
/// `verb` come first and last among the objects. Errors: those of apply::infer_order.
Result<ReleaseGraph> graph_of(const release::ReleaseId& id, int revision,
                              std::vector<release::RenderedObject> objects,
                              const std::vector<release::RenderedObject>& hooks = {},
                              apply::HookVerb verb = apply::HookVerb::None);

/// The deployed revision; the newest one if none was ever finished. NotFound if there is no such release, or
/// it has no revision yet.
Result<release::Revision> revision_to_draw(const Environment& environment, const release::ReleaseId& id,
                                           const Context& context);

/// Of the deployed revision; of the newest one if none was ever finished. NotFound if there is no such
/// release, or it has no revision yet.
Result<ReleaseGraph> graph_of_release(const Environment& environment, const release::ReleaseId& id,
                                      const Context& context);

}  // namespace mist::action
