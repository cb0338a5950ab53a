#pragma once
// Rendering a package without a cluster: the flags that stand for what a cluster would say, and what they
// mean. One thread.

#include <memory>
#include <string>
#include <vector>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "package/capabilities.h"
#include "package/type_store.h"
#include "package/values.h"
#include "render/release_renderer.h"

namespace mist::cli {

inline constexpr Flag kKubeVersionFlag{.name = "kube-version",
                                       .type = FlagType::Text,
                                       .value = "VERSION",
                                       .help = "Kubernetes version that packages see",
                                       .fallback = package::kAssumedKubeVersion};
inline constexpr Flag kOfflineFlagList[] = {
    kKubeVersionFlag,
    {.name = "api-versions",
     .type = FlagType::Texts,
     .value = "VERSION",
     .help = "More API versions that packages see, comma-separated"},
    {.name = "seed-file",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Seed and clock of the render; without it one of your own is kept",
     .completion = Completion::File},
};
inline constexpr FlagGroup kOfflineFlags{"Flags in place of a cluster", kOfflineFlagList};

/// --namespace, else "default"; given as "" it counts as not given, as everywhere, and as in helm and
/// kubectl.
std::string offline_namespace(const Invocation& invocation);

/// A release of that name which isn't installed anywhere, with seed and clock kept on this machine.
Result<render::ReleaseFacts> offline_release(const Invocation& invocation, Machine& machine,
                                             const std::string& name);

/// Renders the package that `reference` names for such a release called `name`, as the flags of `generate`
/// say: kEngineFlag, kValuesFlags, kOfflineFlags, kClockFlags, kSandboxFlags. Its `fixed` is set.
Result<render::RenderedRelease> render_offline(const Invocation& invocation, Machine& machine,
                                               const std::string& reference, const std::string& name);

/// Everything of a render that asks no cluster.
struct OfflineRender {
  std::shared_ptr<package::Renderer> renderer;
  std::shared_ptr<const package::Source> source;
  std::vector<package::ValuesInput> inputs;
  render::AssumedCluster cluster;
  render::ReleaseFacts release;
  render::RenderChoices choices;  ///< a clock among them is that of the release
};
/// Its `fixed` is set. Errors: Invalid (values, what the package renders), Trap, Cancelled.
Result<render::RenderedRelease> render_offline(Machine& machine, OfflineRender render);

/// The cluster that kube-version and api-versions describe. One of the latter may be several, with commas
/// between them, as in Helm.
render::AssumedCluster assumed_cluster(const Invocation& invocation);

/// The types of Kubernetes that came with this program.
Result<package::TypeStore> type_store(const Machine& machine);
/// The minor of a version whose types are there. Errors: Usage, naming those that are.
Result<apimachinery::KubeMinor> known_minor(const package::TypeStore& types, const std::string& version);

}  // namespace mist::cli
