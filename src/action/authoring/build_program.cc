#include "action/authoring/build_program.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/json.h"
#include "package/engine.h"

namespace mist::action {
namespace {

constexpr std::string_view kNode[] = {"node"};
constexpr std::string_view kGo[] = {"go"};
constexpr std::string_view kCargo[] = {"cargo"};
constexpr std::string_view kClangxx[] = {"clang++-19", "clang++"};
constexpr std::string_view kClang[] = {"clang-19", "clang"};

constexpr std::string_view kCargoManifest = "Cargo.toml";
constexpr std::string_view kNpmSdk = "mistletoe";  // in package.json and node_modules
constexpr std::string_view kCompileFlags = "compile_flags.txt";
constexpr std::string_view kOutput = ".mistletoe-build.wasm";  // for as long as it takes to read it
constexpr std::string_view kRustTarget = "wasm32-wasip1";
constexpr std::uint64_t kMostModule = std::uint64_t{256} << 20;
constexpr std::size_t kMostWords = 16u << 10;  // of a compiler that fails

Error not_installed(const Path& directory, std::string because) {
  return error(ErrorKind::NotFound, "the npm packages that {} needs aren't installed", directory.string())
      .with_because(std::move(because))
      .with_hint(fmt::format("run npm ci in {}", directory.string()));
}

// Node itself would only say that it can't find a file.
Status check_npm(const FileSystem& files, const Path& directory) {
  const Path manifest = directory / "package.json";
  MIST_TRY(const std::string text, files.read(manifest, 1u << 20));
  MIST_TRY(const encoding::Value document, encoding::parse_json(text, {.file = manifest.string()}));
  const encoding::Value* const dependencies = document.find("dependencies");
  if (dependencies == nullptr || dependencies->find(kNpmSdk) == nullptr)
    return error(ErrorKind::Invalid, "{} depends on no {}", manifest.string(), kNpmSdk)
        .with_because("that is the SDK for packages in TypeScript, which makes the component")
        .with_hint("mistctl package init NAME --template typescript writes a package that has it");
  const Path modules = directory / "node_modules";
  if (!files.is_directory(modules))
    return not_installed(directory, fmt::format("there is no {}", modules.string()));
  if (!files.exists(modules / kNpmSdk / "bin/build.mjs"))
    return not_installed(directory, fmt::format("there is no {}", (modules / kNpmSdk).string()));
  return {};
}

Result<std::vector<std::string>> sources_of(const FileSystem& files, const Path& directory,
                                            std::string_view extension) {
  MIST_TRY(const auto entries, files.list(directory));
  std::vector<std::string> sources;
  for (const DirectoryEntry& entry : entries) {
    if (entry.name.ends_with(extension)) sources.push_back(entry.name);
  }
  return sources;
}

// Clang's own file of flags, which editors read too.
Result<std::vector<std::string>> clang_arguments(const FileSystem& files, const Path& directory,
                                                 std::vector<std::string> flags, std::string_view extension,
                                                 const std::string& output) {
  flags.insert(flags.begin(), {"--target=wasm32-wasi", "-Os", "-Wl,--strip-all", "-o", output});
  if (files.exists(directory / kCompileFlags)) flags.push_back(fmt::format("@{}", kCompileFlags));
  MIST_TRY(const auto sources, sources_of(files, directory, extension));
  flags.insert(flags.end(), sources.begin(), sources.end());
  return flags;
}

Result<Command> typescript_command(const FileSystem& files, const Path& directory, const std::string& output,
                                   const Variables&, EventSink&) {
  MIST_TRY_VOID(check_npm(files, directory));
  Command command;
  command.arguments = {fmt::format("node_modules/{}/bin/build.mjs", kNpmSdk), ".", "-o", output};
  return command;
}

Result<Command> go_command(const FileSystem&, const Path&, const std::string& output, const Variables&,
                           EventSink&) {
  Command command;
  command.env = {{"CGO_ENABLED", "0"}, {"GOOS", "wasip1"}, {"GOARCH", "wasm"}, {"GOFLAGS", std::nullopt}};
  command.arguments = {"build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", output, "."};
  return command;
}

// A variable of flags for rustc.
struct RustFlags {
  std::string_view variable;
  char separator;
};
// Cargo reads the first that is set, and but for the last nothing of its configuration files then. To the
// last it adds what those have for all targets; flags that they have for this target count in its place.
constexpr std::array kRustFlags{
    RustFlags{"CARGO_ENCODED_RUSTFLAGS", '\x1f'},
    RustFlags{"RUSTFLAGS", ' '},
    RustFlags{"CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", ' '},
    RustFlags{"CARGO_BUILD_RUSTFLAGS", ' '},
};

// Messages of panics name files of crates: with the paths of this machine, a module would show who built it
// and where, and be another one on the next.
void hide_paths(Command& command, const Path& directory, const Variables& environment, EventSink& events) {
  const auto* const chosen =
      std::find_if(kRustFlags.begin(), kRustFlags.end() - 1,
                   [&](const RustFlags& each) { return environment(each.variable).has_value(); });
  std::string flags = environment(chosen->variable).value_or("");
  const auto add = [&](const std::string& path, std::string_view shown_as) {
    if (path.empty()) return;
    // Where spaces separate flags, none can hold one.
    if (path.find(chosen->separator) != std::string::npos) {
      events.warn(
          fmt::format("the module may have the path {} in it: it can't be written into {}; where "
                      "CARGO_ENCODED_RUSTFLAGS is set, if only to nothing, it can",
                      escape_controls(path), chosen->variable));
      return;
    }
    if (!flags.empty()) flags += chosen->separator;
    flags += fmt::format("--remap-path-prefix={}={}", path, shown_as);
  };
  // Cargo takes an empty one as none.
  const std::string home = environment("HOME").value_or("");
  const std::string cargo = environment("CARGO_HOME").value_or("");
  add(cargo.empty() && !home.empty() ? home + "/.cargo" : cargo, "/cargo");
  std::error_code failed;
  const Path real = std::filesystem::canonical(directory, failed);
  if (!failed) add(real.string(), "/package");
  command.env[std::string(chosen->variable)] = std::move(flags);
}

// Cargo decides itself where its module goes, and says so.
Result<Command> rust_command(const FileSystem&, const Path& directory, const std::string&,
                             const Variables& environment, EventSink& events) {
  Command command;
  hide_paths(command, directory, environment, events);
  command.arguments = {"build",
                       "--release",
                       "--quiet",
                       "--target",
                       std::string(kRustTarget),
                       "--message-format",
                       "json-render-diagnostics"};
  return command;
}

Result<Command> cpp_command(const FileSystem& files, const Path& directory, const std::string& output,
                            const Variables&, EventSink&) {
  Command command;
  MIST_TRY(command.arguments,
           clang_arguments(files, directory, {"-std=c++20", "-fno-exceptions"}, ".cpp", output));
  return command;
}

Result<Command> c_command(const FileSystem& files, const Path& directory, const std::string& output,
                          const Variables&, EventSink&) {
  Command command;
  MIST_TRY(command.arguments, clang_arguments(files, directory, {}, ".c", output));
  return command;
}

constexpr std::array kToolchains{
    Toolchain{"TypeScript", kNode, "Node.js 20 or newer: https://nodejs.org", "", InputsFrom::Metadata,
              typescript_command},
    Toolchain{"Go", kGo, "Go 1.24 or newer: https://go.dev/dl", "", InputsFrom::Program, go_command},
    Toolchain{"Rust", kCargo, "Rust 1.95 or newer: https://rustup.rs",
              "if the target isn't installed: rustup target add wasm32-wasip1", InputsFrom::Module,
              rust_command},
    Toolchain{"C++", kClangxx,
              "clang 19 or newer, wasi-libc and libc++ for wasm32; Debian: apt-get install clang-19 lld-19 "
              "wasi-libc "
              "libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32",
              "if headers of the standard library are missing, on Debian: apt-get install wasi-libc "
              "libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32",
              InputsFrom::Program, cpp_command},
    Toolchain{"C", kClang,
              "clang 19 or newer and wasi-libc; Debian: apt-get install clang-19 lld-19 wasi-libc "
              "libclang-rt-19-dev-wasm32",
              "if headers of the standard library are missing, on Debian: apt-get install wasi-libc "
              "libclang-rt-19-dev-wasm32",
              InputsFrom::Metadata, c_command},
};

// A module that Cargo made, and the target and package that it is of.
struct CargoModule {
  std::string file, target, package, manifest;
  bool is_binary = false;

