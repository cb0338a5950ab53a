#include "cli/places.h"

namespace mist::cli {

Result<config::Paths> named_paths_of(const World& world) {
  return config::Paths::from_environment(world.environment, world.program);
}

Result<config::Paths> paths_of(const World& world) {
  MIST_TRY(config::Paths paths, named_paths_of(world));
  MIST_TRY_VOID(config::check_places(paths));
  return paths;
}

}  // namespace mist::cli
