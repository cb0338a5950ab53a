#pragma once
// An instance's graph on a live cluster, and why an object is there or not: decided by the same pure function
// as the operator's decisions, over what the cluster has now. Reads only. One thread.
//
// Facts that only the running operator knows are missing here: pauses after failures, and nodes that stay as
// they are because they came and went too often. The condition that it wrote last has those.

#include <optional>
#include <string>
#include <vector>

#include "action/query/status.h"
#include "blueprint/evaluator.h"
#include "graph/also.h"
#include "kube/client.h"
#include "reconcile/decide.h"

namespace mist::action {

using reconcile::ObjectId;

/// A blueprint as its ConfigMap has it.
struct LiveBlueprint {
  std::string name, ns;
  blueprint::Evaluator evaluator;
  blueprint::Blueprint blueprint;
  std::string account = {};  ///< the ServiceAccount that its ConfigMap names; empty: none
};
struct LiveBlueprints {
  std::vector<LiveBlueprint> all;
  std::vector<std::string> troubles;  ///< ConfigMaps that can't be evaluated, one sentence each
};

/// Those of a namespace; empty: of all, and where that isn't allowed, of `home`. Errors: of the first
/// request.
Result<LiveBlueprints> live_blueprints(kube::Client& client, package::Renderer& renderer,
                                       const std::string& ns, const std::string& home,
                                       const Context& context);

/// An object as people write it: "app/web", "Deployment.apps/web", "deployments/web".
struct NamedObject {
  std::string kind, name;
  /// Usage: it has no slash, or nothing beside it.
  static Result<NamedObject> parse(std::string_view text);
};

/// An instance as it is now.
struct InstanceGraph {
  std::string blueprint_name, blueprint_ns;
  blueprint::Blueprint blueprint;
  ObjectId instance;
  encoding::Value condition = {};         ///< Ready, as the operator wrote it; null: it hasn't yet
  reconcile::Plan plan = {};              ///< what it would do now
  std::vector<graph::Truth> wanted = {};  ///< of each node
  std::vector<std::vector<std::size_t>> path =
      {};  ///< of each node that is or may be wanted: Also edges that lead to it
  std::vector<std::vector<ObjectId>> objects =
      {};  ///< of each node, whether it is wanted or not, as far as they are known
  /// Of each package node: namespace and name of the release that its Release is about, if it is known.
  std::vector<std::optional<std::pair<std::string, std::string>>> releases = {};
  /// Of each package node whose release is there, its objects; see add_release_objects().
  std::vector<std::optional<std::vector<ObjectStatus>>> release_objects = {};
  std::string cluster_words = {};  ///< release::ReleaseId::cluster_words, for hints
  std::vector<graph::Node> unnamed =
      {};  ///< whose objects aren't known: their names depend on missing values
  bool terminating = false;
  std::vector<std::string> troubles = {};  ///< what couldn't be looked at, one sentence each
};

/// Errors: NotFound (no blueprint is for that kind, or there is no such instance), of requests.
Result<InstanceGraph> instance_graph(kube::Client& client, LiveBlueprints& blueprints,
                                     const NamedObject& named, const std::string& ns, const Context& context);

/// Of one node that makes an object or looks at it.
struct WhyNode {
  InstanceGraph graph;
  graph::Node node = 0;
  bool of_release = false;  ///< the object is one of the release of that package node
};
struct Why {
  ObjectId object;
  bool is_there = false;
  std::string owner;           ///< the uid of the instance whose mark it carries; empty: none
  std::vector<WhyNode> nodes;  ///< of all instances
  std::size_t looked_at = 0;   ///< how many instances
  std::vector<std::string> troubles;
};

/// `instance`: look at that one only. Errors: NotFound (no such kind), Invalid (too many instances to look at
/// them all), of requests.
Result<Why> why_object(kube::Client& client, LiveBlueprints& blueprints, const NamedObject& named,
                       const std::string& ns, const std::optional<NamedObject>& instance,
                       const Context& context);

/// Why a node is wanted or not, a sentence each: the path of edges from the instance, or of each edge that
/// could lead to it why it doesn't.
std::vector<std::string> reasons(const InstanceGraph& graph, graph::Node node);

}  // namespace mist::action
