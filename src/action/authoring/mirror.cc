#include "action/authoring/mirror.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "action/authoring/index_artifact.h"
#include "action/authoring/package_lock.h"
#include "action/authoring/subcharts.h"
#include "base/text.h"
#include "config/redact.h"
#include "oci/tags.h"
#include "registry/chart_lock.h"
#include "registry/oci_layout_store.h"

namespace mist::action {
namespace {

using registry::OciPlace;

constexpr std::uint64_t kMostChartText = 16u << 20;

bool is_path(std::string_view reference) { return reference.starts_with('.') || reference.starts_with('/'); }

bool is_package(const registry::RawManifest& raw, const std::string& name) {
  const Result<oci::Document> document = oci::parse_document(raw.bytes, raw.content_type, name);
  if (!document) return false;
  if (const auto* index = std::get_if<oci::Index>(&*document)) return oci::package_in(*index, name).ok();
  return oci::content_of(std::get<oci::Manifest>(*document), name).ok();
}

class SourceFinder {
 public:
  SourceFinder(const MirrorDependencies& dependencies, const Context& context)
      : dependencies_(dependencies), context_(context) {
    dependencies_.packages.keep_copies(
        [this](const std::string& what, std::optional<registry::AddressCopy> copy) {
          if (copy)
            add_copy(*std::move(copy));
          else
            unnamed_remotes_.insert(what);
        });
  }
  ~SourceFinder() { dependencies_.packages.keep_copies({}); }
  SourceFinder(const SourceFinder&) = delete;
  SourceFinder& operator=(const SourceFinder&) = delete;

  Status add(const std::string& text) {
    MIST_TRY_VOID(context_.check());
    MIST_TRY(const registry::PackageRef parsed, dependencies_.registries.parse(text));
    if (const auto* reference = std::get_if<oci::Reference>(&parsed.form())) return add_artifact(*reference);
    if (const auto* local = std::get_if<registry::LocalRef>(&parsed.form())) return add_local(local->path);
    return add_package(text);
  }

  Result<MirrorSources> finish() && {
    MIST_TRY_VOID(add_indexes());
    MirrorSources sources;
    for (auto& [name, artifact] : found_) sources.artifacts.push_back(std::move(artifact));
    sources.left_out = std::move(left_out_);
    sources.without_index = std::move(without_index_);
    return sources;
  }

 private:
  Status add_artifact(const oci::Reference& wanted) {
    MIST_TRY(registry::OciClient* const client, dependencies_.registries.oci_client());
    MIST_TRY(oci::Reference reference, registry::with_tag(*client, wanted, context_));
    MIST_TRY(const registry::RawManifest raw,
             client->manifest(reference.repository,
                              reference.digest ? reference.digest->str() : reference.tag, context_));
    if (is_package(raw, reference.str())) return add_package(reference.str());
    reference.digest = raw.digest;
    found_.emplace(reference.str(), MirrorArtifact{.reference = reference});
    return {};
  }

  void add_copy(registry::AddressCopy copy) {
    const auto artifact = std::make_shared<const oci::Artifact>(std::move(copy.artifact));
    for (const std::string& tag : copy.tags) {
      const oci::Reference reference{
          .repository = copy.name.repository, .tag = tag, .range = {}, .digest = artifact->digest};
      found_.emplace(reference.str(), MirrorArtifact{reference, artifact, copy.name.original});
    }
  }

  // False: others can't name it. `asked`: with the branch or tag that somebody names, where that may move.
  Result<bool> add_original(const package::Source& source, const std::optional<registry::GitRef>& asked) {
    MIST_TRY(registry::PackageRef place, dependencies_.registries.parse(source.reference));
    if (asked) place = registry::PackageRef(*asked);
    MIST_TRY(std::optional<registry::AddressCopy> copy, dependencies_.registries.copy_of(place, context_));
    if (!copy) return false;
    add_copy(*std::move(copy));
    if (const auto* const named = std::get_if<registry::RegistryRef>(&place.form()))
      registries_.insert(named->registry);
    MIST_TRY_VOID(add_remote_bases_of(place, source));
    return true;
  }

