#pragma once
// What packages see of a cluster when none is asked. Pure; any thread.

#include <string>
#include <vector>

#include "package/renderer.h"

namespace mist::package {

inline constexpr std::string_view kAssumedKubeVersion = "v1.36.0";

/// A Kubernetes that has nothing added but `more` ("monitoring.coreos.com/v1"), marked as assumed.
Capabilities assumed_capabilities(std::string kube_version, std::vector<std::string> more);

}  // namespace mist::package
