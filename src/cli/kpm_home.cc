#include "cli/kpm_home.h"

#include "cli/places.h"
#include "cli/registry_access.h"

namespace mist::cli {
namespace {

Result<Path> kpm_home_of(const World& world) {
  if (const auto set = world.environment("KPM_HOME"); set && !set->empty())
    return std::filesystem::absolute(*set).lexically_normal();
  const auto user = world.environment("HOME");
  if (!user || user->empty())
    return error(ErrorKind::Invalid, "there is no home directory for KPM")
        .with_hint("set KPM_HOME to a directory");
  return Path(*user) / ".kpm";
}

}  // namespace

Result<kpm::Home> open_kpm_home(World& world) {
  MIST_TRY(Path home, kpm_home_of(world));
  MIST_TRY(const config::Paths paths, named_paths_of(world));
  MIST_TRY_VOID(config::check_place(paths, home, "KPM_HOME"));
  return kpm::Home(world.files, world.processes, [&world] { return web_transport(world); }, std::move(home));
}

}  // namespace mist::cli
