#pragma once
// The API groups of Kubernetes itself, as far as they are known without a cluster. Pure; any thread.

#include <string_view>

#include "apimachinery/gvk.h"

namespace mist::apimachinery {

/// Whether a group's types are compiled into the API server. Not every group that ends in k8s.io is one:
/// gateway.networking.k8s.io is not.
bool is_built_in_group(std::string_view group);

/// Whether a kind of those groups has no namespace. Kinds of other groups count as namespaced.
bool is_cluster_scoped(const GroupKind& kind);

}  // namespace mist::apimachinery
