#include "package/capabilities.h"

#include <iterator>

namespace mist::package {
namespace {

// The API versions of a Kubernetes that has nothing added: every stable version of every group.
constexpr std::string_view kBuiltInVersions[] = {"v1",
                                                 "admissionregistration.k8s.io/v1",
                                                 "apiextensions.k8s.io/v1",
                                                 "apiregistration.k8s.io/v1",
                                                 "apps/v1",
                                                 "authentication.k8s.io/v1",
                                                 "authorization.k8s.io/v1",
                                                 "autoscaling/v1",
                                                 "autoscaling/v2",
                                                 "batch/v1",
                                                 "certificates.k8s.io/v1",
                                                 "coordination.k8s.io/v1",
                                                 "discovery.k8s.io/v1",
                                                 "events.k8s.io/v1",
                                                 "flowcontrol.apiserver.k8s.io/v1",
                                                 "networking.k8s.io/v1",
                                                 "node.k8s.io/v1",
                                                 "policy/v1",
                                                 "rbac.authorization.k8s.io/v1",
                                                 "resource.k8s.io/v1",
                                                 "scheduling.k8s.io/v1",
                                                 "storage.k8s.io/v1",
                                                 "storagemigration.k8s.io/v1"};

}  // namespace

Capabilities assumed_capabilities(std::string kube_version, std::vector<std::string> more) {
  Capabilities capabilities{std::move(kube_version),
                            {std::begin(kBuiltInVersions), std::end(kBuiltInVersions)}};
  for (std::string& version : more) capabilities.api_versions.push_back(std::move(version));
  capabilities.assumed = true;
  return capabilities;
}

void assume_cluster(RenderRequest& request, std::string kube_version, std::vector<std::string> api_versions) {
  Value& options = request.engine_options;
  options.set("lookup", "empty");
  if (!kube_version.empty()) options.set("kubeVersion", kube_version);
  if (!api_versions.empty())
    options.set("apiVersions", Value(Value::Array(api_versions.begin(), api_versions.end())));
  if (kube_version.empty()) kube_version = kAssumedKubeVersion;
  request.capabilities = [version = std::move(kube_version),
                          more = std::move(api_versions)]() -> Result<Capabilities> {
    return assumed_capabilities(version, more);
  };
}

}  // namespace mist::package
