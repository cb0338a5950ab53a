#include "reconcile/permissions.h"

#include <algorithm>
#include <array>

namespace mist::reconcile {
namespace {

using blueprint::Node;
using blueprint::NodeType;
using blueprint::Policy;

std::vector<std::string> verbs_for(const Node& node) {
  switch (node.type) {
    case NodeType::Read:
    case NodeType::List:
      return {"list", "watch"};
    case NodeType::Absent:
      return {"get", "list", "watch", "delete"};
    case NodeType::Own:
    case NodeType::Package:
      // Server-side apply is a patch, and creates what isn't there.
      if (node.policy == Policy::Delete || node.replace)
        return {"get", "list", "watch", "create", "patch", "delete"};
      return {"get", "list", "watch", "create", "patch"};
    case NodeType::Act:
      return {"get", "list", "watch", "create", "patch", "delete"};
    case NodeType::Value:
    case NodeType::Http:
      return {};
  }
  return {};
}

// The kinds that say why Pods of such a kind don't run.
std::vector<GroupKind> told_by(const GroupKind& kind) {
  constexpr std::array<std::string_view, 6> kWorkloads{"Deployment", "StatefulSet", "DaemonSet",
                                                       "ReplicaSet", "Job",         "ReplicationController"};
  const bool is_builtin = kind.group.empty() || kind.group == "apps" || kind.group == "batch";
  if (!is_builtin || std::ranges::find(kWorkloads, kind.kind) == kWorkloads.end()) return {};
  if (kind.kind == "Deployment") return {{"", "Pod"}, {"", "Event"}, {"apps", "ReplicaSet"}};
  return {{"", "Pod"}, {"", "Event"}};
}

}  // namespace

std::vector<Permission> permissions(const blueprint::Blueprint& blueprint, const NodeKinds& kinds) {
  std::map<GroupKind, Permission> all;
  const auto add = [&](const GroupKind& kind, const std::vector<std::string>& verbs,
                       const std::string& node) {
    Permission& permission = all[kind];
    permission.kind = kind;
    permission.verbs.insert(verbs.begin(), verbs.end());
    if (!node.empty()) permission.because.insert(node);
  };
  const GroupKind instances = blueprint.instances().group_kind();
  add(instances, {"list", "watch", "patch"}, {});
  all[instances].status = true;
  add({"", "Event"}, {"create"}, {});
  for (const Node& node : blueprint.nodes()) {
    const auto found = kinds.find(node.name);
    if (found == kinds.end()) continue;
    for (const GroupKind& kind : found->second) {
      add(kind, verbs_for(node), node.name);
      if (!node.keeps_objects() && node.type != NodeType::Act) continue;
      for (const GroupKind& teller : told_by(kind)) add(teller, {"list"}, node.name);
    }
  }
  std::vector<Permission> list;
  for (auto& [kind, permission] : all) list.push_back(std::move(permission));
  return list;
}

std::string usual_resource(std::string_view kind) { return blueprint::usual_plural(kind); }

}  // namespace mist::reconcile
