// Mirrors of the configuration: registry mirror add, list, remove.

#include <filesystem>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "config/redact.h"
#include "registry/mirror_settings.h"

namespace mist::cli {
namespace {

using encoding::Value;

Result<registry::MirrorSettings> open_settings(Machine& machine) {
  MIST_TRY(config::Paths paths, paths_of(machine));
  std::error_code gone;
  Path here = std::filesystem::current_path(gone);
  if (gone) return error(ErrorKind::Internal, "the working directory can't be read: {}", gone.message());
  return registry::MirrorSettings({machine.files, *machine.events, std::move(paths), std::move(here)});
}

std::string places_text(const std::vector<std::string>& places) {
  std::vector<std::string> texts;
  for (const std::string& each : places) texts.push_back(escape_controls(config::redact_urls(each)));
  return join(texts, ", ");
}

// add

constexpr Argument kAddArguments[] = {
    {.name = "REGISTRY",
     .help =
         "The registry that is mirrored: its host, or the host and the beginning of its repositories' names",
     .completion = Completion::Mirrored},
    {.name = "PLACE",
     .help =
         "Where the copies are: oci://HOST/PATH, oci-layout:DIR or oci-archive:FILE; several are asked in "
         "this order",
     .arity = Arity::OneOrMore,
     .completion = Completion::CopiesPlace},
};
constexpr Flag kAddFlags[] = {
    {.name = "mirrors-only",
     .help = "Never ask the registry itself; --mirrors-only=false asks it again, as the last place"},
    {.name = "first", .help = "Ask these places before the mirrors that it has already"},
};
constexpr FlagGroup kAddGroups[] = {{"Flags", kAddFlags}};
constexpr Example kAddExamples[] = {
    {"mistctl registry mirror add registry.example oci-archive:/media/shop.tar --mirrors-only",
     "On a machine without a network: the file of `mistctl mirror --to oci-archive:shop.tar`"},
    {"mistctl registry mirror add ghcr.io/team oci://mirror.example/copies/ghcr.io/team",
     "ghcr.io/team/shop is looked for at mirror.example/copies/ghcr.io/team/shop first"},
};

Result<ExitCode> run_add(const Invocation& invocation, Machine& machine) {
  const registry::MirrorSettings::Addition addition{
      .prefix = invocation.argument("REGISTRY"),
      .places = invocation.arguments("PLACE"),
      .only =
          invocation.has("mirrors-only") ? std::optional(invocation.enabled("mirrors-only")) : std::nullopt,
      .order = invocation.enabled("first") ? registry::MirrorOrder::First : registry::MirrorOrder::Last};
  MIST_TRY(const registry::MirrorSettings settings, open_settings(machine));
  MIST_TRY(const config::Mirror mirror, settings.add(addition, machine.context));
  machine.events->info(fmt::format("{} is read from {}{}", mirror.prefix, places_text(mirror.places),
                                   mirror.only ? " only" : " first"));
  for (const registry::OciPlace& each : settings.missing_layouts(mirror))
    machine.events->warn(fmt::format("{} isn't there now", escape_controls(each.str())));
  if (!mirror.only) return ExitCode::Ok;
  MIST_TRY(const std::vector<config::Mirror> mirrors, settings.list());
  for (const std::string& archive : archives_left_to_mirrors(machine, mirrors))
    machine.events->warn(fmt::format(
        "the archive {} of kpm can't be updated any more: only mirrors may be asked, which have no archives",
        archive));
  return ExitCode::Ok;
}

// list

constexpr FlagGroup kListGroups[] = {kOutputFlags};

Value to_value(const config::Mirror& mirror) {
  Value places{Value::Array{}};
  for (const std::string& each : mirror.places) places.push_back(config::redact_urls(each));
  return Value::object({{"prefix", mirror.prefix}, {"places", std::move(places)}, {"only", mirror.only}});
}

Result<ExitCode> run_list(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const registry::MirrorSettings settings, open_settings(machine));
  MIST_TRY(const std::vector<config::Mirror> mirrors, settings.list());
  const OutputFormat format = output_format(invocation);
  Table table({"REGISTRY", "ITSELF", "PLACE"});
  Value items{Value::Array{}};
  for (const config::Mirror& mirror : mirrors) {
    for (const std::string& place : mirror.places)
      table.add(
          {{mirror.prefix}, {mirror.only ? "never asked" : "asked last"}, {config::redact_urls(place)}});
    items.push_back(to_value(mirror));
  }
  if (format != OutputFormat::Table)
    print_value(machine, format, Value::object({{"mirrors", std::move(items)}}));
  else if (table.empty())
    machine.events->info("no mirror is configured; mistctl registry mirror add REGISTRY PLACE adds one");
  else
    machine.out.write(table.render(machine.color_out));
  return ExitCode::Ok;
}

// remove

constexpr Argument kRemoveArguments[] = {
    {.name = "REGISTRY", .help = "The registry that is mirrored", .completion = Completion::Mirrored},
    {.name = "PLACE",
     .help = "Mirrors to remove; without one all of them",
     .arity = Arity::Any,
     .completion = Completion::Mirror},
};

Result<ExitCode> run_remove(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const registry::MirrorSettings settings, open_settings(machine));
  MIST_TRY(const config::Mirror removed,
           settings.remove(invocation.argument("REGISTRY"), invocation.arguments("PLACE"), machine.context));
  machine.events->info(
      fmt::format("{} is no longer read from {}", removed.prefix, places_text(removed.places)));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kRegistryMirrorAddCommand{
    .path = "registry mirror add",
    .summary = "Configure where copies of a registry's packages are",
    .run = run_add,
    .arguments = kAddArguments,
    .flags = kAddGroups,
    .examples = kAddExamples,
    .cluster = ClusterUse::None};

constinit const Command kRegistryMirrorListCommand{.path = "registry mirror list",
                                                   .summary = "List the configured mirrors",
                                                   .run = run_list,
                                                   .flags = kListGroups,
                                                   .cluster = ClusterUse::None};

constinit const Command kRegistryMirrorRemoveCommand{
    .path = "registry mirror remove",
    .summary = "Read a registry's packages from there no more",
    .run = run_remove,
    .arguments = kRemoveArguments,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
