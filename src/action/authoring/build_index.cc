#include "action/authoring/build_index.h"

#include <algorithm>
#include <map>
#include <set>

#include "action/authoring/index_artifact.h"
#include "base/local_fault.h"
#include "base/text.h"
#include "encoding/yaml.h"
#include "oci/tags.h"
#include "package/capabilities.h"
#include "package/installation_fault.h"
#include "registry/chart_archive.h"
#include "registry/directory_registry.h"
#include "registry/oci_packages.h"

namespace mist::action {
namespace {

using encoding::Value;
using search::Entry;

constexpr std::size_t kMostVersions = 20;
constexpr std::size_t kMostRepositories = 20'000;
constexpr std::string_view kChartFileName = "Chart.yaml";

bool is_of_machine(const Error& failure) {
  return failure.detail<package::InstallationFault>() != nullptr || failure.detail<LocalFault>() != nullptr;
}

// It is the package's own, and others can be indexed all the same. Any other failure, of this machine or of
// the way to the registry, may be that of all packages: an index without them would look like one that is
// whole. A package that only this machine refuses, because of what it remembers, belongs to the index too.
bool is_of_package(const Error& failure) {
  using enum ErrorKind;
  return (failure.kind == Invalid || failure.kind == NotFound || failure.kind == Conflict ||
          failure.kind == Trap) &&
         !is_of_machine(failure) && failure.detail<PinMismatch>() == nullptr;
}

// Servers that the package itself names may be away, closed to this machine, or other than it remembers, for
// as long as they like: one package would keep all others from an index.
bool is_of_named_server(const Error& failure) {
  using enum ErrorKind;
  return (failure.kind == Retryable || failure.kind == Timeout || failure.kind == Forbidden ||
          failure.detail<PinMismatch>() != nullptr) &&
         failure.detail<render::NamedElsewhere>() != nullptr && !is_of_machine(failure);
}

class IndexBuilder {
 public:
  IndexBuilder(const IndexDependencies& dependencies, const std::vector<Entry>& before,
               const Context& context)
      : dependencies_(dependencies), context_(context) {
    for (const Entry& entry : before) before_.emplace(entry.path, &entry);
  }

  // `versions`: newest first. `digest`: of the newest one. `reference`: that gives it.
  Status add(const std::string& path, std::vector<std::string> versions, const std::string& version,
             const std::string& digest, const std::string& reference) {
    const auto known = before_.find(path);
    const bool is_still_there =
        known != before_.end() && std::ranges::find(versions, known->second->version) != versions.end();
    if (versions.size() > kMostVersions) versions.resize(kMostVersions);
    if (known != before_.end() && known->second->version == version && !digest.empty() &&
        known->second->digest == digest) {
      keep(*known->second, std::move(versions));
      return {};
    }
    Result<Entry> entry = read(path, version, reference);
    MIST_TRY_VOID(context_.check());
    if (!entry && is_still_there && is_of_named_server(entry.error())) {
      dependencies_.events.warn(
          fmt::format("as in the earlier index: {}: {}", path, escape_controls(entry.error().to_line())));
      keep(*known->second, std::move(versions));
      return {};
    }
    if (!entry) {
      if (!is_of_package(entry.error()) && !is_of_named_server(entry.error()))
        return std::move(entry).error().with_frame(fmt::format("while reading {}", reference));
      leave_out(path, entry.error());
      return {};
    }
    entry->digest = digest;
    if (keep(*std::move(entry), std::move(versions))) ++built_.read;
    return {};
  }

  void leave_out(const std::string& path, const Error& why) {
    built_.left_out.push_back(fmt::format("{}: {}", path, escape_controls(why.to_line())));
  }

  BuiltIndex finish() && { return std::move(built_); }

 private:
  // False: no reader would take it, so it is left out here, where somebody sees why.
  bool keep(Entry entry, std::vector<std::string> versions) {
    entry.versions = std::move(versions);
    if (const Status fits = search::check_line(entry); !fits) {
      leave_out(entry.path, fits.error());
      return false;
    }
    built_.entries.push_back(std::move(entry));
    return true;
  }

