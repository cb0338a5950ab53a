#pragma once
// Renders packages for releases: gives a package the release's names, seed and clock and what the cluster
// serves, and keeps what it takes to render once more. It needs no command line, and may outlive any number
// of renders. One thread.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/secret.h"
#include "kube/client.h"
#include "package/renderer.h"
#include "render/drawn.h"
#include "render/lookup_grants.h"
#include "render/rendered_release.h"

namespace mist::render {

/// Whom a render asks for what the cluster serves and has. The client outlives all that is rendered with it.
struct LiveCluster {
  kube::Client& client;
  /// Answers what packages look up, within the scope: action/cluster_lookup.h.
  std::function<Result<LookupAnswer>(kube::Client&, const LookupScope&, const package::LookupAsker&,
                                     const encoding::Value& question, const Context&)>
      lookup;
  /// Gets to know which API services don't answer, if a package asks what is served; null: nobody does. It
  /// outlives all that is rendered.
  EventSink* events = nullptr;
};
/// No cluster is asked; package::assume_cluster.
struct AssumedCluster {
  std::string kube_version = {};
  std::vector<std::string> api_versions = {};
};
using Cluster = std::variant<LiveCluster, AssumedCluster>;

/// The answer to a package that asks what the cluster is and serves.
Result<package::Capabilities> capabilities_of(const LiveCluster& live, const Context& context);

/// The user's choices for a render; the default chooses nothing.
struct RenderChoices {
  LookupGrants allow_lookup = {};                         ///< beside those that the release has
  bool revoke_lookup = false;                             ///< instead of those that the release has
  bool adopt = false;                                     ///< LookupScope::adopt
  std::optional<release::ReleaseId> take_over_from = {};  ///< LookupScope::take_over_from
  /// RFC 3339, or empty: that of the release's first install. Nothing: as the deployed revision has it.
  std::optional<std::string> clock = {};
  RotateSecrets rotate = {};
  bool skip_schema_validation = false;  ///< of charts
  bool exports = false;                 ///< RenderedRelease::exports; may take one more render
  bool interactive = false;             ///< package::RenderRequest::interactive
  package::RunOnHost run_on_host = {};  ///< the same
  /// package::RenderRequest::hidden, beside the secret answers that the release has.
  std::map<std::string, SecretString> hidden = {};
};

/// The starting point of a render: names, seed and clock of the release; without a cluster.
Result<package::RenderRequest> render_request(const ReleaseFacts& release, encoding::Value values);

class ReleaseRenderer {
 public:
  ReleaseRenderer(std::shared_ptr<package::Renderer> renderer, Cluster cluster)
      : renderer_(std::move(renderer)), cluster_(std::move(cluster)) {}

  /// Errors: those of package::Renderer and of the cluster.
  Result<RenderedRelease> render(std::shared_ptr<const package::Source> source, encoding::Value values,
                                 const RenderChoices& choices, const ReleaseFacts& release,
                                 const Context& context) const;

 private:
  std::shared_ptr<package::Renderer> renderer_;
  Cluster cluster_;
};

}  // namespace mist::render
