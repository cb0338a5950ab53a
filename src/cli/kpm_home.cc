#include "cli/kpm_home.h"

#include "base/text.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "config/redact.h"
#include "registry/mirror_settings.h"
#include "registry/oci_store.h"

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

// Mirrors have single packages, and none of the lists that an archive is read as.
Status check_may_be_asked(Machine& machine, const config::Paths& paths, const kpm::Archive& archive) {
  NullEventSink silent;
  MIST_TRY(const config::Config config, config::Config::load(machine.files, paths, silent));
  if (!registry::is_left_to_mirrors(config.mirrors(), archive.url)) return {};
  const std::string shown = escape_controls(config::redact_urls(archive.url));
  return error(ErrorKind::Invalid, "the archive {} can't be asked what it has", archive.name)
      .with_because(
          fmt::format("the configuration allows only the mirrors of {}, and mirrors have no archives "
                      "of kpm",
                      shown))
      .with_hint(fmt::format("mistctl reads its packages through mirrors: mistctl registry add {} {} {}; "
                             "without `only: true` the archive itself is asked",
                             archive.name, archive.is_service ? "--catalog" : "-g", shell_word(shown)))
      .with_detail(registry::NotInMirrors{});
}

}  // namespace

Result<kpm::Home> open_kpm_home(Machine& machine) {
  MIST_TRY(Path home, kpm_home_of(machine));
  MIST_TRY(const config::Paths paths, named_paths_of(machine));
  MIST_TRY_VOID(config::check_place(paths, home, "KPM_HOME"));
  return kpm::Home(
      machine.files, machine.processes, [&machine] { return web_transport(machine); }, std::move(home),
      [&machine, paths](const kpm::Archive& archive) { return check_may_be_asked(machine, paths, archive); });
}

std::vector<std::string> archives_left_to_mirrors(Machine& machine,
                                                  const std::vector<config::Mirror>& mirrors) {
  std::vector<std::string> names;
  const Result<kpm::Home> home = open_kpm_home(machine);
  if (!home) return names;
  for (const kpm::Archive& each : home->archives().value_or({}))
    if (registry::is_left_to_mirrors(mirrors, each.url)) names.push_back(each.name);
  return names;
}

}  // namespace mist::cli