  Result<Entry> read(const std::string& path, const std::string& version, const std::string& reference) {
    MIST_TRY(package::Source source, dependencies_.packages.fetch(reference, {}, context_));
    source.name = path.substr(path.rfind('/') + 1);
    source.version = version;
    MIST_TRY(const package::Inspection inspection, dependencies_.renderer.inspect(source, context_));
    Entry entry;
    entry.path = path;
    entry.version = version;
    entry.title = inspection.metadata.name;
    entry.description = inspection.metadata.description;
    entry.home = inspection.metadata.home;
    entry.format = inspection.format;
    entry.maintainers = inspection.metadata.maintainers;
    entry.keywords = keywords_of(source, inspection.metadata);
    MIST_TRY(entry.kinds, kinds_of(source));
    // Cut as readers would, so that no package can make the index too large for them.
    return Entry::parse(entry.to_value());
  }

  // Of a chart those of its Chart.yaml; of others those of the label "keywords", separated by commas.
  static std::vector<std::string> keywords_of(const package::Source& source,
                                              const package::Metadata& metadata) {
    std::vector<std::string> keywords;
    const std::string chart = chart_text(source);
    const Result<Value> document = chart.empty() ? Value() : encoding::parse_yaml(chart);
    const Value* const list = document ? document->find("keywords") : nullptr;
    if (list != nullptr && list->is_array())
      for (const Value& each : list->as_array())
        if (each.is_string()) keywords.push_back(each.as_string());
    if (const auto label = metadata.labels.find("keywords"); label != metadata.labels.end())
      for (const std::string_view each : split(label->second, ','))
        if (!trim(each).empty()) keywords.emplace_back(trim(each));
    return keywords;
  }

  static std::string chart_text(const package::Source& source) {
    const auto* const files = std::get_if<package::Files>(&source.content);
    if (files == nullptr) return {};
    if (const auto chart = files->find(std::string(kChartFileName)); chart != files->end())
      return chart->second;
    const std::string* const archive = package::packed_chart(*files);
    if (archive == nullptr) return {};
    const Result<registry::ChartFiles> chart = registry::unpack_chart(*archive, source.reference);
    if (!chart) return {};
    const auto file = std::ranges::find(chart->tree.files, kChartFileName, &registry::PackageFile::path);
    return file == chart->tree.files.end() ? std::string() : file->bytes;
  }

  // With its default values, without a cluster; one that needs a value, or may read a cluster's objects
  // (Forbidden), makes nobody knows what.
  Result<std::vector<std::string>> kinds_of(const package::Source& source) {
    package::RenderRequest request;
    request.release_name = "example";
    request.release_namespace = "default";
    request.user_values = Value::object();
    request.revision = 1;
    request.quiet = true;
    package::assume_cluster(request, {}, {});
    const Result<package::Rendered> rendered = dependencies_.renderer.render(source, request, context_);
    if (!rendered) {
      if (!is_of_package(rendered.error()) && rendered.error().kind != ErrorKind::Forbidden)
        return rendered.error();
      ++built_.without_kinds;
      dependencies_.events.debug(fmt::format("{} doesn't render with its default values: {}",
                                             source.reference, escape_controls(rendered.error().to_line())));
      return std::vector<std::string>();
    }
    std::set<std::string> kinds;
    for (const apimachinery::RenderedObject& each : rendered->objects) kinds.insert(each.object.gvk().kind);
    return std::vector<std::string>(kinds.begin(), kinds.end());
  }

