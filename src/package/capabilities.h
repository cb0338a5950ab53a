#pragma once
// The capabilities that packages see when no cluster is asked. Pure; any thread.

#include <string>
#include <vector>

#include "package/render_request.h"

namespace mist::package {

/// As Helm 4.3.1 assumes (it was made with client-go 0.37), so that all packages see the same.
inline constexpr std::string_view kAssumedKubeVersion = "v1.37.0";

/// A Kubernetes that has nothing added but `more` ("monitoring.coreos.com/v1"), marked as assumed.
Capabilities assumed_capabilities(std::string kube_version, std::vector<std::string> more);

/// Makes a request one for which no cluster is asked: packages see a Kubernetes of `kube_version` (empty:
/// kAssumedKubeVersion) with `api_versions` beside the built-in ones, and what charts look up isn't there.
void assume_cluster(RenderRequest& request, std::string kube_version, std::vector<std::string> api_versions);

}  // namespace mist::package
