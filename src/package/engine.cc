#include "package/engine.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "package/installation_fault.h"

namespace mist::package {
namespace {

// mistctl asks it about files of its own (src/render/chart_provenance.cc); no package can call for it.
constexpr std::string_view kOpenPgp = "openpgp";

constexpr std::array kEngineKinds{
    EngineKind{kHelmEngine, "Helm chart", EngineValues::Chart},
    EngineKind{kKustomizeEngine, "Kustomize directory"},
    EngineKind{"jinja", "Jinja templates"},
    EngineKind{"nickel", "Nickel program"},
    EngineKind{"handlebars", "Handlebars templates"},
    EngineKind{"python", "Python program"},
    EngineKind{kOpenPgp, "signatures of charts (.prov)"},
};

// A file at the top that tells what a directory is, first come first served: a chart may hold anything.
struct Mark {
  std::string_view file;
  std::string_view engine;
};
// Tools in Python lie beside programs in other languages.
constexpr std::string_view kPythonMain = "main.py";
constexpr std::array kMarks{
    Mark{".mistletoe/kustomize.json", kKustomizeEngine},  // with bases above it: src/registry/kustomization.h
    Mark{"Chart.yaml", kHelmEngine},
    Mark{"kustomization.yaml", kKustomizeEngine},
    Mark{"kustomization.yml", kKustomizeEngine},
    Mark{"Kustomization", kKustomizeEngine},
    Mark{"K3.yaml", "jinja"},
    Mark{"main.ncl", "nickel"},
    Mark{kPythonMain, "python"},
};

// Files anywhere that no other kind of package has.
struct Ending {
  std::string_view suffix;
  std::string_view engine;
};
constexpr std::array kEndings{
    Ending{".hbs", "handlebars"}, Ending{".handlebars", "handlebars"}, Ending{".j2", "jinja"},
    Ending{".jinja", "jinja"},    Ending{".jinja2", "jinja"},
};

constexpr std::array kProgramMarks{
    ProgramMark{"package.json", "TypeScript"},
    ProgramMark{"go.mod", "Go"},
    ProgramMark{"Cargo.toml", "Rust"},
    ProgramMark{"main.cpp", "C++"},
    ProgramMark{"main.c", "C"},
};

constexpr std::uint64_t kMaxEngine = std::uint64_t{256} << 20;

}  // namespace

std::span<const ProgramMark> program_marks() { return kProgramMarks; }

std::string build_it_first(std::string_view language, std::string_view directory) {
  return fmt::format(
      "it holds a program in {}: run mistctl package build {}, and name the file that it prints", language,
      directory);
}

std::span<const EngineKind> engine_kinds() { return kEngineKinds; }

const EngineKind* find_engine(std::string_view name) {
  const auto* const found = std::ranges::find(kEngineKinds, name, &EngineKind::name);
  return found == kEngineKinds.end() ? nullptr : found;
}

const EngineKind* engine_marked_by(std::string_view file) {
  const auto* const found = std::ranges::find(kMarks, file, &Mark::file);
  return found == kMarks.end() ? nullptr : find_engine(found->engine);
}

const std::string* packed_chart(const Files& files) {
  return files.size() == 1 && files.begin()->first.ends_with(".tgz") ? &files.begin()->second : nullptr;
}

Result<const EngineKind*> choose_engine(const Files& files, std::string_view wanted,
                                        std::string_view declared) {
  const std::string_view name = wanted.empty() ? declared : wanted;
  if (name == kPlainYaml) return nullptr;
  if (!name.empty()) {
    const EngineKind* const kind = find_engine(name);
    if (kind != nullptr && (name != kOpenPgp || !wanted.empty())) return kind;
    std::vector<std::string> known{std::string(kPlainYaml)};
    for (const EngineKind& each : kEngineKinds)
      if (each.name != kOpenPgp) known.emplace_back(each.name);
    Error failure =
        error(ErrorKind::Invalid, "there is no engine \"{}\"", escape_controls(name.substr(0, 100)));
    failure.hint = fmt::format("the engines are {}", join(known, ", "));
    return failure;
  }
  if (packed_chart(files) != nullptr) return find_engine(kHelmEngine);
  const bool is_program = std::ranges::any_of(
      kProgramMarks, [&](const ProgramMark& mark) { return files.contains(std::string(mark.file)); });
  for (const Mark& mark : kMarks) {
    if (mark.file == kPythonMain && is_program) continue;
    if (files.contains(std::string(mark.file))) return find_engine(mark.engine);
  }
  for (const Ending& ending : kEndings) {
    if (std::ranges::any_of(files, [&](const auto& file) { return file.first.ends_with(ending.suffix); }))
      return find_engine(ending.engine);
  }
  return nullptr;
}

Path EngineStore::file(std::string_view name) const { return directory_ / fmt::format("{}.wasm", name); }

Result<crypto::Digest> EngineStore::digest(std::string_view name) const {
  const auto found = std::ranges::find(digests_, name, &EngineDigest::name);
  if (found == digests_.end())
    return error(ErrorKind::NotFound, "this mistctl was built without the engine {}", name)
        .with_hint("build it again with all engines, or render with the engine's own tool")
        .with_detail(InstallationFault{});
  const auto digest = crypto::Digest::parse(fmt::format("sha256:{}", found->sha256));
  MIST_CHECK(digest);  // a constant of the build
  return *digest;
}

Result<std::string> EngineStore::read(std::string_view name) const {
  auto bytes = HostFileSystem().read(file(name), kMaxEngine);
  if (bytes.ok()) return bytes;
  return std::move(bytes)
      .error()
      .with_frame(fmt::format("while loading the engine {}", name))
      .with_hint("install mistctl again, or set MIST_ENGINES_LOCATION to the directory of its engines")
      .with_detail(InstallationFault{});
}

}  // namespace mist::package