  static constexpr std::string_view kNameless =
      "it is on this machine: in a directory, or in a git repository without a server";

  // With what it calls.
  Status add_package(const std::string& text) {
    MIST_TRY(const package::Source source, dependencies_.packages.fetch(text, {}, context_));
    MIST_TRY(const registry::PackageRef parsed, dependencies_.registries.parse(text));
    if (source.reference.starts_with(oci::kScheme)) {
      MIST_TRY(const registry::PackageRef place, dependencies_.registries.parse(source.reference));
      MIST_TRY_VOID(add_source(place, source));
    } else {
      const auto* const git = std::get_if<registry::GitRef>(&parsed.form());
      MIST_TRY(const bool is_named,
               add_original(source, git != nullptr ? std::optional(*git) : std::nullopt));
      if (!is_named)
        return error(ErrorKind::Invalid, "{} can't be mirrored", config::redact_urls(text))
            .with_because(std::string(kNameless))
            .with_hint("mistctl push publishes it in an OCI registry");
    }
    return add_called(source.dependencies, source.name);
  }

  // Of an OCI registry.
  Status add_source(const registry::PackageRef& place, const package::Source& source) {
    const auto& reference = std::get<oci::Reference>(place.form());
    const auto [entry, is_new] = found_.emplace(reference.str(), MirrorArtifact{.reference = reference});
    packages_.push_back(reference.repository);
    // The user may name what a package from elsewhere names, too.
    if (!reference.repository.public_only) entry->second.reference.repository.public_only = false;
    return is_new ? add_remote_bases_of(place, source) : Status();
  }

  Status add_called(const package::Dependencies& dependencies, const std::string& caller) {
    for (const auto& [name, called] : dependencies) {
      if (!seen_.insert(called.get()).second) continue;
      MIST_TRY_VOID(add_dependency(called->id, called->source, caller));
      MIST_TRY_VOID(add_called(called->source.dependencies, called->source.name));
    }
    return {};
  }

  Status add_dependency(const std::string& id, const package::Source& source, const std::string& caller) {
    if (is_path(id)) {
      MIST_TRY(const registry::PackageRef place, dependencies_.registries.parse(source.reference));
      return add_remote_bases_of(place, source);
    }
    if (!source.reference.starts_with(oci::kScheme)) {
      std::optional<registry::GitRef> asked;
      if (const Result<registry::PackageRef> named = registry::PackageRef::parse(id); named.ok())
        if (const auto* const git = std::get_if<registry::GitRef>(&named->form())) asked = *git;
      MIST_TRY(const bool is_named, add_original(source, asked));
      if (!is_named)
        left_out_.push_back({config::redact_urls(source.reference), caller, std::string(kNameless)});
      return {};
    }
    MIST_TRY(const registry::PackageRef place, dependencies_.packages.parse_dependency(source.reference));
    return add_source(place, source);
  }

  // By its own lock, as far as that has them.
  Status add_remote_bases_of(const registry::PackageRef& place, const package::Source& source) {
    if (!std::holds_alternative<package::Files>(source.content)) return {};
    resolve::LockFile lock;
    MIST_TRY(const std::optional<std::string> text, package::lock_text(source));
    if (text) {
      MIST_TRY(lock, resolve::LockFile::parse(*text,
                                              fmt::format("{} of {}", package::kLockFile, source.reference)));
    }
    return add_remote_bases(place, source.name, lock);
  }

  // A kustomization fetches them when it is rendered: keep_copies() gets them.
  Status add_remote_bases(const registry::PackageRef& place, const std::string& name,
                          const resolve::LockFile& lock) {
    MIST_TRY(const std::vector<resolve::LockedRemote> remotes,
             dependencies_.packages.remotes(place, lock, false, context_));
    for (const resolve::LockedRemote& each : remotes)
      if (unnamed_remotes_.contains(each.name))
        left_out_.push_back({config::redact_urls(each.name), name, std::string(kNameless)});
    return {};
  }

