#include "abi/abi.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/package_flags.h"
#include "cli/places.h"
#include "package/module_section.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "MODULE",
     .help = "A WebAssembly module: a WASI command, or one with the functions of a package ABI",
     .completion = Completion::File}};
constexpr Flag kFlags[] = {
    {.name = "metadata",
     .letter = 'm',
     .type = FlagType::Text,
     .value = "FILE",
     .help = "The MistPackage document, YAML or JSON",
     .completion = Completion::File,
     .required = true},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Where to write the package; without it NAME-VERSION.mist-pack.wasm beside the module",
     .completion = Completion::File},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl package build app.wasm -m mistletoe.yaml", "Writes NAME-VERSION.mist-pack.wasm"},
};

Result<ExitCode> run_build(const Invocation& invocation, World& world) {
  const Path module_path = invocation.argument("MODULE");
  const std::string metadata_path = invocation.text("metadata");
  MIST_TRY(const std::string module, world.files.read(module_path, registry::kMaxPackageBytes));
  MIST_TRY(const std::string metadata, world.files.read(metadata_path, 16u << 20));
  MIST_TRY(std::string built, package::with_metadata(module, metadata, metadata_path)
                                  .in(fmt::format("while building a package of {}", module_path.string())));
  // The proof that users will be able to read it: by the same way as theirs.
  package::Source source;
  source.reference = module_path.string();
  source.name = module_path.stem().string();
  source.content = built;
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, world.context));
  Path target = invocation.text("output");
  if (target.empty()) {
    if (inspection.metadata.version.empty())
      return error(ErrorKind::Usage, "{} has no spec.version, so the package has no file name", metadata_path)
          .with_hint("add the version, or give -o FILE");
    target = module_path.parent_path() /
             fmt::format("{}-{}.mist-pack.wasm", inspection.metadata.name, inspection.metadata.version);
  }
  MIST_TRY_VOID(world.files.write(target, built));
  world.out.write(target.string() + "\n");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageBuildCommand{
    .path = "package build",
    .summary = "Make a package of a WebAssembly module and its metadata",
    .run = run_build,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
