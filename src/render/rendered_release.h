#pragma once
// The result of a package and its inputs for one release, or what a revision has recorded of that: an action
// plans with it. It owns all that it refers to but the cluster, so that it may outlive the command or request
// that it was rendered for. One thread.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/plan/hooks.h"
#include "base/context.h"
#include "base/secret.h"
#include "render/answers.h"
#include "render/lookup_grants.h"
#include "render/public_exports.h"
#include "render/recorded_options.h"
#include "render/release_facts.h"

namespace mist::render {

/// How a package is rendered once more.
struct RenderVariant {
  bool other_seed =
      false;  ///< and another clock too, where the clock isn't that of the release's first install
  release::Rotations rotations;  ///< instead of the render's own
  std::string clock = {};        ///< RFC 3339, instead of the render's own; empty: that of the first install
};

/// Renders the same package with the same values, without a word to the user.
using RenderAgain =
    std::function<Result<std::vector<release::RenderedObject>>(const RenderVariant&, const Context&)>;

struct RenderedRelease {
  release::PackageInfo package;
  encoding::Value user_values;
  std::vector<release::RenderedObject> objects;
  std::string message = {};    ///< of the package to its user
  PublicExports exports = {};  ///< where RenderChoices::exports asked for them
  /// One sentence for the release's history, where the verb alone doesn't say enough: "back to v1".
  std::string description = {};
  int restores = -1;  ///< the revision whose record this is; -1: it was rendered
  /// Of a rollback: what was adopted since that revision, so that it was there before the release had it; as
  /// it was, null where no record tells.
  std::map<apimachinery::ObjectKey, encoding::Value> adopted_since = {};
  RecordedOptions recorded_options = {};  ///< of a recorded revision; they hold beside those given now
  /// Seed and clock that it was rendered with, for a release that isn't there yet; nullopt: the release's.
  std::optional<FixedInputs> fixed = {};
  release::Drawn drawn = {};                         ///< what it drew; a render leaves `fields` empty
  std::map<std::string, SecretString> secrets = {};  ///< by name: what it asked its host for
  /// package::values_of_secrets() of what it looked up.
  std::map<std::string, SecretString> looked_up = {};
  LookupGrants lookups = {};  ///< what it may look up, to be remembered
  Answers answers = {};       ///< of its values, to questions of a Kube's script
  LookupScope scope = {};     ///< in which it was answered
  /// Objects it was shown because it is about to take them. A planner refuses this unless the plan has them
  /// all: hooks and tests don't count.
  std::set<apimachinery::ObjectKey> to_be_taken = {};
  /// Adds the text of the template's line that an error names; empty: nobody has it.
  std::function<Error(Error)> show_line = {};
  RenderAgain again = {};                     ///< empty: recorded, nothing can be rendered
  std::optional<apply::HookVerb> hooks = {};  ///< whose hooks run; nullopt: those of the intent
  int hooks_resume = -1;                      ///< apply::PlanRules::resumes
};

/// The error, with the template's line that it names.
Error with_line(const RenderedRelease& rendered, Error failure);

/// The recorded release of a revision, to be applied again as it is: nothing is rendered or fetched.
RenderedRelease recorded_release(const release::Revision& revision);
/// The same of a stored revision of the release in namespace `ns`, without what other releases took over
/// since: its inventory doesn't name that any more.
RenderedRelease kept_release(const release::Revision& revision, const std::string& ns);

}  // namespace mist::render