  // Sources on this machine: their dependencies, as far as they aren't beside them. Only of a Kustomize
  // directory all files are read: beside the sources of a program there may be any number.
  Status add_local(const Path& path) {
    if (!dependencies_.files.exists(path))
      return error(ErrorKind::NotFound, "there is no file or directory {}", escape_controls(path.string()))
          .with_hint("check the path; a package of a registry is written <registry>/<path>:<version>");
    if (dependencies_.files.exists(path / registry::kChartFile)) return add_chart(path);
    MIST_TRY(const LockedSource locked, read_locked_source(dependencies_.files, path));
    render::DependencyRules rules;
    rules.lock = locked.lock;
    MIST_TRY(const render::Resolution resolution,
             dependencies_.packages.solve(locked.source, locked.directory.string(), rules, context_));
    for (const auto& [id, source] : resolution.sources)
      MIST_TRY_VOID(add_dependency(id, source, locked.source.name));
    if (!locked.is_directory || !has_kustomization(dependencies_.files, locked.directory)) return {};
    return add_remote_bases(registry::PackageRef(registry::LocalRef{locked.directory}), locked.source.name,
                            locked.lock.value_or(resolve::LockFile()));
  }

  Result<std::optional<std::string>> text_of(const Path& file) const {
    if (!dependencies_.files.exists(file)) return std::optional<std::string>();
    MIST_TRY(std::string text, dependencies_.files.read(file, kMostChartText));
    return std::optional(std::move(text));
  }

  // As Chart.lock has them, else as Chart.yaml asks for them. Charts in charts/ come with the chart.
  Status add_chart(const Path& chart) {
    const std::string place = chart.string();
    MIST_TRY(const std::optional<std::string> text, text_of(chart / registry::kChartFile));
    MIST_TRY(const std::optional<std::string> requirements, text_of(chart / registry::kRequirementsFile));
    MIST_TRY(const registry::ChartManifest manifest,
             registry::read_chart_manifest(text.value_or(""), requirements, place));
    MIST_TRY(const std::optional<std::string> lock_text, text_of(chart / manifest.lock_file()));
    std::vector<registry::ChartDependency> wanted = manifest.dependencies;
    if (lock_text) {
      MIST_TRY(const registry::ChartLock lock, registry::ChartLock::parse(*lock_text, place));
      wanted = lock.dependencies;
    }
    MIST_TRY(const SubchartList there, list_subcharts(dependencies_.files, chart));
    registry::SubchartSource source(dependencies_.charts, chart);
    for (const registry::ChartDependency& each : wanted)
      MIST_TRY_VOID(add_subchart(each, manifest.name, there, source));
    return {};
  }

  Status add_subchart(const registry::ChartDependency& named, const std::string& chart,
                      const SubchartList& there, registry::SubchartSource& source) {
    MIST_TRY(const registry::ChartDependency wanted, source.resolved(named));
    std::string_view repository = wanted.repository;
    while (repository.ends_with('/')) repository.remove_suffix(1);
    if (repository.starts_with(oci::kScheme)) {
      const std::string version = wanted.version.empty() ? "*" : oci::tag_of_version(wanted.version);
      return add(fmt::format("{}/{}:{}", repository, wanted.name, version));
    }
    const bool is_here = std::ranges::any_of(there.rows, [&](const SubchartList::Row& row) {
      return row.name == wanted.name && (row.status == "ok" || row.status == "unpacked");
    });
    if (is_here || repository.empty() || repository.starts_with("file://")) return {};
    std::optional<registry::AddressCopy> copy;
    if (repository.starts_with("git+")) {
      MIST_TRY(const registry::PackageRef place, registry::PackageRef::parse(repository));
      MIST_TRY(copy, dependencies_.registries.copy_of(place, context_));
    } else {
      MIST_TRY(
          copy,
          source.copy_of(wanted, context_).in(fmt::format("while fetching the dependency {}", wanted.name)));
    }
    if (copy)
      add_copy(*std::move(copy));
    else
      left_out_.push_back({fmt::format("{} {}", wanted.name, wanted.version), chart, std::string(kNameless)});
    return {};
  }

