#pragma once
// The wanted state of a release: the package and values that somebody names, or else those that the release
// has. One thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "render/packages.h"
#include "render/release_renderer.h"

namespace mist::render {

struct Wanted {
  std::optional<std::string> package = {};  ///< a reference; nullopt: the package that the release has
  std::string engine = {};  ///< Source::engine; empty: of a package that is named none, else as recorded
  /// nullopt: those that the release has.
  std::optional<std::vector<package::ValuesInput>> values = {};
  bool reuse_values = false;  ///< they are merged into those that the release has
  RenderChoices choices = {};
};

/// `stored` may be null. `given` replaces its values; `reuse`: is merged into them.
encoding::Value chosen_values(const std::optional<encoding::Value>& given, bool reuse,
                              const release::Revision* stored);

/// Paths of what `earlier` has and `given` has not, at most five of them named: "image.tag, replicas"; empty:
/// none.
std::string dropped_values(const encoding::Value& given, const encoding::Value& earlier);

class WantedRelease {
 public:
  /// `events` outlives this.
  WantedRelease(std::shared_ptr<Packages> packages, ReleaseRenderer renderer, Wanted wanted,
                EventSink& events)
      : packages_(std::move(packages)),
        renderer_(std::move(renderer)),
        wanted_(std::move(wanted)),
        events_(events) {}

  /// Fetches the package and reads the values, as far as they are named.
  Status prepare(const Context& context);
  /// For a release as it is now; a package is fetched once. Usage if nobody ever named one. Conflict when a
  /// version's bytes changed.
  Result<RenderedRelease> render(const ReleaseFacts& release, const Context& context);

 private:
  Status take(package::Source source);
  Status warn_of_dropped(const release::Revision& stored);
  Status check_signers_of(const release::PackageInfo& deployed) const;

  std::shared_ptr<Packages> packages_;
  ReleaseRenderer renderer_;
  Wanted wanted_;
  EventSink& events_;
  std::shared_ptr<const package::Source> source_;
  std::optional<encoding::Value> given_;  // values, once there is a source
  bool warned_ = false;                   // of values that are dropped
};

}  // namespace mist::render
