#include "cli/kpm_home.h"

#include "cli/places.h"
#include "cli/registry_access.h"

namespace mist::cli {
namespace {

Result<Path> kpm_home_of(const Machine& machine) {
  if (const auto set = machine.environment("KPM_HOME"); set && !set->empty())
    return std::filesystem::absolute(*set).lexically_normal();
  const auto user = machine.environment("HOME");
  if (!user || user->empty())
    return error(ErrorKind::Invalid, "there is no home directory for KPM")
        .with_hint("set KPM_HOME to a directory");
  return Path(*user) / ".kpm";
}

}  // namespace

Result<kpm::Home> open_kpm_home(Machine& machine) {
  MIST_TRY(Path home, kpm_home_of(machine));
  MIST_TRY(const config::Paths paths, named_paths_of(machine));
  MIST_TRY_VOID(config::check_place(paths, home, "KPM_HOME"));
  return kpm::Home(
      machine.files, machine.processes, [&machine] { return web_transport(machine); }, std::move(home));
}

}  // namespace mist::cli