  // Packages are found without it, so a registry that has none, or doesn't give it out, stops nothing.
  Status add_indexes() {
    MIST_TRY(const std::vector<config::Registry> configured, dependencies_.registries.list());
    for (const config::Registry& each : configured)
      if (registries_.contains(each.name)) MIST_TRY_VOID(add_index_of(each));
    std::map<std::string, bool> prefixes;  // whether all of it is limited to public addresses
    for (const oci::Repository& each : packages_) {
      const auto entry = prefixes.emplace(index_prefix(each, configured), each.public_only).first;
      entry->second = entry->second && each.public_only;
    }
    for (const auto& [prefix, public_only] : prefixes) {
      const Result<registry::OciClient*> client = dependencies_.registries.oci_client();
      if (!client) {
        without_index_.emplace(prefix, escape_controls(client.error().to_line()));
        continue;
      }
      MIST_TRY(oci::Reference reference, index_reference(prefix));
      reference.repository.public_only = public_only;
      const Result<std::optional<registry::RawManifest>> raw =
          (*client)->find_manifest(reference.repository, reference.tag, context_);
      if (!raw) MIST_TRY_VOID(context_.check());
      if (raw && *raw) {
        reference.digest = (*raw)->digest;
        found_.emplace(reference.str(), MirrorArtifact{.reference = reference});
        continue;
      }
      without_index_.emplace(
          prefix, raw ? fmt::format("there is no {}; mistctl registry index makes one", reference.str())
                      : escape_controls(raw.error().to_line()));
    }
    return {};
  }

  // Of a registry that is no OCI registry.
  Status add_index_of(const config::Registry& registry) {
    Result<std::optional<registry::AddressCopy>> copy =
        dependencies_.registries.copy_of_index(registry.name, context_);
    if (!copy) MIST_TRY_VOID(context_.check());
    if (copy && *copy)
      add_copy(**std::move(copy));
    else
      without_index_.emplace(
          escape_controls(config::display(registry.remote())),
          copy ? fmt::format("there is no {} in it; mistctl registry index makes one", search::kIndexFile)
               : escape_controls(copy.error().to_line()));
    return {};
  }

  // Of the registry that is configured; without one, of the repositories beside it.
  static std::string index_prefix(const oci::Repository& package,
                                  const std::vector<config::Registry>& configured) {
    std::string longest;
    for (const config::Registry& each : configured) {
      const auto* const oci = std::get_if<config::OciSource>(&each.remote().source);
      if (oci == nullptr) continue;
      const Result<oci::Repository> below = registry::repository_below(oci->url, package.name());
      if (!below) continue;
      const std::string known = below->identity();
      const std::string prefix = known.substr(0, known.size() - package.name().size());
      if (package.identity().starts_with(prefix) && prefix.size() > longest.size()) longest = prefix;
    }
    if (longest.empty()) longest = package.str().substr(0, package.str().rfind('/') + 1);
    longest.pop_back();
    return longest;
  }

