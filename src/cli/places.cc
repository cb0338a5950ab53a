#include "cli/places.h"

namespace mist::cli {

Result<config::Paths> paths_of(const World& world) {
  return config::Paths::from_environment(world.environment, world.program);
}

}  // namespace mist::cli
