#pragma once
// What install and upgrade share: from rendered objects to a finished revision. Look without a lock, plan,
// lock under the version that was read, journal, write, prune, wait, finish. When the release moved
// meanwhile, the caller looks again.

#include <functional>
#include <vector>

#include "action/environment.h"
#include "apply/execute.h"
#include "apply/plan.h"

namespace mist::action {

enum class DryRun : std::uint8_t {
  No,
  Client,  ///< plan only: no write of any kind
  Server,  ///< plan, and let the server check every write without storing it
};

struct DeployOptions {
  DryRun dry_run = DryRun::No;
  bool wait = false;
  Duration timeout = std::chrono::minutes(5);  ///< of waiting
  bool create_namespace = false;
  bool force_conflicts = false;
  apply::PruneRules prune;
};

/// What a package made of its inputs.
struct RenderedRelease {
  release::PackageInfo package;
  encoding::Value user_values;
  std::vector<release::RenderedObject> objects;
  std::string message;  ///< of the package to its user
};

/// Renders for a release as it is now; called again when the release moved.
using Render = std::function<Result<RenderedRelease>(const ReleaseState&)>;

struct DeployReport {
  release::ReleaseId id;
  int revision = 0;
  bool changed =
      true;  ///< false: everything was as wanted; nothing was written, `revision` is the deployed one
  DryRun dry_run = DryRun::No;
  apply::Plan plan;
  release::PackageInfo package;
  std::string message;  ///< of the package to its user; may hold anything
};

/// Refuses a release that is deployed already (Conflict, naming upgrade); one whose first install never
/// finished is installed anew. Other errors: those of rendering, apply::make_plan, and of the cluster.
Result<DeployReport> install(const Environment& environment, const release::ReleaseId& id,
                             const Render& render, const DeployOptions& options, const Context& context);

/// NotFound if there is no such release, naming install.
Result<DeployReport> upgrade(const Environment& environment, const release::ReleaseId& id,
                             const Render& render, const DeployOptions& options, const Context& context);

}  // namespace mist::action