  const MirrorDependencies& dependencies_;
  const Context& context_;
  std::map<std::string, MirrorArtifact> found_;
  std::vector<oci::Repository> packages_;
  std::set<std::string> registries_;  // names of those that are no OCI registries
  std::map<std::string, std::string> without_index_;
  std::set<std::string> unnamed_remotes_;
  std::set<const package::ResolvedPackage*> seen_;
  std::vector<NotMirrored> left_out_;
};

// Copies one after the other.
Result<std::vector<registry::CopyReport>> copy_all(
    const MirrorDependencies& dependencies, registry::OciTarget& target,
    const std::vector<MirrorArtifact>& artifacts,
    const std::function<Result<oci::Repository>(const oci::Repository&)>& repository_of,
    const registry::CopyOptions& options, const Context& context) {
  MIST_TRY(registry::OciClient* const client, dependencies.registries.oci_client());
  std::vector<registry::CopyReport> reports;
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    const oci::Reference& from = artifacts[i].reference;
    std::optional<registry::CopySource> copy;
    if (artifacts[i].copy) copy.emplace(*artifacts[i].copy);
    registry::OciSource& source = copy ? static_cast<registry::OciSource&>(*copy) : *client;
    MIST_TRY(oci::Repository repository, repository_of(from.repository));
    const oci::Reference to{.repository = std::move(repository), .tag = from.tag, .range = {}, .digest = {}};
    Activity activity(dependencies.events,
                      fmt::format("mirroring {} ({} of {})", from.str(), i + 1, artifacts.size()));
    Result<registry::CopyReport> report = registry::copy_artifact(source, target, from, to, options, context);
    if (!report) {
      activity.fail();
      return std::move(report).error();
    }
    registry::warn_of_tag(dependencies.events, report->to, report->after);
    reports.push_back(*std::move(report));
  }
  return reports;
}

Result<oci::Repository> same_repository(const oci::Repository& repository) { return repository; }

using Reports = Result<std::vector<registry::CopyReport>>;

Reports into_registry(const MirrorDependencies& dependencies, const std::string& prefix,
                      const std::vector<MirrorArtifact>& artifacts, const registry::CopyOptions& options,
                      const Context& context) {
  MIST_TRY(registry::OciClient* const client, dependencies.registries.oci_client());
  const auto below = [&](const oci::Repository& repository) {
    return registry::mirror_repository(prefix, repository);
  };
  return copy_all(dependencies, *client, artifacts, below, options, context);
}

Reports into_directory(const MirrorDependencies& dependencies, const Path& directory,
                       const std::vector<MirrorArtifact>& artifacts, const registry::CopyOptions& options,
                       const Context& context) {
  MIST_TRY(const std::unique_ptr<registry::LayoutWriter> layout,
           registry::LayoutWriter::open(dependencies.files, directory, context));
  Reports reports = copy_all(dependencies, *layout, artifacts, same_repository, options, context);
  if (reports) MIST_TRY_VOID(layout->finish());
  return reports;
}

// The artifacts that are there already, read as a layout; nothing is written.
Reports preview_layout(const MirrorDependencies& dependencies, const OciPlace& to,
                       const std::vector<MirrorArtifact>& artifacts, const registry::CopyOptions& options,
                       const Context& context) {
  std::unique_ptr<registry::LayoutReader> reader;
  if (dependencies.files.exists(to.path)) {
    MIST_TRY(std::unique_ptr<registry::LayoutFiles> files, registry::layout_at(dependencies.files, to));
    MIST_TRY(reader, registry::LayoutReader::open(std::move(files), escape_controls(to.str())));
  }
  registry::LayoutPreview preview(std::move(reader));
  return copy_all(dependencies, preview, artifacts, same_repository, options, context);
}

// Which archive a directory was unpacked from; empty: there is none.
std::string stamp_of(const Path& archive) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(archive, missing);
  if (missing) return {};
  const auto time = std::filesystem::last_write_time(archive, missing);
  return missing ? std::string() : fmt::format("{} {}\n", size, time.time_since_epoch().count());
}

// The parts that a stopped run left are those of the archive that is there now; otherwise they are of no use.
Status prepare_parts(const MirrorDependencies& dependencies, const Path& archive, const Path& partial,
                     const Context& context) {
  constexpr std::string_view kStampFile = "unpacked-from";
  const std::string stamp = stamp_of(archive);
  const Path stamp_file = partial / kStampFile;
  const auto before = dependencies.files.read(stamp_file);
  if (stamp == (before.ok() ? *before : std::string())) return {};
  MIST_TRY_VOID(dependencies.files.remove_all(partial));
  if (stamp.empty()) return {};
  Activity activity(dependencies.events, fmt::format("unpacking {}", archive.string()));
  MIST_TRY_VOID(registry::unpack_layout_archive(dependencies.files, archive, partial, context));
  return dependencies.files.write(stamp_file, stamp);
}

// An archive that is there already must be one that a run wrote; otherwise nothing is copied.
Status check_archive(const MirrorDependencies& dependencies, const OciPlace& to) {
  const std::string name = escape_controls(to.path.string());
  if (dependencies.files.is_directory(to.path))
    return error(ErrorKind::Invalid, "{} is a directory, and an archive is a file", name)
        .with_hint(fmt::format("name a file, or write a layout in a directory: --to oci-layout:{}", name));
  if (!dependencies.files.exists(to.path)) return {};
  MIST_TRY(std::unique_ptr<registry::LayoutFiles> files, registry::layout_at(dependencies.files, to));
  const auto layout = registry::LayoutReader::open(std::move(files), name);
  if (layout) return {};
  return Error(layout.error()).with_hint("name a new file, or an archive that mistctl mirror wrote");
}

