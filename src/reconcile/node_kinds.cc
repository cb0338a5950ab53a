#include "reconcile/node_kinds.h"

#include "base/text.h"
#include "blueprint/check.h"
#include "reconcile/facts.h"
#include "reconcile/release_node.h"

namespace mist::reconcile {

using blueprint::NodeType;

std::optional<std::set<ObjectKind>> kinds_of(const blueprint::Blueprint& blueprint, graph::Node node,
                                             const Value& instance, const Queries& queries) {
  using Kinds = std::set<ObjectKind>;
  const blueprint::Node& told = blueprint.nodes()[node];
  if (told.type == NodeType::Act) return Kinds{{"batch/v1", "Job"}};
  if (told.type == NodeType::Package)
    return Kinds{{fmt::format("{}/{}", kReleaseGroup, kReleaseVersion), std::string(kReleaseKind)}};
  if (told.type != NodeType::Own) return Kinds();
  if (!queries.kinds) return std::nullopt;
  std::vector<std::string> unknown = blueprint::given_names(blueprint, node);
  std::erase(unknown, "instance");
  const auto made = queries.kinds(told.name, Value::object({{"instance", for_functions(instance)}}), unknown);
  if (!made || !made->is_array()) return std::nullopt;
  Kinds kinds;
  for (const Value& each : made->as_array()) {
    const ObjectId id = id_of(each);
    kinds.insert({id.api_version, id.kind});
  }
  return kinds;
}

}  // namespace mist::reconcile
