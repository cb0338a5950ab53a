#include "cli/blueprint_flags.h"

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::cli {

Status check_blueprint_names(const std::string& name, const std::string& group) {
  if (!is_dns1123_label(name) || name.size() > 50 || name.front() < 'a' || name.front() > 'z')
    return error(ErrorKind::Usage, "\"{}\" can't be the name of a blueprint", escape_controls(name))
        .with_hint("at most 50 lower-case letters, digits and dashes, begun by a letter");
  if (!is_dns1123_subdomain(group) || group.find('.') == std::string::npos)
    return error(ErrorKind::Usage, "\"{}\" can't be the API group of a CRD", escape_controls(group))
        .with_hint("a domain name of yours, as in --group acme.io");
  return {};
}

Result<action::BlueprintSource> blueprint_source(const Invocation& invocation, Machine& machine) {
  return action::read_blueprint(machine.files, invocation.argument(kBlueprintSource.name));
}

Result<std::optional<reconcile::Scenario>> scenario_of(const Invocation& invocation, Machine& machine) {
  constexpr std::uint64_t kMost = 16u << 20;
  const std::string instance = invocation.text(kInstanceFileFlag.name);
  const std::string file = invocation.text(kScenarioFlag.name);
  if (instance.empty() && file.empty()) return std::optional<reconcile::Scenario>();
  reconcile::Scenario scenario;
  if (!file.empty()) {
    MIST_TRY(const std::string text, machine.files.read(file, kMost));
    MIST_TRY(scenario, reconcile::Scenario::parse(text, file));
  }
  if (!instance.empty()) {
    MIST_TRY(const std::string text, machine.files.read(instance, kMost));
    MIST_TRY(scenario.instance, encoding::parse_yaml(text, {.strict = true, .file = instance}));
  }
  if (scenario.instance.is_null())
    return error(ErrorKind::Usage, "there is no instance")
        .with_hint("give the custom resource with --instance FILE, or as instance in the scenario");
  return std::optional(std::move(scenario));
}

}  // namespace mist::cli
