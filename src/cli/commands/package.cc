#include "abi/abi.h"
#include "action/authoring/build_program.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "package/module_section.h"

namespace mist::cli {
namespace {

constexpr std::uint64_t kMostMetadata = 16u << 20;
constexpr Argument kArguments[] = {
    {.name = "SOURCE",
     .help = "A directory with a program (TypeScript, Go, Rust, C++, C), a WebAssembly module (a WASI "
             "command, or one with the "
             "functions of a package ABI), a Helm chart, a Kustomize directory, or templates",
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
    {"mistctl package build ./shop", "Compiles the program there, and writes NAME-VERSION.mist-pack.wasm"},
    {"mistctl package build app.wasm -m mistletoe.yaml", "The same of a module that is compiled already"},
    {"mistctl package build ./my-chart -o shop.mist-pack.wasm", "A chart and its engine as one module"},
    {"mistctl package build ./my-chart --thin", "The chart alone, for mistctls with the same engine"},
};

// With the lock beside its metadata, if there is one.
Result<std::string> with_lock_beside(const Invocation& invocation, Machine& machine, std::string module,
                                     const Path& metadata) {
  const Path directory = std::filesystem::absolute(metadata).lexically_normal().parent_path();
  const Path file = directory / package::kLockFile;
  std::string complete = std::move(module);
  if (machine.files.exists(file)) {
    MIST_TRY(const std::string text, machine.files.read(file, 16u << 20));
    MIST_TRY_VOID(resolve::LockFile::parse(text, file.string()));
    MIST_TRY(complete, package::with_lock(complete, text, "the module"));
  }
  if (!invocation.enabled(kLockedFlag.name)) return complete;
  package::Source source;
  source.reference = metadata.string();
  source.name = metadata.stem().string();
  source.content = wasm::ModuleBytes(std::string(complete));
  MIST_TRY(const auto packages, open_packages(invocation, machine));
  render::DependencyRules rules;
  rules.locked = true;
  MIST_TRY_VOID(packages->solve(source, directory.string(), rules, machine.context));
  return complete;
}

// The toolchain that compiles `directory`; null: an engine renders it, or nothing.
Result<const action::Toolchain*> toolchain_of(const Invocation& invocation, Machine& machine,
                                              const Path& directory) {
  if (invocation.has("engine")) return nullptr;
  const action::Toolchain* const toolchain = action::find_toolchain(machine.files, directory);
  if (toolchain == nullptr) return nullptr;
  // Names are enough; what npm or cargo left there needn't be read.
  package::Files names;
  MIST_TRY(const auto entries, machine.files.list(directory));
  for (const DirectoryEntry& entry : entries) names.emplace(entry.name, "");
  std::string declared;
  if (names.contains(std::string(package::kPackageFile))) {
    MIST_TRY(const std::string text, machine.files.read(directory / package::kPackageFile, kMostMetadata));
    MIST_TRY(const encoding::Value document, encoding::parse_yaml(text));
    declared = document.string_at({"spec", "engine"});
    if (declared == package::kPlainYaml) return nullptr;
  }
  MIST_TRY(const package::EngineKind* const engine, package::choose_engine(names, "", declared));
  return engine == nullptr ? toolchain : nullptr;
}

// `metadata` with the schemas that the program itself has.
Result<std::string> with_own_schemas(package::Renderer& renderer, Machine& machine, const std::string& module,
                                     const std::string& metadata, const Path& file) {
  MIST_TRY(encoding::Value document, encoding::parse_yaml(metadata, {.strict = true, .file = file.string()}));
  encoding::Value* const spec = document.find("spec");
  if (spec == nullptr || spec->find("inputs") != nullptr) return metadata;
  package::Source source;
  source.reference = file.parent_path().string();
  source.content = wasm::ModuleBytes(std::string(module));
  MIST_TRY(const encoding::Value described, renderer.describe(source, machine.context));
  for (const std::string_view key : {"inputs", "exports"}) {
    const encoding::Value* const schema = described.find(key);
    if (schema != nullptr && spec->find(key) == nullptr) spec->set(key, *schema);
  }
  return encoding::to_json(document);
}

Result<std::string> built_program(const Invocation& invocation, Machine& machine, package::Renderer& renderer,
                                  const action::Toolchain& toolchain, const Path& directory) {
  MIST_TRY(const std::string module,
           action::compile_program(toolchain, machine.files, machine.processes, machine.environment,
                                   *machine.events, directory, machine.context));
  const Path file = directory / package::kPackageFile;
  if (toolchain.inputs == action::InputsFrom::Module) {
    MIST_TRY(const auto own, abi::read_metadata(wasm::ModuleBytes(std::string(module)), directory.string()));
    if (own) return with_lock_beside(invocation, machine, module, file);
  }
  if (!machine.files.exists(file))
    return error(ErrorKind::NotFound, "{} has no {}", escape_controls(directory.string()),
                 package::kPackageFile)
        .with_hint("it says the package's name and version: mistctl help package");
  MIST_TRY(std::string metadata, machine.files.read(file, kMostMetadata));
  if (toolchain.inputs == action::InputsFrom::Program) {
    MIST_TRY(metadata, with_own_schemas(renderer, machine, module, metadata, file));
  }
  MIST_TRY(std::string complete, package::with_metadata(module, metadata, file.string()));
  return with_lock_beside(invocation, machine, std::move(complete), file);
}

// The module with its metadata, the compiled program, or the directory with its engine.
Result<std::string> built(const Invocation& invocation, Machine& machine, package::Renderer& renderer) {
  const Path source_path = invocation.argument("SOURCE");
  const std::string metadata_path = invocation.text("metadata");
  if (!machine.files.is_directory(source_path) && source_path.extension() != ".tgz") {
    if (metadata_path.empty())
      return error(ErrorKind::Usage, "{} needs its metadata", escape_controls(source_path.string()))
          .with_hint("give the MistPackage document with -m FILE");
    if (invocation.enabled("thin"))
      return error(ErrorKind::Usage, "--thin goes with what an engine renders: {} is a program of its own",
                   escape_controls(source_path.string()))
          .with_hint("leave it out");
    MIST_TRY(const std::string module, machine.files.read(source_path, registry::kMaxPackageBytes));
    MIST_TRY(const std::string metadata, machine.files.read(metadata_path, 16u << 20));
    MIST_TRY(std::string complete,
             package::with_metadata(module, metadata, metadata_path)
                 .in(fmt::format("while building a package of {}", source_path.string())));
    return with_lock_beside(invocation, machine, std::move(complete), metadata_path);
  }
  if (!metadata_path.empty())
    return error(ErrorKind::Usage, "-m goes with modules: {} says what it is in its own files",
                 escape_controls(source_path.string()))
        .with_hint("write mistletoe.yaml there");
  if (machine.files.is_directory(source_path)) {
    MIST_TRY(const action::Toolchain* const toolchain, toolchain_of(invocation, machine, source_path));
    const Path directory = std::filesystem::absolute(source_path / "").lexically_normal().parent_path();
    if (toolchain != nullptr) return built_program(invocation, machine, renderer, *toolchain, directory);
  }
  MIST_TRY(const package::Source source,
           fetch_package(invocation, machine, std::filesystem::absolute(source_path).string(),
                         invocation.text("engine")));
  const Activity activity(*machine.events, fmt::format("building {}", source_path.string()));
  return renderer.build(
      source, invocation.enabled("thin") ? package::BuiltEngine::Named : package::BuiltEngine::Contained,
      machine.context);
}

// Beside the source. The package's author chose its name and version, which lead nowhere else.
Result<Path> default_output(const Path& source, const package::Metadata& metadata) {
  if (metadata.version.empty())
    return error(ErrorKind::Usage, "{} has no version, so the package has no file name", source.string())
        .with_hint("add the version, or give -o FILE");
  const std::string named = fmt::format("{}-{}", metadata.name, metadata.version);
  const bool is_plain = escape_controls(named) == named && named.find('/') == std::string::npos;
  if (!is_plain)
    return error(ErrorKind::Invalid, "{} calls itself {}, which can't be the name of a file", source.string(),
                 escape_controls(named))
        .with_hint("give -o FILE");
  return source.parent_path() / (named + ".mist-pack.wasm");
}

Result<ExitCode> run_build(const Invocation& invocation, Machine& machine) {
  Path source_path = invocation.argument("SOURCE");
  if (!source_path.has_filename()) source_path = source_path.parent_path();
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(std::string module, built(invocation, machine, *renderer));
  // The proof that users will be able to read it: by the same way as theirs.
  package::Source source;
  source.reference = source_path.string();
  source.name = source_path.stem().string();
  source.content = std::move(module);
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, machine.context));
  Path target = invocation.text("output");
  const bool is_named = !target.empty();
  if (!is_named) {
    MIST_TRY(target, default_output(source_path, inspection.metadata));
  }
  MIST_TRY(const auto bytes, std::get<wasm::ModuleBytes>(source.content).bytes());
  MIST_TRY(const bool to_stdout, takes_stdout(machine, target));
  MIST_TRY_VOID(is_named ? write_output(machine.files, target, *bytes)
                         : machine.files.write(target, *bytes, kUsersFile));
  if (!to_stdout) machine.out.write(target.string() + "\n");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageBuildCommand{
    .path = "package build",
    .summary =
        "Make a package of a program, a WebAssembly module, a chart, a Kustomize directory or templates",
    .run = run_build,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
