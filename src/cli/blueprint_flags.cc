#include "cli/blueprint_flags.h"

#include "encoding/yaml.h"

namespace mist::cli {

Result<action::BlueprintSource> blueprint_source(const Invocation& invocation, World& world) {
  return action::read_blueprint(world.files, invocation.argument(kBlueprintSource.name));
}

Result<std::optional<reconcile::Scenario>> scenario_of(const Invocation& invocation, World& world) {
  constexpr std::uint64_t kMost = 16u << 20;
  const std::string instance = invocation.text(kInstanceFileFlag.name);
  const std::string file = invocation.text(kScenarioFlag.name);
  if (instance.empty() && file.empty()) return std::optional<reconcile::Scenario>();
  reconcile::Scenario scenario;
  if (!file.empty()) {
    MIST_TRY(const std::string text, world.files.read(file, kMost));
    MIST_TRY(scenario, reconcile::Scenario::parse(text, file));
  }
  if (!instance.empty()) {
    MIST_TRY(const std::string text, world.files.read(instance, kMost));
    MIST_TRY(scenario.instance, encoding::parse_yaml(text, {.strict = true, .file = instance}));
  }
  if (scenario.instance.is_null())
    return error(ErrorKind::Usage, "there is no instance")
        .with_hint("give the custom resource with --instance FILE, or as instance in the scenario");
  return std::optional(std::move(scenario));
}

}  // namespace mist::cli
