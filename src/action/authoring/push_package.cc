#include "action/authoring/push_package.h"

#include "base/output_file.h"
#include "base/text.h"
#include "base/tree.h"
#include "oci/tags.h"
#include "registry/chart_archive.h"
#include "registry/chart_trust.h"
#include "registry/oci_tags.h"

namespace mist::action {

using registry::PackageModule;
using registry::PackageTree;

package::Source pushed_source(const registry::Fetched& package, const oci::Reference& destination) {
  package::Source source;
  source.reference = package.resolved.recorded();
  source.name = destination.repository.name();
  source.version = oci::version_of_tag(destination.tag);
  source.digest = package.digest.str();
  if (const auto* module = std::get_if<PackageModule>(&package.content)) {
    source.content = *module;
    return source;
  }
  package::Files files;
  for (const registry::PackageFile& file : std::get<PackageTree>(package.content).files)
    files.emplace(file.path, file.bytes);
  source.content = std::move(files);
  return source;
}

namespace {

// The package's metadata; a chart's engine isn't asked: registry::artifact_of reads Chart.yaml.
Result<oci::About> about(package::Renderer& renderer, const package::Source& source, const Context& context) {
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(source));
  if (package::has_chart_values(engine) && std::holds_alternative<package::Files>(source.content))
    return oci::About{};
  MIST_TRY(const package::Inspection inspection, renderer.inspect(source, context));
  const package::Metadata& metadata = inspection.metadata;
  return oci::About{.title = metadata.name, .version = metadata.version, .description = metadata.description};
}

// As the artifact says it; empty: it says none.
std::string version_in(const oci::Artifact& artifact) {
  const Result<oci::Document> document =
      oci::parse_document(artifact.manifest, oci::kManifestType, "the manifest");
  const auto* manifest = document.ok() ? std::get_if<oci::Manifest>(&*document) : nullptr;
  if (manifest == nullptr) return {};
  const auto version = manifest->annotations.find(std::string(oci::kVersionAnnotation));
  return version == manifest->annotations.end() ? std::string() : version->second;
}

std::string_view without_v(std::string_view version) {
  return version.starts_with('v') ? version.substr(1) : version;
}

Status check_tag(const package::Source& source, const std::string& version,
                 const oci::Reference& destination) {
  const std::string tag = oci::tag_of_version(version);
  const bool same = without_v(tag) == without_v(destination.tag);
  if (!oci::is_fixed_version(destination.tag) || version.empty() || same) return {};
  return error(ErrorKind::Invalid, "{} says that it is version {}, not {}", source.reference, version,
               oci::version_of_tag(destination.tag))
      .with_hint(fmt::format("push it to {}:{}, or change the version in the package",
                             destination.repository.str(), version));
}

}  // namespace

Result<PreparedPush> prepare_push(package::Renderer& renderer, const registry::Fetched& package,
                                  const oci::Reference& destination, const std::string& provenance,
                                  const Context& context) {
  const package::Source source = pushed_source(package, destination);
  MIST_TRY(const oci::About said, about(renderer, source, context));
  MIST_TRY(oci::Artifact artifact, registry::artifact_of(package.content, said, provenance));
  const std::string version = version_in(artifact);
  oci::Reference tagged = destination;
  if (tagged.tag.empty()) {
    if (version.empty())
      return error(ErrorKind::Invalid, "{} doesn't say its version, and {} names none", source.reference,
                   destination.str())
          .with_hint(fmt::format("name one: {}:1.0.0", destination.repository.str()));
    MIST_TRY(tagged.tag, registry::parse_tag(version).in(
                             fmt::format("while making the version of {} its tag", source.reference)));
  }
  MIST_TRY_VOID(check_tag(source, version, tagged));
  tagged.digest = artifact.digest;
  return PreparedPush{std::move(tagged), std::move(artifact)};
}

