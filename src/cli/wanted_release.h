#pragma once
// What upgrade, diff and plan want of a release: the package and values of the command line, or else those
// that the release has. One thread.

#include <memory>
#include <optional>

#include "action/look.h"
#include "cli/package_flags.h"
#include "cli/release_flags.h"

namespace mist::cli {

/// The package and values from now on; without -p those that the release has.
inline constexpr Flag kWantedFlagList[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help = "The package from now on; without it the one that the release has",
     .completion = Completion::Package},
    kEngineFlag,
    {.name = "reuse-values",
     .help = "Merge the values given here into those that the release has, instead of replacing them"},
};
inline constexpr FlagGroup kWantedFlags{"Flags", kWantedFlagList};

class WantedRelease {
 public:
  /// All must outlive this.
  WantedRelease(const Invocation& invocation, World& world, kube::Client& client)
      : invocation_(invocation), world_(world), client_(client) {}

  /// Reads values and fetches the package, as far as the command line names them.
  Status prepare();
  /// For a release as it is now. Usage if nobody ever named a package. Conflict when a version's bytes
  /// changed.
  Result<action::RenderedRelease> render(const action::ReleaseState& state);

 private:
  Result<encoding::Value> values(const release::Revision* revision) const;
  Status refuse_changed_bytes(const release::Revision& revision);

  const Invocation& invocation_;
  World& world_;
  kube::Client& client_;
  std::optional<std::vector<package::ValuesInput>> given_;
  std::optional<package::Source> source_;
  std::unique_ptr<package::Renderer> renderer_;
  RenderChoices choices_ = {};
};

/// What installing or upgrading to the wanted release would do, without a write. A change of drawn fields,
/// which a deployment would refuse, is a warning here.
Result<action::Look> preview(const Invocation& invocation, World& world, const Cluster& cluster);

}  // namespace mist::cli
