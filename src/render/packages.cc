#include "render/packages.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "formats/remote_bases.h"
#include "oci/reference.h"
#include "oci/tags.h"
#include "registry/known_packages.h"
#include "render/chart_provenance.h"
#include "render/deployed_version.h"

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

// Of the manifest that a lock names; nothing: the package is of no OCI registry.
std::optional<crypto::Digest> manifest_in(const resolve::Origin& locked) {
  const auto recorded = oci::Reference::parse(locked.source);
  return recorded.ok() && !recorded->tag.empty() ? recorded->digest : std::nullopt;
}

// "oci://host/db" of "oci://host/db:1.0.0".
std::string id_in(const std::string& reference) { return reference.substr(0, reference.rfind(':')); }

bool is_limited(const oci::Repository& repository, const std::optional<std::set<std::string>>& trusted) {
  return trusted && !trusted->contains(repository.host_name());
}

// Whether its remote bases may lead to the server that it comes from, wherever that is.
bool is_of_trusted_server(const registry::PackageRef& reference) {
  const auto* const oci = std::get_if<oci::Reference>(&reference.form());
  return oci == nullptr || !oci->repository.public_only;
}

Error not_what_it_was(const std::string& reference, const std::string& is, const std::string& was) {
  return error(ErrorKind::Conflict, "{} is not what the release was made from", reference)
      .with_because(fmt::format("its digest is {}, it was {}", is, was))
      .with_hint(fmt::format("if the new bytes are wanted, say so with -p {}", reference));
}

// A path on this machine or a branch may have other content every day; a version of a registry or a commit
// may not.
Status refuse_changed_bytes(const registry::PackageRef& parsed, const package::Source& source,
                            const release::PackageInfo& recorded) {
  if (recorded.digest == source.digest || std::holds_alternative<registry::LocalRef>(parsed.form()))
    return {};
  const auto* const git = std::get_if<registry::GitRef>(&parsed.form());
  if (git != nullptr && !git->names_commit()) return {};
  return not_what_it_was(source.reference, source.digest, recorded.digest);
}

// A version of a registry or a commit, with the digest that a record or a lock has of it, so that nothing
// else is kept under it, whoever gives it. Any other reference as it is.
registry::PackageRef with_digest(const registry::PackageRef& parsed, const std::string& known) {
  const Result<crypto::Digest> digest = crypto::Digest::parse(known);
  if (!digest) return parsed;
  const auto exact = [&](auto reference) {
    reference.digest = *digest;
    return registry::PackageRef(std::move(reference));
  };
  if (const auto* const named = std::get_if<registry::RegistryRef>(&parsed.form()))
    return named->digest ? parsed : exact(*named);
  const auto* const git = std::get_if<registry::GitRef>(&parsed.form());
  return git == nullptr || !git->names_commit() || git->digest ? parsed : exact(*git);
}

// The recorded digest of a kustomization covers its remote bases, and those of other engines other files.
registry::PackageRef as_recorded(const registry::PackageRef& parsed, const std::string& engine,
                                 const release::PackageInfo& recorded) {
  const bool is_comparable = engine == recorded.engine && engine != package::kKustomizeEngine;
  return is_comparable ? with_digest(parsed, recorded.digest) : parsed;
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

Packages::Packages(Dependencies dependencies)
    : dependencies_(std::move(dependencies)),
      registries_(with_provenance(dependencies_.registries, dependencies_.engines)) {}

Result<package::Source> Packages::fetch_recorded(const release::PackageInfo& recorded, std::string engine,
                                                 const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, registries_.parse(recorded.reference));
  const registry::PackageRef exact = as_recorded(parsed, engine, recorded);
  Result<package::Source> source = fetch(exact, std::move(engine), &recorded.calls, context);
  if (!source) {
    const auto* const other = source.error().detail<registry::OtherContent>();
    return exact == parsed || other == nullptr
               ? std::move(source).error()
               : not_what_it_was(parsed.recorded(), other->digest.str(), recorded.digest);
  }
  if (exact != parsed) source->reference = parsed.recorded();
  MIST_TRY_VOID(refuse_changed_bytes(parsed, *source, recorded));
  return source;
}

Result<package::Source> Packages::fetch(const registry::PackageRef& parsed, std::string engine,
                                        const std::vector<release::CalledPackage>* recorded,
                                        const Context& context) {
  MIST_TRY(Found first, read_verified(parsed, std::move(engine), context));
  MIST_TRY(package::Source source, completed(std::move(first), dependencies_.locked, context));
  // Paths among its dependencies are relative to its directory. An unpacked package may name none.
  std::string directory;
  const auto* const local = std::get_if<registry::LocalRef>(&parsed.form());
  if (local != nullptr && !dependencies_.registries.is_unpacked) {
    const Path path = std::filesystem::absolute(local->path).lexically_normal();
    directory = (std::filesystem::is_directory(path) ? path : path.parent_path()).string();
  }
  const DependencyRules rules{.recorded = recorded, .lock = {}, .locked = dependencies_.locked, .update = {}};
  Status resolved = resolve_dependencies(source, directory, rules, *this, context);
  if (!resolved) return std::move(resolved).error().with_detail(NamedElsewhere{});
  return source;
}

