#include "cli/install_count.h"

#include <variant>

#include "base/text.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "config/config.h"
#include "config/redact.h"
#include "registry/install_notice.h"
#include "registry/mirror_settings.h"
#include "registry/reference.h"

namespace mist::cli {
namespace {

Result<config::Config> configuration(Machine& machine, const config::Paths& paths) {
  // Its warnings were said when the package was fetched.
  NullEventSink silent;
  return config::Config::load(machine.files, paths, silent);
}

Status told(Machine& machine, const std::string& catalog, const std::string& package,
            const std::string& version) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  MIST_TRY(const config::Config config, configuration(machine, paths));
  if (!config.counts_installs()) return {};
  if (registry::is_left_to_mirrors(config.mirrors(), catalog))
    return error(ErrorKind::Invalid, "the configuration allows only mirrors of {}",
                 escape_controls(config::redact_urls(catalog)));
  const auto transport = web_transport(machine, "the catalog");
  return registry::notify_of_install({catalog, package, version}, paths.told_installs(), machine.files,
                                     machine.clock, *transport, machine.context);
}

Status told_of(Machine& machine, const std::string& reference, const std::string& version) {
  MIST_TRY(const registry::PackageRef parsed, registry::PackageRef::parse(reference));
  const auto* const named = std::get_if<registry::RegistryRef>(&parsed.form());
  if (named == nullptr) return {};
  MIST_TRY(const config::Paths paths, paths_of(machine));
  MIST_TRY(const config::Config config, configuration(machine, paths));
  const config::Registry* const registry = config.find_registry(named->registry);
  if (registry == nullptr) return {};
  const auto* const catalog = std::get_if<config::CatalogSource>(&registry->remote().source);
  return catalog == nullptr ? Status() : told(machine, catalog->url, named->path, version);
}

void say_for_verbose(Machine& machine, const Status& done) {
  if (!done.ok()) machine.events->debug(fmt::format("the catalog isn't told: {}", done.error().to_line()));
}

}  // namespace

void count_install(Machine& machine, const std::string& catalog, const std::string& package,
                   const std::string& version) {
  say_for_verbose(machine, told(machine, catalog, package, version));
}

void count_install_of(Machine& machine, const std::string& reference, const std::string& version) {
  say_for_verbose(machine, told_of(machine, reference, version));
}

}  // namespace mist::cli