namespace {

// An editor or a shell that opens the directory would run what hidden files tell it to.
Status write_directory(FileSystem& files, const PackageTree& tree, SavedPackage& saved) {
  std::vector<TreeFile> shown;
  for (const registry::PackageFile& file : tree.files)
    if (is_hidden_path(file.path))
      saved.left_out.push_back(file.path);
    else
      shown.push_back({file.path, file.bytes});
  Status written = write_tree(files, saved.path, shown,
                              {.hidden = true, .durable = false, .permissions = Permissions::Users});
  if (!written && written.error().kind == ErrorKind::Conflict)
    return std::move(written).error().with_hint("name another directory with -o, or remove it");
  return written;
}

struct Named {
  std::string name, version;
};

// The last segment of a path or of an address.
std::string last_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  std::string name(path.substr(path.rfind('/') + 1));
  for (const std::string_view ending : {".git", ".wasm", ".tgz"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name.find_first_not_of('.') == std::string::npos ? "package" : name;
}

// Name and version for the file or directory. References are checked: each part is one segment.
Named named_by(const registry::Fetched& package) {
  const std::string digest = package.digest.hex().substr(0, 12);
  const auto& form = package.resolved.form();
  if (const auto* const there = std::get_if<oci::Reference>(&form))
    return {there->repository.name(), there->tag.empty()
                                          ? there->digest.value_or(package.digest).hex().substr(0, 12)
                                          : oci::version_of_tag(there->tag)};
  if (const auto* const named = std::get_if<registry::RegistryRef>(&form))
    return {named->name(), named->version};
  if (const auto* const git = std::get_if<registry::GitRef>(&form))
    return {last_name(git->path.empty() ? git->url : git->path), digest};
  return {last_name(std::get<registry::LocalRef>(form).path.string()), digest};
}

Status check_directory(FileSystem& files, const Path& directory) {
  if (directory.empty() || files.is_directory(directory)) return {};
  return error(ErrorKind::NotFound, "there is no directory {}", escape_controls(directory.string()))
      .with_hint("make it, or name another one with -d");
}

}  // namespace

Result<SavedPackage> save_package(FileSystem& files, const registry::Fetched& package, SaveOptions options) {
  const auto* module = std::get_if<PackageModule>(&package.content);
  const auto* tree = std::get_if<PackageTree>(&package.content);
  const bool is_chart =
      tree != nullptr && tree->files.size() == 1 && tree->files.front().path.ends_with(".tgz");
  if (!is_chart && (options.untar || options.provenance))
    return error(ErrorKind::Invalid, "{} is not a packed chart", package.resolved.display())
        .with_hint(options.untar ? "leave --untar out: it is for the archives of charts"
                                 : "leave --prov out: only the archives of charts have provenance files");
  const bool is_named = !options.target.empty();
  if (!is_named) {
    MIST_TRY_VOID(check_directory(files, options.directory));
    const Named named = named_by(package);
    options.target = options.directory / (options.untar ? named.name
                                                        : fmt::format("{}-{}{}", named.name, named.version,
                                                                      module != nullptr ? ".wasm"
                                                                      : is_chart        ? ".tgz"
                                                                                        : ""));
  }
  SavedPackage saved{.path = std::move(options.target), .left_out = {}};
  const auto write = [&](std::string_view bytes) {
    return is_named ? write_output(files, saved.path, bytes) : files.write(saved.path, bytes, kUsersFile);
  };
  if (module != nullptr) {
    MIST_TRY(const auto bytes, module->bytes());
    MIST_TRY_VOID(write(*bytes));
  } else if (options.untar) {
    MIST_TRY(const registry::ChartFiles chart,
             registry::unpack_chart(tree->files.front().bytes, package.resolved.display()));
    MIST_TRY_VOID(write_directory(files, chart.tree, saved));
  } else if (is_chart) {
    MIST_TRY_VOID(write(tree->files.front().bytes));
  } else {
    MIST_TRY_VOID(write_directory(files, *tree, saved));
  }
  if (options.provenance) {
    saved.provenance = registry::provenance_file_of(saved.path);
    MIST_TRY_VOID(files.write(saved.provenance, *options.provenance, kUsersFile));
  }
  return saved;
}

}  // namespace mist::action
