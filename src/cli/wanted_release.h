#pragma once
// The release that install, upgrade, diff and plan want. One thread.

#include <cstdint>
#include <map>
#include <string>

#include "action/deploy/prepare.h"
#include "base/secret.h"
#include "cli/keyring.h"
#include "cli/package_flags.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "render/wanted_release.h"

namespace mist::cli {

/// The package and values from now on; without -p those that the release has.
inline constexpr Flag kReuseValuesFlag{
    .name = "reuse-values",
    .help = "Merge the values given here into those that the release has, instead of replacing them"};
inline constexpr Flag kWantedFlagList[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help = "The package from now on; without it the one that the release has",
     .completion = Completion::Package},
    kEngineFlag,
    kPlainHttpFlag,
    kVerifyChartFlag,
    kKeyringFlag,
    kReuseValuesFlag,
};
inline constexpr FlagGroup kWantedFlags{"Flags", kWantedFlagList};

/// The flags' package, values and render choices, prepared. A command without kReuseValuesFlag makes a new
/// release: there are no values but those given.
Result<render::WantedRelease> wanted_release(const Invocation& invocation, Machine& machine,
                                             const Cluster& cluster);
/// Whether a Kube's script asks what has a default, too.
enum class Questions : std::uint8_t { WithoutDefault, Asked };

enum class Values : std::uint8_t {
  Alone,   ///< instead of those that the release has
  Merged,  ///< into those that the release has
};
struct PackageChoices {
  Values values = Values::Alone;
  Questions questions = Questions::WithoutDefault;
  std::map<std::string, SecretString> hidden = {};  ///< render::RenderChoices::hidden
};

/// The same of a release and a package that the command found by itself. `values`: those of kValuesFlags, or
/// none.
Result<render::WantedRelease> wanted_package(const Invocation& invocation, Machine& machine,
                                             const Cluster& cluster, const release::ReleaseId& id,
                                             std::string package, std::vector<package::ValuesInput> values,
                                             const PackageChoices& choices = {});
/// A release that is new takes seed and clock from --seed-file, if that is given. `invocation` and `machine`
/// outlive the cluster.
void use_seed_file(const Invocation& invocation, Machine& machine, Cluster& cluster);

/// For an Intent; both outlive it.
action::Render render_of(render::WantedRelease& wanted, const Machine& machine);

/// The effect of installing or upgrading to the wanted release, without a write. A change of drawn fields,
/// which a deployment would refuse, is a warning here.
Result<action::PreparedDeploy> preview(const Invocation& invocation, Machine& machine,
                                       const Cluster& cluster);

}  // namespace mist::cli
