#pragma once
// The permissions that the operator's account needs for one blueprint, and nothing else: each verb is there
// because of a request of src/operator. Pure; any thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "blueprint/blueprint.h"

namespace mist::reconcile {

using apimachinery::GroupKind;

/// Of one kind, in all namespaces.
struct Permission {
  GroupKind kind;
  std::set<std::string> verbs;
  bool status = false;            ///< patch of the subresource status too
  std::set<std::string> because;  ///< names of nodes; empty: the operator itself
};

/// The kinds that a node makes or looks at, by its name.
using NodeKinds = std::map<std::string, std::set<GroupKind>>;

/// Beside the ConfigMap of the blueprint, which is read in its own namespace: of the instances, of what nodes
/// make and look at, and of Events. By group and kind.
std::vector<Permission> permissions(const blueprint::Blueprint& blueprint, const NodeKinds& kinds);

/// The plural as the API server's own conventions make it of a kind: deployments, ingresses, networkpolicies.
/// True of all built-in kinds; others may have chosen another one.
std::string usual_resource(std::string_view kind);

}  // namespace mist::reconcile
