#pragma once
// The API groups of Kubernetes itself. Pure; any thread.

#include <string_view>

namespace mist::apimachinery {

/// Whether a group's types are compiled into the API server. Not every group that ends in k8s.io is one:
/// gateway.networking.k8s.io is not.
bool is_built_in_group(std::string_view group);

}  // namespace mist::apimachinery
