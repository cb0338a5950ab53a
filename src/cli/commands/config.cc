#include "config/config.h"

#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/places.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::string_view kViewChoices[] = {"yaml", "json"};
constexpr Flag kViewFlags[] = {
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "How to print the result",
     .fallback = "yaml",
     .choices = kViewChoices},
};
constexpr FlagGroup kViewFlagGroups[] = {{"Output flags", kViewFlags}};
constexpr Example kViewExamples[] = {
    {"mistctl config view", "The settings that mistctl works with, without passwords and tokens"},
};

Result<ExitCode> run_view(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  MIST_TRY(const config::Config config, config::Config::load(machine.files, paths, *machine.events));
  print_value(machine, output_format(invocation), config.view());
  return ExitCode::Ok;
}

constexpr std::string_view kPathChoices[] = {"plain", "json", "yaml"};
constexpr Flag kPathFlags[] = {
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "plain prints the path of the configuration file, the others all places",
     .fallback = "plain",
     .choices = kPathChoices},
};
constexpr FlagGroup kPathFlagGroups[] = {{"Output flags", kPathFlags}};
constexpr Example kPathExamples[] = {
    {"mistctl config path", "Which file is it?"},
    {"mistctl config path -o yaml", "Where are the caches?"},
};

Result<ExitCode> run_path(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const config::Paths paths, named_paths_of(machine));
  const OutputFormat format = output_format(invocation);
  if (format == OutputFormat::Table)
    machine.out.write(paths.config_file.string() + "\n");
  else
    print_value(machine, format,
                Value::object({{"home", Value(paths.home.string())},
                               {"configFile", Value(paths.config_file.string())},
                               {"state", Value(paths.state.string())},
                               {"cache", Value(paths.cache.string())},
                               {"engines", Value(paths.engines.string())},
                               {"schemas", Value(paths.schemas.string())}}));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kConfigViewCommand{.path = "config view",
                                           .summary = "Print the configuration without credentials",
                                           .run = run_view,
                                           .flags = kViewFlagGroups,
                                           .examples = kViewExamples,
                                           .cluster = ClusterUse::None};

constinit const Command kConfigPathCommand{.path = "config path",
                                           .summary = "Print where the configuration and other files are",
                                           .run = run_path,
                                           .flags = kPathFlagGroups,
                                           .examples = kPathExamples,
                                           .cluster = ClusterUse::None};

}  // namespace mist::cli
