#include "main/catalog_engines.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/previews.h"
#include "config/cache_limits.h"
#include "engine_digests.h"
#include "wasm/compiler.h"

namespace mist {

Result<config::Paths> own_paths(Machine& machine, const catalog::DataPlaces& places) {
  const Path home = places.cache() / "worker";
  MIST_TRY_VOID(config::make_private_directory(machine.files, home));
  return config::Paths::from_environment(
      [&](std::string_view name) -> std::optional<std::string> {
        if (name == "MIST_HOME_LOCATION") return home.string();
        if (name == "MIST_CONFIG_LOCATION" || name == "MIST_TRUST_LOCATION" || name == "XDG_CACHE_HOME")
          return std::nullopt;
        return environment(name);
      },
      machine.program);
}

package::RendererOptions engines_of(Machine& machine, const config::Paths& paths) {
  package::RendererOptions engines;
  engines.code_cache = paths.compiled_code();
  engines.code_cache_bytes = config::CacheLimits().within(paths.cache_limit).code;
  engines.engine_limits.memory_bytes = catalog::Previews::kMemoryBytes;
  engines.limits.flags = engines.engine_limits.flags = wasm::LimitFlags::None;
  engines.engines = package::EngineStore(paths.engines, package::kEngineDigests);
  engines.pulse = &machine.pulse;
  engines.compiler = std::make_shared<wasm::ProcessCompiler>(
      machine.processes, wasm::this_program(machine.program),
      wasm::CompileLimits{.flags = wasm::LimitFlags::None}, machine.context);
  return engines;
}

}  // namespace mist
