#include "action/authoring/package_lock.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "oci/reference.h"
#include "registry/kustomization.h"
#include "registry/reference.h"

namespace mist::action {

using encoding::Value;
using resolve::LockFile;

namespace {

constexpr std::uint64_t kMostText = 16u << 20;

// The Rust SDK takes what a MistPackage document says without its two levels.
Value as_document(Value sources) {
  if (!sources.is_object() || sources.find("kind") != nullptr) return sources;
  Value spec = Value::object();
  if (const Value* const dependencies = sources.find("dependencies")) spec.set("dependencies", *dependencies);
  return Value::object({{"apiVersion", "mistletoe.dev/v1"},
                        {"kind", "MistPackage"},
                        {"metadata", Value::object({{"name", sources.string_at("name")}})},
                        {"spec", std::move(spec)}});
}

SourceLocation place_in(const std::string& file, std::string_view text, const Value& value) {
  const std::uint32_t line = value.position().line;
  SourceLocation place{.file = file, .line = line, .column = value.position().column, .excerpt = {}};
  const std::vector<std::string_view> lines = split(text, '\n');
  if (line > 0 && line <= lines.size()) place.excerpt = lines[line - 1];
  return place;
}

// The fault of an entry, rendering says.
Result<std::map<std::string, SourceLocation>> places_of_dependencies(const Value& document,
                                                                     const std::string& file,
                                                                     std::string_view text) {
  std::map<std::string, SourceLocation> places;
  if (!document.is_object()) return places;
  const Value* const spec = document.find("kind") != nullptr ? document.find("spec") : &document;
  const Value* const list = spec != nullptr && spec->is_object() ? spec->find("dependencies") : nullptr;
  if (list == nullptr || !list->is_array()) return places;
  for (const Value& each : list->as_array()) {
    if (!each.is_object()) continue;
    const std::string name(each.string_at("name"));
    const auto [known, is_new] = places.emplace(name, place_in(file, text, each));
    if (!is_new)
      return error(ErrorKind::Invalid, "two dependencies are called {}", escape_controls(name))
          .with_because(fmt::format("the first one is in line {}", known->second.line))
          .with_hint("give one of them another name: packages are called by it")
          .at(place_in(file, text, each));
  }
  return places;
}

Result<package::Source> read_sources(FileSystem& files, const Path& directory,
                                     std::map<std::string, SourceLocation>& declared) {
  const Path file = directory / package::kPackageFile;
  if (!files.exists(file) && has_kustomization(files, directory)) {
    package::Source source;
    source.reference = directory.string();
    source.name = directory.filename().string();
    source.content = package::Files{};
    return source;
  }
  if (!files.exists(file))
    return error(ErrorKind::NotFound, "{} has no {}", escape_controls(directory.string()),
                 package::kPackageFile)
        .with_hint("dependencies are declared there, in spec.dependencies");
  MIST_TRY(const std::string text, files.read(file, kMostText));
  encoding::YamlOptions options;
  options.file = file.string();
  options.strict = true;
  MIST_TRY(Value document, encoding::parse_yaml(text, options));
  MIST_TRY(declared, places_of_dependencies(document, file.string(), text));
  document = as_document(std::move(document));
  package::Source source;
  source.reference = directory.string();
  source.name = document.string_at({"metadata", "name"});
  if (source.name.empty()) source.name = directory.filename().string();
  source.content = package::Files{{std::string(package::kPackageFile), encoding::to_json(document)}};
  return source;
}

Result<package::Source> read_module(FileSystem& files, const Path& file) {
  MIST_TRY(std::string module, files.read(file, registry::kMaxPackageBytes));
  package::Source source;
  source.reference = file.string();
  source.name = file.stem().string();
  source.content = wasm::ModuleBytes(std::move(module));
  return source;
}

release::PackageInfo as_calls(const LockFile& lock) {
  release::PackageInfo info;
  for (const resolve::LockedPackage& each : lock.packages())
    info.calls.push_back({each.name, each.version.to_string(), each.origin.digest});
  return info;
}

// The first digits of a commit or digest.
std::string shown_version(const resolve::LockedRemote& remote) {
  constexpr std::size_t kShown = 12;
  return remote.commit.empty() ? remote.digest.substr(remote.digest.find(':') + 1, kShown)
                               : remote.commit.substr(0, kShown);
}

// Of one version in one place.
bool is_other_manifest(const resolve::LockedPackage* before, const resolve::LockedPackage* after) {
  if (before == nullptr || after == nullptr) return false;
  const auto then = oci::Reference::parse(before->origin.source);
  const auto now = oci::Reference::parse(after->origin.source);
  return then.ok() && now.ok() && then->repository == now->repository && then->tag == now->tag &&
         then->digest != now->digest;
}

void add_remote_changes(const LockFile& before, const LockFile& after, std::vector<PackageChange>& changes) {
  for (const resolve::LockedRemote& now : after.remotes()) {
    const resolve::LockedRemote* const then = before.find_remote(now.name);
    // A digest is added to what an older mistctl locked.
    const bool is_same_commit = then != nullptr && !now.commit.empty() && then->commit == now.commit;
    if (then != nullptr && (*then == now || is_same_commit)) continue;
    changes.push_back({.package = now.name,
                       .before = then == nullptr ? "" : shown_version(*then),
                       .after = shown_version(now),
                       .called_before = then != nullptr,
                       .is_remote = true});
  }
  for (const resolve::LockedRemote& then : before.remotes())
    if (after.find_remote(then.name) == nullptr)
      changes.push_back({.package = then.name,
                         .before = shown_version(then),
                         .after = {},
                         .called_after = false,
                         .is_remote = true});
}

std::string newest_of(const std::vector<std::string>& texts) {
  std::optional<resolve::Version> newest;
  std::optional<resolve::Version> newest_prerelease;
  for (const std::string& text : texts) {
    auto version = resolve::Version::parse_lenient(text);
    if (!version.ok()) continue;
    std::optional<resolve::Version>& best = version->prerelease.empty() ? newest : newest_prerelease;
    if (!best || *best < *version) best = *std::move(version);
  }
  if (!newest) newest = std::move(newest_prerelease);
  return newest ? newest->to_string() : std::string();
}

// A path that isn't there, and looks like what -p takes.
Status refuse_reference(const std::string& text) {
  const auto reference = registry::PackageRef::parse(text);
  if (!reference.ok() && text.find("://") == std::string::npos) return {};
  if (reference.ok() && std::holds_alternative<registry::LocalRef>(reference->form())) return {};
  Error failure = error(ErrorKind::Invalid, "{} is not a directory or module on this machine",
                        reference.ok() ? escape_controls(reference->display()) : "SOURCE");
  failure.because = "the lock of a package is written beside its sources";
  const auto* const oci = reference.ok() ? std::get_if<oci::Reference>(&reference->form()) : nullptr;
  failure.hint =
      oci != nullptr
          ? fmt::format("name a directory with mistletoe.yaml; mistctl registry tags {} lists its versions",
                        oci->repository.str())
          : "name a directory with mistletoe.yaml, or a module";
  return failure;
}

Result<render::Resolution> resolution_of(const LockedSource& source, bool as_without_lock,
                                         render::Packages& packages, const Context& context) {
  render::DependencyRules rules;
  rules.lock = source.lock.value_or(LockFile());
  rules.as_without_lock = as_without_lock;
  return packages.solve(source.source, source.directory.string(), rules, context);
}

}  // namespace

bool has_kustomization(const FileSystem& files, const Path& directory) {
  const auto entries = files.list(directory);
  return entries.ok() && std::ranges::any_of(*entries, [](const DirectoryEntry& entry) {
           return !entry.is_directory && registry::is_kustomization_file(entry.name);
         });
}

Result<LockedSource> read_locked_source(FileSystem& files, const Path& given) {
  if (!files.exists(given)) MIST_TRY_VOID(refuse_reference(given.string()));
  Path path = std::filesystem::absolute(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const bool is_directory = files.is_directory(path);
  LockedSource locked;
  MIST_TRY(locked.source,
           is_directory ? read_sources(files, path, locked.declared) : read_module(files, path));
  locked.is_directory = is_directory;
  locked.directory = is_directory ? path : path.parent_path();
  locked.lock_file = locked.directory / package::kLockFile;
  std::optional<std::string> text;
  if (files.exists(locked.lock_file)) {
    MIST_TRY(text, files.read(locked.lock_file, kMostText));
  } else if (!is_directory) {
    MIST_TRY(text, package::lock_text(locked.source));
  }
  if (!text) return locked;
  MIST_TRY(locked.lock, LockFile::parse(*text, locked.lock_file.string()));
  return locked;
}

Result<LockReport> resolve_lock(const LockedSource& source, const LockChoices& choices,
                                render::Packages& packages, const Context& context) {
  const LockFile before = source.lock.value_or(LockFile());
  for (const std::string& id : choices.update) {
    if (before.find(id) != nullptr || before.find_remote(id) != nullptr) continue;
    std::vector<std::string_view> known;
    for (const resolve::LockedPackage& each : before.packages()) known.emplace_back(each.name);
    for (const resolve::LockedRemote& each : before.remotes()) known.emplace_back(each.name);
    Error failure =
        error(ErrorKind::NotFound, "{} is not in {}", escape_controls(id), source.lock_file.string());
    if (const auto near = nearest(id, known); !near.empty())
      failure.hint = fmt::format("did you mean {}?", near);
    return failure;
  }
  render::DependencyRules rules;
  rules.lock = before;
  rules.update = choices.update;
  if (choices.update_all)
    for (const resolve::LockedPackage& each : before.packages()) rules.update.insert(each.name);
  rules.locked = choices.locked;
  MIST_TRY(render::Resolution resolution,
           packages.solve(source.source, source.directory.string(), rules, context));
  MIST_TRY_VOID(render::check_calls(source.source, source.directory.string(), resolution,
                                    [&](const package::Dependency& each) -> std::optional<SourceLocation> {
                                      const auto place = source.declared.find(each.name);
                                      if (place == source.declared.end()) return std::nullopt;
                                      return place->second;
                                    }));
  if (source.is_directory) {
    LockFile known;
    std::vector<resolve::LockedRemote> keep;
    if (!choices.update_all)
      for (const resolve::LockedRemote& each : before.remotes())
        if (!choices.update.contains(each.name)) keep.push_back(each);
    known.set_remotes(std::move(keep));
    MIST_TRY(std::vector<resolve::LockedRemote> remotes,
             packages.remotes(source.directory.string() + "/", known, choices.locked, context));
    resolution.lock.set_remotes(std::move(remotes));
  }
  LockReport report;
  report.changes = package_changes(as_calls(before), as_calls(resolution.lock));
  for (PackageChange& each : report.changes)
    each.tag_moved = is_other_manifest(before.find(each.package), resolution.lock.find(each.package));
  add_remote_changes(before, resolution.lock, report.changes);
  report.lock = std::move(resolution.lock);
  return report;
}

Result<std::vector<OutdatedPackage>> outdated_packages(const LockedSource& source, render::Packages& packages,
                                                       const Context& context) {
  MIST_TRY(const render::Resolution fresh, resolution_of(source, true, packages, context));
  std::map<std::string, OutdatedPackage> by_id;
  for (const resolve::LockedPackage& each : fresh.lock.packages())
    by_id[each.name].fits = each.version.to_string();
  if (source.lock) {
    for (const resolve::LockedPackage& each : source.lock->packages()) {
      OutdatedPackage& package = by_id[each.name];
      package.locked = each.version.to_string();
      MIST_TRY(package.tag, packages.tag_of(each, context));
    }
  }
  std::vector<OutdatedPackage> all;
  for (auto& [id, each] : by_id) {
    auto versions = packages.newest_versions(id, context);
    // Locked dependencies may be all that is left of it.
    const bool is_gone = !versions.ok() && versions.error().kind == ErrorKind::NotFound;
    if (!versions.ok() && (!is_gone || each.locked.empty())) return std::move(versions).error();
    each.package = id;
    each.newest = newest_of(std::move(versions).value_or({}));
    MIST_TRY(each.local_copy, packages.local_copy_of(id));
    all.push_back(std::move(each));
  }
  return all;
}

Result<std::vector<OutdatedRemote>> outdated_remotes(const LockedSource& source, render::Packages& packages,
                                                     const Context& context) {
  std::vector<OutdatedRemote> all;
  if (!source.is_directory || !source.lock || source.lock->remotes().empty()) return all;
  MIST_TRY(std::vector<resolve::LockedRemote> remotes,
           packages.remotes(source.directory.string() + "/", LockFile(), false, context));
  LockFile now;
  now.set_remotes(std::move(remotes));
  for (const resolve::LockedRemote& each : source.lock->remotes()) {
    const resolve::LockedRemote* const found = now.find_remote(each.name);
    all.push_back({each.name, shown_version(each), found == nullptr ? std::string() : shown_version(*found)});
  }
  return all;
}

namespace {

// The package through which a shortest way leads from the root to another; null: the root itself calls it.
using Callers = std::map<std::string_view, const resolve::Selected*>;

// Breadth first, so each package is looked at once, in cycles too: rendering refuses those, and they are
// resolved all the same.
Callers nearest_callers(const resolve::Solution& solution) {
  std::map<std::string_view, std::vector<const resolve::Selected*>> called_by;
  for (const resolve::Selected& each : solution.packages)
    for (const resolve::Asker& asker : each.askers) called_by[asker.package].push_back(&each);
  Callers callers;
  std::vector<const resolve::Selected*> reached{nullptr};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const resolve::Selected* const caller = reached[i];
    for (const resolve::Selected* each : called_by[caller == nullptr ? std::string_view() : caller->package])
      if (callers.try_emplace(each->package, caller).second) reached.push_back(each);
  }
  return callers;
}

std::vector<std::string> way_to(const resolve::Selected* to, const Callers& callers, std::string_view root) {
  std::vector<std::string> way;
  for (; to != nullptr; to = callers.at(to->package))
    way.push_back(fmt::format("{} {}", to->package, to->version.to_string()));
  way.emplace_back(root);
  std::ranges::reverse(way);
  return way;
}

}  // namespace

Result<PackageReasons> why_package(const resolve::Solution& solution, std::string_view root,
                                   std::string_view package) {
  std::map<std::string_view, const resolve::Selected*> by_id;
  std::vector<std::string_view> ids;
  for (const resolve::Selected& each : solution.packages) {
    by_id.emplace(each.package, &each);
    ids.emplace_back(each.package);
  }
  const auto found = by_id.find(package);
  if (found == by_id.end()) {
    Error failure = error(ErrorKind::NotFound, "{} does not call {}, nor does a package that it calls", root,
                          escape_controls(package));
    if (const auto near = nearest(package, ids); !near.empty())
      failure.hint = fmt::format("did you mean {}?", near);
    return failure;
  }
  const Callers callers = nearest_callers(solution);
  const resolve::Selected& selected = *found->second;
  PackageReasons reasons{selected.package, selected.version.to_string(), {}};
  for (const resolve::Asker& asker : selected.askers) {
    const resolve::Selected* const by = asker.package.empty() ? nullptr : by_id.at(asker.package);
    reasons.askers.push_back({way_to(by, callers, root), asker.range.to_string()});
  }
  return reasons;
}

Result<PackageReasons> why_package(const LockedSource& source, std::string_view package,
                                   render::Packages& packages, const Context& context) {
  MIST_TRY(const render::Resolution resolution, resolution_of(source, false, packages, context));
  return why_package(resolution.solution, source.source.name, package);
}

}  // namespace mist::action