  bool is_main() const { return is_binary && target == package; }
};

// Of an id as of Cargo 1.77: path+file:///work/shop#0.1.0, or path+file:///work#shop@0.1.0.
std::string_view package_name(std::string_view id) {
  const std::size_t hash = id.rfind('#'), at = id.rfind('@');
  if (hash == std::string_view::npos) return {};
  if (at != std::string_view::npos && at > hash) return id.substr(hash + 1, at - hash - 1);
  const std::string_view place = id.substr(0, hash);
  return place.substr(place.rfind('/') + 1);
}

// Of the lines of JSON that Cargo prints.
std::vector<CargoModule> modules_of_cargo(std::string_view printed) {
  std::vector<CargoModule> modules;
  for (const std::string_view line : split(printed, '\n')) {
    const auto message = encoding::parse_json(line);
    if (!message.ok() || message->string_at("reason") != "compiler-artifact") continue;
    const encoding::Value* const target = message->find("target");
    for (std::string& file : message->texts_at("filenames")) {
      if (!file.ends_with(".wasm")) continue;
      CargoModule& made = modules.emplace_back();
      made.file = std::move(file);
      made.package = package_name(message->string_at("package_id"));
      made.manifest = message->string_at("manifest_path");
      if (target == nullptr) continue;
      made.target = target->string_at("name");
      const std::vector<std::string> kinds = target->texts_at("kind");
      made.is_binary = std::ranges::find(kinds, "bin") != kinds.end();
    }
  }
  return modules;
}

// Cargo names them as their compilers end. Dependencies may be modules too.
Result<Path> module_of_cargo(std::string_view printed, const Path& directory) {
  std::vector<CargoModule> modules = modules_of_cargo(printed);
  if (modules.empty())
    return error(ErrorKind::Invalid, "cargo made no module of {}", directory.string())
        .with_hint("the package needs src/main.rs, or crate-type = [\"cdylib\"] and src/lib.rs");
  std::error_code failed;
  const std::string manifest = (std::filesystem::canonical(directory, failed) / kCargoManifest).string();
  const auto is_other = [&](const CargoModule& each) { return each.manifest != manifest; };
  // In the directory of a workspace all may be of its members.
  if (!std::ranges::all_of(modules, is_other)) std::erase_if(modules, is_other);
  if (modules.size() == 1) return Path(modules.front().file);
  if (std::ranges::count_if(modules, &CargoModule::is_main) == 1)
    return Path(std::ranges::find_if(modules, &CargoModule::is_main)->file);
  std::vector<std::string> targets;
  for (const CargoModule& each : modules) targets.push_back(escape_controls(each.target));
  std::ranges::sort(targets);
  return error(ErrorKind::Invalid, "cargo made {} modules of {}: {}", modules.size(), directory.string(),
               join(targets, ", "))
      .with_hint("one binary of the package has to have its name; the others can be examples, or packages");
}

std::string words_of(std::string_view text) {
  const std::string_view kept = trim(text).substr(0, kMostWords);
  return escape_controls(kept, true);
}

Result<ProcessResult> run_first(const Toolchain& toolchain, ProcessRunner& processes, Command command,
                                const Context& context) {
  for (const std::string_view program : toolchain.programs) {
    command.program = program;
    Result<ProcessResult> ended = processes.run(command, context);
    if (ended.ok() || ended.error().kind != ErrorKind::NotFound) return ended;
  }
  const std::vector<std::string> names(toolchain.programs.begin(), toolchain.programs.end());
  return error(ErrorKind::NotFound, "a package in {} is built with {}, which isn't in the PATH",
               toolchain.language, join(names, " or "))
      .with_hint(fmt::format("install {}", toolchain.needs));
}

}  // namespace

const Toolchain* find_toolchain(const FileSystem& files, const Path& directory) {
  const auto marks = package::program_marks();
  const auto mark = std::ranges::find_if(
      marks, [&](const package::ProgramMark& each) { return files.exists(directory / each.file); });
  return mark == marks.end() ? nullptr : std::ranges::find(kToolchains, mark->language, &Toolchain::language);
}

Result<std::string> compile_program(const Toolchain& toolchain, FileSystem& files, ProcessRunner& processes,
                                    const Variables& environment, EventSink& events, const Path& directory,
                                    const Context& context) {
  const Path output = std::filesystem::absolute(directory).lexically_normal() / kOutput;
  MIST_TRY(Command command, toolchain.command(files, directory, output.string(), environment, events));
  command.directory = directory;
  const Activity activity(events,
                          fmt::format("compiling {} with {}", directory.string(), toolchain.programs[0]));
  const Result<ProcessResult> ended = run_first(toolchain, processes, std::move(command), context);
  // Whether it succeeded or not, nothing stays there.
  auto made = files.read(output, kMostModule);
  MIST_TRY_VOID(files.remove(output));
  if (!ended.ok()) return ended.error();
  if (ended->exit_code != 0) {
    Error failure = error(ErrorKind::Invalid, "{} doesn't compile", directory.string())
                        .with_because(words_of(trim(ended->err).empty() ? ended->out : ended->err));
    failure.hint = toolchain.advice;
    return failure;
  }
  if (const std::string words = words_of(ended->err); !words.empty()) events.warn(words);
  if (toolchain.inputs != InputsFrom::Module) return made;
  MIST_TRY(const Path module, module_of_cargo(ended->out, directory));
  return files.read(module, kMostModule);
}

}  // namespace mist::action
