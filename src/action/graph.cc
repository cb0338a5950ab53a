#include "action/graph.h"

namespace mist::action {

Result<ReleaseGraph> graph_of(const release::ReleaseId& id, int revision,
                              std::vector<release::RenderedObject> objects) {
  ReleaseGraph graph{.id = id, .revision = revision, .objects = std::move(objects), .order = {}};
  std::vector<apply::OrderedObject> ordered;
  ordered.reserve(graph.objects.size());
  for (const release::RenderedObject& rendered : graph.objects)
    ordered.push_back({&rendered.object, rendered.file, rendered.line});
  MIST_TRY(graph.order, apply::infer_order(ordered));
  return graph;
}

Result<ReleaseGraph> graph_of_release(const Environment& environment, const release::ReleaseId& id,
                                      const Context& context) {
  MIST_TRY(ReleaseState state, read_release(environment, id, context));
  if (!state.anchor)
    return error(ErrorKind::NotFound, "release {} does not exist", id.display())
        .with_hint("see mistctl list -A; for a package that is not installed: mistctl graph -p PACKAGE");
  if (state.deployed) return graph_of(id, state.deployed->number, std::move(state.deployed->objects));
  if (state.unfinished.empty())
    return error(ErrorKind::NotFound, "release {} has no revision yet", id.display())
        .with_hint(fmt::format("see mistctl status {}", id.name));
  release::Revision& newest = state.unfinished.back();
  return graph_of(id, newest.number, std::move(newest.objects));
}

}  // namespace mist::action
