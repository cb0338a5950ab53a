#include "action/authoring/release_objects.h"

#include "base/text.h"

namespace mist::action {

Status add_release_objects(const Environment& environment, InstanceGraph& graph, const Context& context) {
  graph.release_objects.assign(graph.releases.size(), std::nullopt);
  for (graph::Node node = 0; node < graph.releases.size(); ++node) {
    if (!graph.releases[node]) continue;
    const auto& [ns, name] = *graph.releases[node];
    auto found = status(environment, {ns, name, graph.cluster_words}, context);
    MIST_TRY_VOID(context.check());
    if (found.ok()) graph.release_objects[node] = std::move(found->objects);
    // One that isn't there yet has no objects, which the node's state says.
    else if (found.error().kind != ErrorKind::NotFound)
      graph.troubles.push_back(
          fmt::format("the objects of release {}/{}: {}", ns, name, found.error().to_line()));
  }
  return {};
}

}  // namespace mist::action
