#pragma once
// The paths of the Kubernetes API: /api/v1/namespaces/shop/configmaps/a, /apis/apps/v1/deployments. Every
// part is escaped, so a name can't leave its place. Pure; any thread.

#include <string>

#include "kube/client.h"

namespace mist::kube {

/// Of one object; `ref.ns` counts only for namespaced resources.
std::string object_path(const ObjectRef& ref);
/// Of a collection; an empty `ns` is all namespaces.
std::string collection_path(const ResourceInfo& resource, const std::string& ns);

}  // namespace mist::kube