std::set<std::string> Packages::trust_only(std::set<std::string> hosts) {
  // A configuration that can't be read names none; whatever needs it says what is wrong.
  hosts.merge(registries_.configured_hosts().value_or({}));
  trusted_hosts_ = hosts;
  return hosts;
}

Result<registry::PackageRef> Packages::parse_dependency(const std::string& reference) const {
  MIST_TRY(registry::PackageRef parsed, registries_.parse(reference));
  const auto* const named = std::get_if<oci::Reference>(&parsed.form());
  if (named == nullptr || !is_limited(named->repository, trusted_hosts_)) return parsed;
  oci::Reference limited = *named;
  limited.repository.public_only = true;
  return registry::PackageRef(std::move(limited));
}

Result<package::Source> Packages::find(const std::string& reference, const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, parse_dependency(reference));
  return find(parsed, {}, false, context);
}

// The lock's address isn't asked: the package that declares the dependency says where it is.
Result<package::Source> Packages::find_locked(const std::string& reference, const resolve::Origin& locked,
                                              const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, parse_dependency(reference));
  const std::optional<crypto::Digest> manifest = manifest_in(locked);
  if (!manifest) return find_with_digest(parsed, locked.digest, context);
  Result<registry::Fetched> fetched = registries_.fetch_manifest(parsed, *manifest, context);
  if (fetched) {
    MIST_TRY(Found locked_package, found(*std::move(fetched), parsed, {}));
    return completed(std::move(locked_package), false, context);
  }
  if (fetched.error().kind != ErrorKind::NotFound) return std::move(fetched).error();
  // The same bytes may have been pushed again, with another manifest; the lock has their digest, too.
  Result<package::Source> tagged = find(parsed, {}, false, context);
  if (tagged || tagged.error().kind != ErrorKind::NotFound) return tagged;
  Error failure = std::move(fetched).error();
  failure.hint =
      "the lock names what was deleted from the registry: push it again, or take another version: " +
      fmt::format("mistctl package lock SOURCE --update {}", shell_word(id_in(reference)));
  return failure;
}

// Of other bytes, nothing is kept. They may be the right ones all the same: a kustomization's digest covers
// what it names elsewhere.
Result<package::Source> Packages::find_with_digest(const registry::PackageRef& parsed,
                                                   const std::string& digest, const Context& context) {
  const registry::PackageRef exact = with_digest(parsed, digest);
  if (exact == parsed) return find(parsed, {}, false, context);
  Result<Found> there = read(exact, {}, context);
  if (!there && there.error().detail<registry::OtherContent>() != nullptr)
    there = read(parsed, {}, context, [](const registry::Fetched&) -> Result<bool> { return false; });
  MIST_TRY(Found found, std::move(there));
  found.source.reference = parsed.recorded();
  return completed(std::move(found), false, context);
}

Result<package::Source> Packages::find_moved(const std::string& reference, const Context& context) {
  MIST_TRY(const registry::PackageRef parsed, parse_dependency(reference));
  MIST_TRY(registry::Fetched fetched, registries_.fetch_moved(parsed, context));
  MIST_TRY(Found moved, found(std::move(fetched), parsed, {}));
  return completed(std::move(moved), false, context);
}

Result<Packages::Tag> Packages::tag_of(const resolve::LockedPackage& locked, const Context& context) {
  const std::optional<crypto::Digest> manifest = manifest_in(locked.origin);
  if (!manifest) return Tag::AsLocked;
  MIST_TRY(const oci::Reference recorded, oci::Reference::parse(locked.origin.source));
  const std::string version = oci::version_of_tag(recorded.tag);
  MIST_TRY(const registry::PackageRef parsed, parse_dependency(fmt::format("{}:{}", locked.name, version)));
  MIST_TRY(const std::optional<oci::Reference> now, registries_.oci_reference(parsed));
  if (!now) return Tag::AsLocked;
  MIST_TRY(registry::OciSource* const source, registries_.oci_source());
  MIST_TRY(const std::optional<crypto::Digest> there,
           source->read_digest(now->repository, now->tag, context));
  if (!there) return Tag::Gone;
  return *there == *manifest ? Tag::AsLocked : Tag::Moved;
}

Result<std::string> Packages::local_copy_of(const std::string& package) const {
  if (package.starts_with(oci::kScheme)) return std::string();
  MIST_TRY(const std::vector<config::Registry> all, registries_.list());
  const auto found = std::ranges::find(all, package.substr(0, package.find('/')), &config::Registry::name);
  const bool is_git = found != all.end() && std::holds_alternative<config::GitSource>(found->remote().source);
  return is_git ? found->name : std::string();
}