  const IndexDependencies& dependencies_;
  const Context& context_;
  std::map<std::string, const Entry*> before_;
  BuiltIndex built_;
};

// Stable versions before prereleases. `versions`: newest first, not empty.
const std::string& newest_version(const std::vector<std::string>& versions) {
  const auto stable = std::ranges::find_if(
      versions, [](const std::string& version) { return version.find('-') == std::string::npos; });
  return stable == versions.end() ? versions.front() : *stable;
}

Result<std::vector<std::string>> listed_below(registry::OciClient& client, const std::string& url,
                                              const Context& context) {
  MIST_TRY(const oci::Repository some, registry::repository_below(url, "x"));
  const std::string prefix = some.path.substr(0, some.path.size() - 1);
  MIST_TRY(const std::vector<std::string> all, client.repositories(some.host, context));
  std::vector<std::string> names;
  for (const std::string& path : all)
    if (path.starts_with(prefix) && path.size() > prefix.size()) names.push_back(path.substr(prefix.size()));
  if (names.size() > kMostRepositories)
    return error(ErrorKind::Invalid, "{} has {} repositories; {} can be indexed", url, names.size(),
                 kMostRepositories);
  if (names.empty())
    return error(ErrorKind::NotFound, "{} lists no repositories below {}", some.host, url)
        .with_hint("name them: --package web --package databases/mariadb");
  return names;
}

// Other tags are versions too, such as v1 and 1.4, which move.
Error no_whole_version(const oci::Repository& repository, const std::vector<std::string>& tags) {
  return registry::naming_tags(
      error(ErrorKind::NotFound, "no tag of {} is a whole version", repository.str()), repository, tags);
}

}  // namespace

Result<BuiltIndex> index_directory(const IndexDependencies& dependencies, const Path& directory,
                                   const std::vector<Entry>& before, const Context& context) {
  const registry::DirectoryRegistry registry(dependencies.files, directory);
  MIST_TRY(const registry::PackageIndex index, registry.index());
  IndexBuilder builder(dependencies, before, context);
  for (const auto& [path, ascending] : index.packages()) {
    const std::vector<std::string> versions(ascending.rbegin(), ascending.rend());
    if (versions.empty()) continue;
    const std::string& newest = newest_version(versions);
    const registry::RegistryRef reference{
        .registry = "index", .path = path, .version = newest, .digest = std::nullopt};
    MIST_TRY(const registry::PackageContent content, registry.read(reference));
    MIST_TRY_VOID(builder.add(path, versions, newest, registry::digest_of(content).str(),
                              std::filesystem::absolute(registry.origin(reference)).string()));
  }
  BuiltIndex built = std::move(builder).finish();
  // Files of such registries are read as packages are.
  MIST_TRY_VOID(search::check_size(built.entries.size(), search::to_index(built.entries).size(),
                                   registry::kMaxPackageBytes));
  return built;
}

Result<BuiltIndex> index_oci(const IndexDependencies& dependencies, registry::OciClient& client,
                             const std::string& url, std::vector<std::string> names,
                             const std::vector<Entry>& before, const Context& context) {
  const bool are_listed = names.empty();
  if (are_listed) {
    MIST_TRY(names, listed_below(client, url, context));
  }
  IndexBuilder builder(dependencies, before, context);
  for (const std::string& name : names) {
    if (name == search::kIndexRepository) continue;
    MIST_TRY(const oci::Repository repository, registry::repository_below(url, name));
    Result<std::vector<std::string>> answer = client.tags(repository, context);
    // Registries list repositories, too, into which no manifest was pushed yet, or of which all were deleted.
    if (are_listed && !answer && answer.error().kind == ErrorKind::NotFound) {
      builder.leave_out(name, answer.error());
      continue;
    }
    MIST_TRY(const std::vector<std::string> tags, std::move(answer));
    std::vector<std::string> versions;
    for (const std::string& tag : oci::newest_first(oci::fixed_versions(tags)))
      versions.push_back(oci::version_of_tag(tag));
    if (versions.empty() && !oci::newest_first(tags).empty())
      builder.leave_out(name, no_whole_version(repository, tags));
    if (versions.empty()) continue;
    const std::string newest = newest_version(versions);
    const std::string tag = oci::tag_of_version(newest);
    MIST_TRY(const std::optional<crypto::Digest> digest,
             client.digest_of(repository, tag, context, oci::Access::Pull));
    // A tag that is gone again is read as such, for its error.
    const oci::Reference reference{.repository = repository, .tag = tag, .range = {}, .digest = digest};
    MIST_TRY_VOID(
        builder.add(name, versions, newest, digest ? digest->str() : std::string(), reference.str()));
  }
  return std::move(builder).finish();
}

}  // namespace mist::action
