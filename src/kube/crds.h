#pragma once
// CustomResourceDefinitions as the API server serves them. Pure; any thread.

#include <string>
#include <vector>

#include "kube/client.h"

namespace mist::kube {

inline const ResourceInfo kCrds{
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"}, "customresourcedefinitions", false, {}};

/// The names of the versions that it serves, in its order.
std::vector<std::string> served_versions(const encoding::Value& crd);

/// One of these, in which its objects can be read most surely: the one that they are stored in, if it is
/// served, needs no conversion webhook. Empty: none is served.
std::string readable_version(const encoding::Value& crd);

}  // namespace mist::kube