Result<std::vector<std::string>> Packages::newest_versions(const std::string& package,
                                                           const Context& context) {
  if (package.starts_with(oci::kScheme)) return versions(package, context);
  const auto slash = std::min(package.find('/'), package.size() - 1);
  return registries_.newest_versions(package.substr(0, slash), package.substr(slash + 1), context);
}

Result<std::vector<std::string>> Packages::versions(const std::string& package, const Context& context) {
  if (package.starts_with(oci::kScheme)) {
    MIST_TRY(oci::Repository repository, oci::Repository::parse(package));
    repository.public_only = is_limited(repository, trusted_hosts_);
    return registries_.list_versions(repository, context);
  }
  const auto slash = std::min(package.find('/'), package.size() - 1);
  return registries_.list_versions(package.substr(0, slash), package.substr(slash + 1), context);
}

Result<Packages::Found> Packages::read(const registry::PackageRef& parsed, std::string engine,
                                       const Context& context, const registry::MayKeep& may_keep) {
  auto answer = registries_.fetch(parsed, context, engine, may_keep);
  if (!answer.ok()) return about_sources(parsed, std::move(answer).error());
  // Nobody asked about one that was known before.
  if (may_keep) MIST_TRY_VOID(may_keep(*answer));
  return found(*std::move(answer), parsed, std::move(engine));
}

Result<Packages::Found> Packages::read_verified(const registry::PackageRef& parsed, std::string engine,
                                                const Context& context) {
  verified_.clear();
  const auto check = [&](const registry::Fetched& fetched) -> Result<bool> {
    if (dependencies_.deployed != nullptr)
      MIST_TRY_VOID(check_deployed_version(*dependencies_.deployed, parsed, fetched));
    return true;
  };
  if (dependencies_.keyring == nullptr) return read(parsed, std::move(engine), context, check);
  MIST_TRY(registry::VerifiedPackage verified,
           registries_.fetch_verified(parsed, dependencies_.keyring, context, engine, check));
  MIST_TRY_VOID(std::move(verified.verdict.judged));
  MIST_TRY_VOID(check(verified.package));
  verified_ = std::move(verified.verdict.proofs);
  return found(std::move(verified.package), parsed, std::move(engine));
}

Result<Packages::Found> Packages::found(registry::Fetched fetched, const registry::PackageRef& parsed,
                                        std::string engine) {
  Found found{{}, std::holds_alternative<registry::LocalRef>(parsed.form()), {}};
  if (is_of_trusted_server(parsed)) found.origin = std::move(fetched.origin);
  package::Source& source = found.source;
  source.reference = fetched.resolved.recorded();
  std::tie(source.name, source.version) = name_and_version(fetched.resolved);
  source.digest = fetched.digest.str();
  source.engine = std::move(engine);
  MIST_TRY(std::optional<registry::UsedSigners> used, registries_.signers_of(fetched.resolved));
  if (used) source.signers = package::KnownSigners{std::move(used->signers), used->verified};
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

Result<package::Source> Packages::find(const registry::PackageRef& parsed, std::string engine, bool locked,
                                       const Context& context) {
  MIST_TRY(Found found, read(parsed, std::move(engine), context));
  return completed(std::move(found), locked, context);
}

// Of what it names elsewhere its own lock counts: no other package knows what that is.
Result<package::Source> Packages::completed(Found found, bool locked, const Context& context) {
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
  return remotes(parsed, known, locked, context);
}

Result<std::vector<resolve::LockedRemote>> Packages::remotes(const registry::PackageRef& parsed,
                                                             const resolve::LockFile& known, bool locked,
                                                             const Context& context) {
  MIST_TRY(Found found, read(parsed, {}, context));
  if (!formats::may_have_remote_bases(found.source)) return std::vector<resolve::LockedRemote>();
  return complete(found, &known, locked, context);
}

Result<std::vector<resolve::LockedRemote>> Packages::complete(Found& found, const resolve::LockFile* lock,
                                                              bool locked, const Context& context) {
  package::Renderer renderer(dependencies_.engines, dependencies_.registries.events);
  const formats::FindMissing missing = [&](const package::Source& source, const Context& asked) {
    return renderer.missing(source, asked);
  };
  auto fetched =
      formats::fetch_remote_bases({registries_, missing, dependencies_.transport, found.is_local,
                                   found.origin, dependencies_.remote_bases, lock, locked, copied_},
                                  found.source, context);
  if (!fetched) return std::move(fetched).error().with_detail(NamedElsewhere{});
  return fetched;
}

Result<encoding::Value> values_for(const package::Source& source,
                                   std::span<const package::ValuesInput> inputs, EventSink& events) {
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(source));
  return package::merge_values(
      inputs, package::has_chart_values(engine) ? package::Numbers::AsHelm : package::Numbers::AsWritten,
      &events);
}

}  // namespace mist::render
