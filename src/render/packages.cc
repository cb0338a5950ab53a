#include "render/packages.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "formats/remote_bases.h"
#include "oci/tags.h"

namespace mist::render {
namespace {

// "examples/namespace-example" → "namespace-example"; "./my-dir" → "my-dir".
std::string last_segment(const Path& path) {
  const Path clean = path.lexically_normal();
  const std::string name =
      clean.has_filename() ? clean.stem().string() : clean.parent_path().filename().string();
  return name.empty() || name == "." ? "package" : name;
}

std::pair<std::string, std::string> name_and_version(const registry::PackageRef& reference) {
  if (const auto* in_registry = std::get_if<registry::RegistryRef>(&reference.form()))
    return {in_registry->name(), in_registry->version};
  if (const auto* local = std::get_if<registry::LocalRef>(&reference.form()))
    return {last_segment(local->path), ""};
  if (const auto* oci = std::get_if<oci::Reference>(&reference.form()))
    return {oci->repository.name(), oci::version_of_tag(oci->tag)};
  const auto& git = std::get<registry::GitRef>(reference.form());
  return {last_segment(git.path.empty() ? Path(git.url) : Path(git.path)), git.ref};
}

// A path on this machine or a branch may have other content every day; a version of a registry may not.
Status refuse_changed_bytes(const package::Source& source, const release::PackageInfo& recorded) {
  const std::string& reference = source.reference;
  if (recorded.digest == source.digest || reference.starts_with('/') || reference.starts_with("git+"))
    return {};
  Error failure = error(ErrorKind::Conflict, "{} is not what the release was made from", reference);
  failure.because = fmt::format("its digest is {}, it was {}", source.digest, recorded.digest);
  failure.hint = fmt::format("if the new bytes are wanted, say so with -p {}", reference);
  return failure;
}

// Files that a compiler leaves beside sources may be too large for a package; that error alone doesn't tell
// its author to build it first.
Error about_sources(const registry::PackageRef& parsed, Error failure) {
  const auto* const local = std::get_if<registry::LocalRef>(&parsed.form());
  if (local == nullptr || !std::filesystem::exists(local->path / package::kPackageFile)) return failure;
  for (const package::ProgramMark& mark : package::program_marks()) {
    if (!std::filesystem::exists(local->path / mark.file)) continue;
    failure.hint = package::build_it_first(mark.language, local->path.string());
    break;
  }
  return failure;
}

}  // namespace

Packages::Packages(World world) : world_(std::move(world)), registries_(world_.registries) {}

Result<package::Source> Packages::fetch_recorded(const release::PackageInfo& recorded, std::string engine,
                                                 const Context& context) {
  MIST_TRY(package::Source source, fetch(recorded.reference, std::move(engine), &recorded.calls, context));
  MIST_TRY_VOID(refuse_changed_bytes(source, recorded));
  return source;
}

Result<package::Source> Packages::fetch(std::string_view reference, std::string engine,
                                        const std::vector<release::CalledPackage>* recorded,
                                        const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, registries_.parse(reference));
  MIST_TRY(package::Source source, find(parsed, std::move(engine), world_.locked, context));
  // Paths among its dependencies are relative to its directory.
  std::string directory;
  if (const auto* const local = std::get_if<registry::LocalRef>(&parsed.form())) {
    const Path path = std::filesystem::absolute(local->path).lexically_normal();
    directory = (std::filesystem::is_directory(path) ? path : path.parent_path()).string();
  }
  const DependencyRules rules{.recorded = recorded, .lock = {}, .locked = world_.locked, .update = {}};
  MIST_TRY_VOID(resolve_dependencies(source, directory, rules, *this, context));
  return source;
}

Result<package::Source> Packages::find(const std::string& reference, const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, registries_.parse(reference));
  return find(parsed, {}, false, context);
}

Result<std::vector<std::string>> Packages::versions(const std::string& package, const Context& context) {
  if (package.starts_with(oci::kScheme)) {
    MIST_TRY(const oci::Repository repository, oci::Repository::parse(package));
    return registries_.list_versions(repository, context);
  }
  const auto slash = std::min(package.find('/'), package.size() - 1);
  return registries_.list_versions(package.substr(0, slash), package.substr(slash + 1), context);
}

Result<Packages::Found> Packages::read(const registry::PackageRef& parsed, std::string engine,
                                       const Context& context) {
  auto answer = registries_.fetch(parsed, context, engine);
  if (!answer.ok()) return about_sources(parsed, std::move(answer).error());
  registry::Fetched fetched = *std::move(answer);
  Found found{{}, std::holds_alternative<registry::LocalRef>(parsed.form()), std::move(fetched.origin)};
  package::Source& source = found.source;
  source.reference = fetched.resolved.recorded();
  std::tie(source.name, source.version) = name_and_version(fetched.resolved);
  source.digest = fetched.digest.str();
  source.engine = std::move(engine);
  if (const auto* module = std::get_if<registry::PackageModule>(&fetched.content)) {
    source.content = *module;
  } else {
    std::map<std::string, std::string> files;
    for (registry::PackageFile& file : std::get<registry::PackageTree>(fetched.content).files)
      files.emplace(std::move(file.path), std::move(file.bytes));
    source.content = std::move(files);
  }
  return found;
}

// Of what it names elsewhere its own lock counts: no other package knows what that is.
Result<package::Source> Packages::find(const registry::PackageRef& parsed, std::string engine, bool locked,
                                       const Context& context) {
  MIST_TRY(Found found, read(parsed, std::move(engine), context));
  if (!formats::may_have_remote_bases(found.source)) return std::move(found.source);
  resolve::LockFile lock;
  MIST_TRY(const std::optional<std::string> text, package::lock_text(found.source));
  if (text) {
    MIST_TRY(lock, resolve::LockFile::parse(
                       *text, fmt::format("{} of {}", package::kLockFile, found.source.reference)));
  }
  MIST_TRY_VOID(complete(found, &lock, locked, context));
  return std::move(found.source);
}

Result<std::vector<resolve::LockedRemote>> Packages::remotes(std::string_view reference,
                                                             const resolve::LockFile& known, bool locked,
                                                             const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, registries_.parse(reference));
  MIST_TRY(Found found, read(parsed, {}, context));
  if (!formats::may_have_remote_bases(found.source)) return std::vector<resolve::LockedRemote>();
  return complete(found, &known, locked, context);
}

Result<std::vector<resolve::LockedRemote>> Packages::complete(Found& found, const resolve::LockFile* lock,
                                                              bool locked, const Context& context) {
  package::Renderer renderer(world_.engines, world_.registries.events);
  return formats::fetch_remote_bases({registries_, renderer, world_.transport, found.is_local, found.origin,
                                      world_.remote_bases, lock, locked},
                                     found.source, context);
}

Result<encoding::Value> values_for(const package::Source& source,
                                   std::span<const package::ValuesInput> inputs, EventSink& events) {
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(source));
  return package::merge_values(
      inputs, package::has_chart_values(engine) ? package::Numbers::AsHelm : package::Numbers::AsWritten,
      &events);
}

}  // namespace mist::render
