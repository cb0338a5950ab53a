// mistctl blueprint init.

#include "base/text.h"
#include "cli/blueprint_flags.h"
#include "cli/commands.h"
#include "cli/new_files.h"
#include "cli/parse/invocation.h"
#include "cli/templates.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {kNewBlueprintName, kNewBlueprintDirectory};
constexpr Flag kFlags[] = {kBlueprintGroupFlag};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}};
constexpr Example kExamples[] = {
    {"mistctl blueprint init web-app", "A blueprint for the kind WebApp, with CRD, instance and a test"},
    {"mistctl blueprint init web-app . --group acme.io", "The same right here, for WebApp of acme.io"},
};

Result<ExitCode> run_init(const Invocation& invocation, Machine& machine) {
  const std::string name = invocation.argument("NAME"), group = invocation.text("group");
  MIST_TRY_VOID(check_blueprint_names(name, group));
  Path directory = invocation.argument("DIR");
  if (directory.empty()) directory = name;
  const auto files = instantiate_blueprint(name, group);
  MIST_TRY_VOID(write_new_files(machine, directory, files));
  machine.out.write(directory.string() + "\n");
  machine.events->info(fmt::format("{} written; begin with {}", plural(files.size(), "file"),
                                   (directory / "README.md").string()));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintInitCommand{.path = "blueprint init",
                                              .summary = "Begin a blueprint, with CRD, instance and a test",
                                              .run = run_init,
                                              .arguments = kArguments,
                                              .flags = kGroups,
                                              .examples = kExamples,
                                              .cluster = ClusterUse::None};

}  // namespace mist::cli