// Collected in a directory beside it, so that a run that was stopped is continued. One run at a time: the
// lock stays beside both, since others may wait for it.
Reports into_archive(const MirrorDependencies& dependencies, const Path& archive,
                     const std::vector<MirrorArtifact>& artifacts, const registry::CopyOptions& options,
                     const Context& context) {
  Path partial = archive;
  partial += ".partial";
  const Path directory = archive.parent_path();
  if (!directory.empty()) MIST_TRY_VOID(dependencies.files.make_directories(directory));
  MIST_TRY(const FileLock lock,
           FileLock::acquire(directory / fmt::format(".{}.lock", archive.filename().string()), context));
  MIST_TRY_VOID(prepare_parts(dependencies, archive, partial, context));
  MIST_TRY(std::vector<registry::CopyReport> reports,
           into_directory(dependencies, partial, artifacts, options, context));
  Activity activity(dependencies.events, fmt::format("writing {}", archive.string()));
  MIST_TRY(std::unique_ptr<registry::LayoutFiles> files,
           registry::directory_layout(dependencies.files, partial));
  MIST_TRY(const std::unique_ptr<registry::LayoutReader> layout,
           registry::LayoutReader::open(std::move(files), escape_controls(partial.string())));
  MIST_TRY_VOID(registry::write_layout_archive(*layout, archive, context));
  MIST_TRY_VOID(dependencies.files.remove_all(partial));
  return reports;
}

std::vector<config::Mirror> mirrors_for(const std::vector<MirrorArtifact>& artifacts, const OciPlace& to) {
  std::set<std::string> hosts;
  for (const MirrorArtifact& each : artifacts)
    hosts.insert(oci::canonical_host(each.reference.repository.host));
  std::vector<config::Mirror> mirrors;
  for (const std::string& host : hosts) {
    const bool is_registry = to.kind == OciPlace::Kind::Registry;
    mirrors.push_back(
        {.prefix = host,
         .places = {is_registry ? fmt::format("{}/{}", to.prefix, registry::mirror_host_segment(host))
                                : to.str()}});
  }
  return mirrors;
}

}  // namespace

Result<MirrorSources> find_mirror_sources(const MirrorDependencies& dependencies,
                                          const std::vector<std::string>& references,
                                          const Context& context) {
  SourceFinder finder(dependencies, context);
  for (const std::string& each : references) {
    Activity activity(dependencies.events, fmt::format("resolving {}", config::redact_urls(each)));
    if (Status added = finder.add(each); !added) {
      activity.fail();
      return std::move(added).error();
    }
  }
  return std::move(finder).finish();
}

Result<MirrorReport> mirror_artifacts(const MirrorDependencies& dependencies,
                                      const std::vector<MirrorArtifact>& artifacts, const OciPlace& to,
                                      const registry::CopyOptions& options, const Context& context) {
  MirrorReport report;
  report.mirrors = mirrors_for(artifacts, to);
  const auto copy = [&]() -> Reports {
    switch (to.kind) {
      case OciPlace::Kind::Registry:
        return into_registry(dependencies, to.prefix, artifacts, options, context);
      case OciPlace::Kind::Directory:
        return options.dry_run ? preview_layout(dependencies, to, artifacts, options, context)
                               : into_directory(dependencies, to.path, artifacts, options, context);
      case OciPlace::Kind::Archive:
        MIST_TRY_VOID(check_archive(dependencies, to));
        return options.dry_run ? preview_layout(dependencies, to, artifacts, options, context)
                               : into_archive(dependencies, to.path, artifacts, options, context);
    }
    return error(ErrorKind::Internal, "{} is of no kind", to.str());
  };
  MIST_TRY(report.artifacts, copy().in(fmt::format("while mirroring to {}", escape_controls(to.str()))));
  return report;
}

}  // namespace mist::action
