#include "cli/package_flags.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "cli/keyring.h"
#include "cli/named_file.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "config/cache_limits.h"
#include "encoding/set_path.h"

namespace mist::cli {
namespace {

constexpr std::uint64_t kValuesLimit = std::uint64_t{100} << 20;

// Those whose value says it all.
struct SetFlag {
  std::string_view name;
  package::ValuesFlag flag;
};
constexpr std::array kSetFlags{SetFlag{"set", package::ValuesFlag::Set},
                               SetFlag{"set-string", package::ValuesFlag::SetString},
                               SetFlag{"set-json", package::ValuesFlag::SetJson},
                               SetFlag{"set-literal", package::ValuesFlag::SetLiteral}};

// -f a.yaml,b.yaml is two files, as in Helm, unless a file is called so.
std::vector<std::string> files_of(const std::string& value, Machine& machine) {
  if (value.find(',') == value.npos || machine.files.exists(value)) return {value};
  std::vector<std::string> paths;
  for (const std::string_view each : split(value, ',')) paths.emplace_back(each);
  return paths;
}

// --set-file a=FILE,b=FILE and a={FILE,FILE}, as in Helm; a=FILE alone may be a file with a comma in its
// name.
Status add_set_file(const std::string& value, Machine& machine, std::vector<package::ValuesInput>& inputs) {
  const auto add = [&](std::string key, const std::string& path) -> Status {
    MIST_TRY(std::string content, read_named_file(machine, path, kValuesLimit));
    inputs.push_back({package::ValuesFlag::SetFile, std::move(key), std::move(content)});
    return {};
  };
  const auto equals = value.find('=');
  if (equals == std::string::npos) return error(ErrorKind::Usage, "--set-file needs the form KEY=FILE");
  if (const std::string path = value.substr(equals + 1); machine.files.exists(path))
    return add(value.substr(0, equals), path);
  MIST_TRY(const auto assignments,
           encoding::parse_set(value, encoding::SetValues::Strings).in("while reading --set-file"));
  for (const encoding::SetAssignment& one : assignments) {
    const std::string key = encoding::to_string(one.path);
    if (!one.value.is_array()) {
      MIST_TRY_VOID(add(key, one.value.as_string()));
      continue;
    }
    for (std::size_t i = 0; i < one.value.as_array().size(); ++i)
      MIST_TRY_VOID(add(fmt::format("{}[{}]", key, i), one.value.as_array()[i].as_string()));
  }
  return {};
}

// Of all flags but -f and --set-file.
package::ValuesInput input_of(const Invocation::Given& given) {
  const auto* const known = std::ranges::find(kSetFlags, given.flag->name, &SetFlag::name);
  MIST_CHECK(known != kSetFlags.end());
  return package::ValuesInput{known->flag, given.value, {}};
}

bool is_values_flag(const Flag& flag) {
  return std::ranges::any_of(kValuesFlagList, [&](const Flag& known) { return known.name == flag.name; });
}

std::shared_ptr<wasm::Compiler> compiler_of(const Machine& machine, const wasm::CompileLimits& limits) {
  return std::make_shared<wasm::ProcessCompiler>(machine.processes, wasm::this_program(machine.program),
                                                 limits, machine.context);
}

}  // namespace

package::RendererOptions renderer_options(const Machine& machine, const config::Paths& paths) {
  package::RendererOptions options;
  const config::CacheLimits limits = config::CacheLimits().within(paths.cache_limit);
  options.code_cache = paths.compiled_code();
  options.code_cache_bytes = limits.code;
  options.render_cache_bytes = limits.renders;
  options.engines = package::EngineStore(paths.engines, machine.build.engines);
  options.pulse = machine.pulse;
  options.compiler = compiler_of(machine, {});
  return options;
}

bool has_values(const Invocation& invocation) {
  return std::ranges::any_of(invocation.given(),
                             [](const Invocation::Given& given) { return is_values_flag(*given.flag); });
}

Result<std::vector<package::ValuesInput>> read_values(const Invocation& invocation, Machine& machine) {
  std::vector<package::ValuesInput> inputs;
  for (const Invocation::Given& given : invocation.given()) {
    if (!is_values_flag(*given.flag)) continue;
    if (given.flag->name == kValuesFlagList[0].name) {
      for (const std::string& path : files_of(given.value, machine)) {
        MIST_TRY(std::string content, read_named_file(machine, path, kValuesLimit));
        inputs.push_back({package::ValuesFlag::File, path, std::move(content)});
      }
      continue;
    }
    if (given.flag->name == "set-file") {
      MIST_TRY_VOID(add_set_file(given.value, machine, inputs));
    } else {
      inputs.push_back(input_of(given));
    }
  }
  return inputs;
}

namespace {

Result<config::RemoteBases> remote_bases(const Invocation& invocation, Machine& machine,
                                         const config::Paths& paths) {
  constexpr std::string_view kNone = "no-remote-bases", kAnywhere = "allow-private-bases";
  if (find_flag(invocation.command(), kNone) != nullptr) {
    if (invocation.enabled(kNone) && invocation.enabled(kAnywhere))
      return error(ErrorKind::Usage, "--{} and --{} contradict each other", kNone, kAnywhere);
    if (invocation.enabled(kNone)) return config::RemoteBases::None;
    if (invocation.enabled(kAnywhere)) return config::RemoteBases::Anywhere;
  }
  NullEventSink said_already;
  MIST_TRY(const config::Config config, config::Config::load(machine.files, paths, said_already));
  return config.remote_bases();
}

}  // namespace

Result<std::unique_ptr<render::Packages>> open_packages(const Invocation& invocation, Machine& machine,
                                                        registry::Mirrors mirrors,
                                                        registry::NewSigners signers) {
  MIST_TRY(registry::Registries::Dependencies registries,
           registry_dependencies(invocation, machine, mirrors));
  registries.signers = signers;
  package::RendererOptions engines = renderer_options(machine, registries.paths);
  MIST_TRY(const config::RemoteBases bases, remote_bases(invocation, machine, registries.paths));
  MIST_TRY(std::shared_ptr<const trust::Keyring> keyring, demanded_keyring(invocation, machine));
  return std::make_unique<render::Packages>(render::Packages::Dependencies{
      std::move(registries), [&machine] { return web_client(machine); }, std::move(engines), bases,
      find_flag(invocation.command(), kLockedFlag.name) != nullptr && invocation.enabled(kLockedFlag.name),
      std::move(keyring)});
}

Result<package::Source> fetch_package(const Invocation& invocation, Machine& machine,
                                      std::string_view reference, std::string engine) {
  MIST_TRY(const auto packages,
           open_packages(invocation, machine, registry::Mirrors::Use, registry::NewSigners::Remember));
  return packages->fetch(reference, std::move(engine), machine.context);
}

Result<std::unique_ptr<package::Renderer>> open_renderer(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  wasm::Limits limits;
  limits.memory_bytes = static_cast<std::uint64_t>(invocation.number("limit-memory")) << 20;
  limits.guest_time = invocation.duration("limit-time");
  limits.output_bytes = static_cast<std::uint64_t>(invocation.number("limit-output")) << 20;
  limits.table_elements = static_cast<std::uint64_t>(invocation.number("limit-table"));
  limits.requests = static_cast<std::uint64_t>(invocation.number("limit-requests"));
  package::RendererOptions options = renderer_options(machine, paths);
  const wasm::Limits engine = std::exchange(options.engine_limits, limits);
  if (!invocation.has("limit-time")) options.engine_limits.guest_time = engine.guest_time;
  if (!invocation.has("limit-memory")) options.engine_limits.memory_bytes = engine.memory_bytes;
  options.limits = limits;
  options.compiler = compiler_of(
      machine, {.memory_bytes = static_cast<std::uint64_t>(invocation.number("limit-compile-memory")) << 20,
                .cpu_time = invocation.duration("limit-compile-time")});
  options.stack_bytes = static_cast<std::size_t>(invocation.number("limit-stack")) << 10;
  if (invocation.has("limit-stack")) options.engine_stack_bytes = options.stack_bytes;
  if (!invocation.enabled("no-render-cache")) {
    options.render_cache = paths.renders();
    options.random = &machine.random;
  }
  return std::make_unique<package::Renderer>(std::move(options), *machine.events);
}

}  // namespace mist::cli
