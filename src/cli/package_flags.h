#pragma once
// The flags by which commands name a package and give it values, and what they mean: references become
// sources, files and
// --set become one document. One thread.

#include <memory>
#include <string>
#include <vector>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "render/packages.h"

namespace mist::cli {

inline constexpr Flag kValuesFlagList[] = {
    {.name = "values",
     .letter = 'f',
     .type = FlagType::Texts,
     .value = "FILE",
     .help = "Values for the package, YAML or JSON; - is standard input; later files win",
     .completion = Completion::File},
    {.name = "set",
     .letter = 's',
     .type = FlagType::Texts,
     .value = "KEY=VALUE",
     .help = "One value: a.b[0].c=1; or YAML: 'a: 1, b: x'",
     .completion = Completion::ValueKey},
    {.name = "set-string",
     .type = FlagType::Texts,
     .value = "KEY=VALUE",
     .help = "One value that is always text",
     .completion = Completion::ValueKey,
     .rare = true},
    {.name = "set-file",
     .type = FlagType::Texts,
     .value = "KEY=FILE",
     .help = "One value from the content of a file",
     .completion = Completion::ValueKey,
     .rare = true},
    {.name = "set-json",
     .type = FlagType::Texts,
     .value = "KEY=JSON",
     .help = "One value as JSON: a.b={\"c\":[1,2]}; or one whole object",
     .completion = Completion::ValueKey,
     .rare = true},
    {.name = "set-literal",
     .type = FlagType::Texts,
     .value = "KEY=TEXT",
     .help = "One value that is the text as it stands, commas and backslashes too",
     .completion = Completion::ValueKey,
     .rare = true},
};
inline constexpr FlagGroup kValuesFlags{"Values flags", kValuesFlagList};

/// For CI, wherever a package is rendered or built.
inline constexpr Flag kLockedFlag{
    .name = "locked",
    .help =
        "Call exactly the packages that mistletoe.lock names, and fail if it is missing or not up to date"};

inline constexpr Flag kSandboxFlagList[] = {
    {.name = "limit-memory",
     .type = FlagType::Number,
     .value = "MIB",
     .help = "Memory that a package may use (an engine: 512)",
     .fallback = "256",
     .rare = true},
    {.name = "limit-time",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "Processor time that a package may use (an engine: 60s)",
     .fallback = "10s",
     .rare = true},
    {.name = "limit-output",
     .type = FlagType::Number,
     .value = "MIB",
     .help = "How much a package may print",
     .fallback = "64",
     .rare = true},
    {.name = "limit-stack",
     .type = FlagType::Number,
     .value = "KIB",
     .help = "Call stack that a package may use (an engine: 4096)",
     .fallback = "1024",
     .rare = true},
    {.name = "limit-table",
     .type = FlagType::Number,
     .value = "COUNT",
     .help = "Elements that each table of a package may have",
     .fallback = "1000000",
     .rare = true},
    {.name = "limit-requests",
     .type = FlagType::Number,
     .value = "COUNT",
     .help = "Requests that a package may make to its host",
     .fallback = "10000",
     .rare = true},
    {.name = "limit-compile-memory",
     .type = FlagType::Number,
     .value = "MIB",
     .help = "Memory that compiling a package may use, besides 64 bytes for each of its bytes",
     .fallback = "512",
     .rare = true},
    {.name = "limit-compile-time",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "Processor time that compiling a package may use, besides 10s for each MB",
     .fallback = "60s",
     .rare = true},
    {.name = "no-remote-bases",
     .help = "Fetch nothing that a package names elsewhere: bases, files, charts",
     .rare = true},
    {.name = "allow-private-bases",
     .help = "Let a package that isn't on this machine name bases, files and charts in private networks, by "
             "ssh, and on this machine's ports",
     .rare = true},
    kLockedFlag,
    {.name = "no-render-cache",
     .help = "Run the package even if the same render is known already",
     .rare = true},
};
inline constexpr FlagGroup kSandboxFlags{"Sandbox flags", kSandboxFlagList};

/// True if any of kValuesFlags was given.
bool has_values(const Invocation& invocation);
/// Reads what kValuesFlags name. Errors: of the files.
Result<std::vector<package::ValuesInput>> read_values(const Invocation& invocation, Machine& machine);

/// The engines that may render a directory, for every command that names a package.
inline constexpr std::string_view kEngineNames[] = {"helm",       "kustomize", "jinja", "nickel",
                                                    "handlebars", "python",    "yaml"};
inline constexpr Flag kEngineFlag{.name = "engine",
                                  .type = FlagType::Choice,
                                  .value = "ENGINE",
                                  .help =
                                      "Engine for a directory, instead of the one that its files call for: "
                                      "helm, kustomize, jinja, nickel, handlebars, python, or yaml for none",
                                  .choices = kEngineNames,
                                  .rare = true};

/// Of commands that render charts; it isn't recorded, as in Helm.
inline constexpr Flag kSkipSchemaFlag{
    .name = "skip-schema-validation",
    .help = "Take a chart's values as they are, without looking at its values.schema.json",
    .rare = true};

/// Of engines: their limits, the cache of compiled code, where they are.
package::RendererOptions renderer_options(const Machine& machine, const config::Paths& paths);

/// Where packages come from, as configured here. `signers`: Remember for commands that render them.
Result<std::unique_ptr<render::Packages>> open_packages(
    const Invocation& invocation, Machine& machine, registry::Mirrors mirrors = registry::Mirrors::Use,
    registry::NewSigners signers = registry::NewSigners::Leave);
/// The package that `reference` names, to be rendered: from a registry, or a path that begins with ./, ../ or
/// /. `engine`: as in kEngineFlag, or empty.
Result<package::Source> fetch_package(const Invocation& invocation, Machine& machine,
                                      std::string_view reference, std::string engine = {});

/// With the limits that kSandboxFlags give, and the cache of compiled code.
Result<std::unique_ptr<package::Renderer>> open_renderer(const Invocation& invocation, Machine& machine);

}  // namespace mist::cli
