#include "cli/places.h"

namespace mist::cli {

Result<config::Paths> named_paths_of(const Machine& machine) {
  return config::Paths::from_environment(machine.environment, machine.program);
}

Result<config::Paths> paths_of(const Machine& machine) {
  MIST_TRY(config::Paths paths, named_paths_of(machine));
  MIST_TRY_VOID(config::check_places(paths));
  return paths;
}

}  // namespace mist::cli
