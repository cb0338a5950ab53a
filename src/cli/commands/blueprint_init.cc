// mistctl blueprint init.

#include "base/text.h"
#include "cli/commands.h"
#include "cli/invocation.h"
#include "cli/new_files.h"
#include "cli/templates.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "What the blueprint is called; its kind is that in PascalCase"},
    {.name = "DIR",
     .help = "Where to; without it a new directory of that name",
     .arity = Arity::Optional,
     .completion = Completion::Directory}};
constexpr Flag kFlags[] = {{.name = "group",
                            .type = FlagType::Text,
                            .value = "GROUP",
                            .help = "API group of its kind",
                            .fallback = "example.com"}};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}};
constexpr Example kExamples[] = {
    {"mistctl blueprint init web-app", "A blueprint for the kind WebApp, with CRD, instance and a test"},
    {"mistctl blueprint init web-app . --group acme.io", "The same right here, for WebApp of acme.io"},
};

// It becomes the name of a ConfigMap, a kind, and a part of labels.
Status check_names(const std::string& name, const std::string& group) {
  if (!is_dns1123_label(name) || name.size() > 50 || name.front() < 'a' || name.front() > 'z')
    return error(ErrorKind::Usage, "\"{}\" can't be the name of a blueprint", escape_controls(name))
        .with_hint("at most 50 lower-case letters, digits and dashes, begun by a letter");
  if (!is_dns1123_subdomain(group) || group.find('.') == std::string::npos)
    return error(ErrorKind::Usage, "\"{}\" can't be the API group of a CRD", escape_controls(group))
        .with_hint("a domain name of yours, as in --group acme.io");
  return {};
}

Result<ExitCode> run_init(const Invocation& invocation, World& world) {
  const std::string name = invocation.argument("NAME"), group = invocation.text("group");
  MIST_TRY_VOID(check_names(name, group));
  Path directory = invocation.argument("DIR");
  if (directory.empty()) directory = name;
  const auto files = instantiate_blueprint(name, group);
  MIST_TRY_VOID(write_new_files(world, directory, files));
  world.out.write(directory.string() + "\n");
  world.events->info(fmt::format("{} written; begin with {}", plural(files.size(), "file"),
                                 (directory / "README.md").string()));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kBlueprintInitCommand{.path = "blueprint init",
                                              .summary = "Begin a blueprint, with CRD, instance and a test",
                                              .run = run_init,
                                              .arguments = kArguments,
                                              .flags = kGroups,
                                              .examples = kExamples};

}  // namespace mist::cli
