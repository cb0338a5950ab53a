#pragma once
// How `mistctl registry mirror` shows and changes the mirrors of the configuration (spec.mirrors, which
// oci_mirrors.h reads packages through). One thread; the file is changed as a whole, under its lock.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "config/config.h"
#include "registry/oci_place.h"

namespace mist::registry {

/// Whether what has that address (of a git or a chart repository) is read from its mirrors alone. Pure.
bool is_left_to_mirrors(std::span<const config::Mirror> mirrors, std::string_view address);

/// Where new places stand among those that the registry has already.
enum class MirrorOrder : bool { Last, First };

class MirrorSettings {
 public:
  struct Dependencies {
    FileSystem& files;
    EventSink& events;
    config::Paths paths;
    Path working_directory;  ///< what relative paths in arguments are relative to
  };
  struct Addition {
    std::string prefix;               ///< as parse_mirror_prefix takes it
    std::vector<std::string> places;  ///< as OciPlace::parse takes them; not empty
    std::optional<bool> only = {};    ///< nothing: stays as it is, at first false
    MirrorOrder order = MirrorOrder::Last;
  };

  explicit MirrorSettings(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// As they are written. Errors: of Config::load.
  Result<std::vector<config::Mirror>> list() const;
  /// Returns the entry as it is now. Errors: Invalid (no prefix, no place, the registry itself), Conflict (a
  /// place that is there already, unless `only` changes), of config::edit.
  Result<config::Mirror> add(const Addition& addition, const Context& context) const;
  /// Returns what was removed: these places, or all of them where none is named. Errors: NotFound, naming
  /// those that there are; of config::edit.
  Result<config::Mirror> remove(const std::string& prefix, const std::vector<std::string>& places,
                                const Context& context) const;
  /// Layouts of `mirror` that are not there, for a warning.
  std::vector<OciPlace> missing_layouts(const config::Mirror& mirror) const;

 private:
  Result<OciPlace> place_of(const std::string& text, const Path& base) const;
  Result<std::vector<OciPlace>> places_of(const std::vector<std::string>& texts) const;
  std::string key_of(const std::string& written) const;

  Dependencies dependencies_;
};

}  // namespace mist::registry
