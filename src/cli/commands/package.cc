#include "abi/abi.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/package_flags.h"
#include "cli/places.h"
#include "package/module_section.h"

namespace mist::cli {
namespace {

constexpr Argument kArguments[] = {
    {.name = "SOURCE",
     .help =
         "A WebAssembly module (a WASI command, or one with the functions of a package ABI), a Helm chart, a "
         "Kustomize directory, or templates",
     .completion = Completion::Package}};
constexpr Flag kFlags[] = {
    {.name = "metadata",
     .letter = 'm',
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Of a module: the MistPackage document, YAML or JSON",
     .completion = Completion::File},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Where to write the package; without it NAME-VERSION.mist-pack.wasm beside the source",
     .completion = Completion::File},
    {.name = "thin",
     .help =
         "Name the engine by its digest instead of containing it: a few KB, for everybody with this mistctl"},
    kEngineFlag,
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl package build app.wasm -m mistletoe.yaml", "Writes NAME-VERSION.mist-pack.wasm"},
    {"mistctl package build ./my-chart -o shop.mist-pack.wasm", "A chart and its engine as one module"},
    {"mistctl package build ./my-chart --thin", "The chart alone, for mistctls with the same engine"},
};

// With the lock beside its metadata, if there is one.
Result<std::string> with_lock_beside(const Invocation& invocation, World& world, std::string module,
                                     const Path& metadata) {
  const Path directory = std::filesystem::absolute(metadata).lexically_normal().parent_path();
  const Path file = directory / package::kLockFile;
  std::string complete = std::move(module);
  if (world.files.exists(file)) {
    MIST_TRY(const std::string text, world.files.read(file, 16u << 20));
    MIST_TRY_VOID(resolve::LockFile::parse(text, file.string()));
    MIST_TRY(complete, package::with_lock(complete, text, "the module"));
  }
  if (!invocation.enabled(kLockedFlag.name)) return complete;
  package::Source source;
  source.reference = metadata.string();
  source.name = metadata.stem().string();
  source.content = wasm::ModuleBytes(std::string(complete));
  MIST_TRY(const auto packages, open_packages(invocation, world));
  render::DependencyRules rules;
  rules.locked = true;
  MIST_TRY_VOID(packages->solve(source, directory.string(), rules, world.context));
  return complete;
}

// The module with its metadata, or the directory with its engine.
Result<std::string> built(const Invocation& invocation, World& world, package::Renderer& renderer) {
  const Path source_path = invocation.argument("SOURCE");
  const std::string metadata_path = invocation.text("metadata");
  if (!world.files.is_directory(source_path) && source_path.extension() != ".tgz") {
    if (metadata_path.empty())
      return error(ErrorKind::Usage, "{} needs its metadata", escape_controls(source_path.string()))
          .with_hint("give the MistPackage document with -m FILE");
    if (invocation.enabled("thin"))
      return error(ErrorKind::Usage, "--thin goes with what an engine renders: {} is a program of its own",
                   escape_controls(source_path.string()))
          .with_hint("leave it out");
    MIST_TRY(const std::string module, world.files.read(source_path, registry::kMaxPackageBytes));
    MIST_TRY(const std::string metadata, world.files.read(metadata_path, 16u << 20));
    MIST_TRY(std::string complete,
             package::with_metadata(module, metadata, metadata_path)
                 .in(fmt::format("while building a package of {}", source_path.string())));
    return with_lock_beside(invocation, world, std::move(complete), metadata_path);
  }
  if (!metadata_path.empty())
    return error(ErrorKind::Usage, "-m goes with modules: {} says what it is in its own files",
                 escape_controls(source_path.string()))
        .with_hint("write mistletoe.yaml there");
  MIST_TRY(const package::Source source,
           fetch_package(invocation, world, std::filesystem::absolute(source_path).string(),
                         invocation.text("engine")));
  const Activity activity(*world.events, fmt::format("building {}", source_path.string()));
  return renderer.build(
      source, invocation.enabled("thin") ? package::BuiltEngine::Named : package::BuiltEngine::Contained,
      world.context);
}

Result<ExitCode> run_build(const Invocation& invocation, World& world) {
  Path source_path = invocation.argument("SOURCE");
  if (!source_path.has_filename()) source_path = source_path.parent_path();
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  MIST_TRY(std::string module, built(invocation, world, *renderer));
  // The proof that users will be able to read it: by the same way as theirs.
  package::Source source;
  source.reference = source_path.string();
  source.name = source_path.stem().string();
  source.content = std::move(module);
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, world.context));
  Path target = invocation.text("output");
  if (target.empty()) {
    if (inspection.metadata.version.empty())
      return error(ErrorKind::Usage, "{} has no version, so the package has no file name",
                   source_path.string())
          .with_hint("add the version, or give -o FILE");
    target = source_path.parent_path() /
             fmt::format("{}-{}.mist-pack.wasm", inspection.metadata.name, inspection.metadata.version);
  }
  MIST_TRY(const auto bytes, std::get<wasm::ModuleBytes>(source.content).bytes());
  MIST_TRY_VOID(world.files.write(target, *bytes));
  world.out.write(target.string() + "\n");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageBuildCommand{
    .path = "package build",
    .summary = "Make a package of a WebAssembly module, a chart, a Kustomize directory or templates",
    .run = run_build,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples};

}  // namespace mist::cli
