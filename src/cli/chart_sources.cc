#include "cli/chart_sources.h"

#include <utility>
#include <variant>
#include <vector>

#include "cli/keyring.h"
#include "cli/registry_access.h"
#include "config/config.h"
#include "registry/helm_repositories.h"

namespace mist::cli {

Result<registry::SubchartSource::Dependencies> chart_sources(const Invocation& invocation, Machine& machine,
                                                             registry::Registries& registries) {
  MIST_TRY(
      std::vector<registry::HelmRepository> known,
      registry::read_helm_repositories(machine.files, registry::helm_repositories_file(machine.environment)));
  // Names that charts may have for repositories: Helm's, then ours.
  MIST_TRY(const std::vector<config::Registry> configured, registries.list());
  for (const config::Registry& each : configured)
    if (const auto* helm = std::get_if<config::HelmSource>(&each.remote().source))
      known.push_back({each.name, helm->url});
  const registry::PlainHttp plain = invocation.enabled(kPlainHttpFlag.name)
                                        ? registry::PlainHttp::Everywhere
                                        : registry::PlainHttp::ThisMachine;
  MIST_TRY(auto keyring, demanded_keyring(invocation, machine));
  return registry::SubchartSource::Dependencies{registries, [&machine] { return web_transport(machine); },
                                                std::move(known), plain, std::move(keyring)};
}

}  // namespace mist::cli
