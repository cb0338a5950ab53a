#include "cli/offline.h"

#include "action/local_birth.h"
#include "base/text.h"
#include "cli/places.h"

namespace mist::cli {
namespace {

// The groups of a Kubernetes that has nothing added, for packages that ask outside of a cluster.
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
                                                 "scheduling.k8s.io/v1",
                                                 "storage.k8s.io/v1"};

}  // namespace

Result<action::ReleaseState> offline_state(const Invocation& invocation, World& world,
                                           const std::string& text) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(text));
  action::ReleaseState state;
  state.id = {invocation.has("namespace") ? invocation.text("namespace") : "default", name.str()};
  if (!is_dns1123_label(state.id.ns))
    return error(ErrorKind::Usage, "\"{}\" is no namespace name", escape_controls(state.id.ns));
  MIST_TRY(const config::Paths paths, paths_of(world));
  const Path seed_file = invocation.has("seed-file") ? Path(invocation.text("seed-file")) : paths.seed_file();
  const action::SeedFile missing =
      invocation.has("seed-file") ? action::SeedFile::MustExist : action::SeedFile::MayBeMade;
  MIST_TRY(state.birth,
           action::local_birth(world.files, world.random, world.clock, seed_file, missing, state.id));
  return state;
}

package::Capabilities offline_capabilities(const Invocation& invocation) {
  package::Capabilities capabilities{invocation.text("kube-version"),
                                     {std::begin(kBuiltInVersions), std::end(kBuiltInVersions)}};
  for (std::string& version : invocation.texts("api-versions"))
    capabilities.api_versions.push_back(std::move(version));
  capabilities.assumed = true;
  return capabilities;
}

}  // namespace mist::cli
