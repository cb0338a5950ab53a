#include "action/query/search.h"

#include <algorithm>

#include "action/authoring/index_artifact.h"
#include "base/text.h"
#include "crypto/digest.h"

namespace mist::action {
namespace {

using search::Database;
using search::Shard;
using search::Source;

constexpr auto kOld = std::chrono::hours(24);
/// A registry's packages, as far as their names tell, where it has no index.
constexpr std::string_view kNames = "names";
constexpr std::string_view kWhole = "whole";

// Where the registry is, before what is kept as its state: one that was removed and added at another address
// is another registry, though its name is the same.
std::string place_of(const config::Registry& registry) {
  const auto& source = registry.remote().source;
  if (const auto* oci = std::get_if<config::OciSource>(&source)) return fmt::format("oci {}\n", oci->url);
  if (const auto* git = std::get_if<config::GitSource>(&source)) return fmt::format("git {}\n", git->url);
  if (const auto* helm = std::get_if<config::HelmSource>(&source)) return fmt::format("helm {}\n", helm->url);
  if (const auto* catalog = std::get_if<config::CatalogSource>(&source))
    return fmt::format("catalog {}\n", catalog->url);
  return fmt::format("directory {}\n", std::get<config::DirectorySource>(source).path);
}

// The stored index of the registry, if the registry is still where it was. Of another one nothing stays. A
// part of an index has no state, and so no place either: what the registry says now replaces it.
Result<Source> known_of(Database& database, const search::Sources& sources,
                        const config::Registry& registry) {
  const auto found = sources.find(registry.name);
  if (found == sources.end()) return Source();
  const std::string place = place_of(registry);
  Source known = found->second;
  if (known.state.empty()) return known;
  if (!known.state.starts_with(place)) {
    MIST_TRY_VOID(database.forget(registry.name));
    return Source();
  }
  known.state.erase(0, place.size());
  return known;
}

void tell_left_out(const SearchDependencies& dependencies, const std::string& registry, std::size_t count) {
  if (count > 0)
    dependencies.events.warn(fmt::format(
        "the index of {} has {} that no reference could name, or that stand there twice; they are "
        "left out",
        registry, plural(count, "package")));
}

Status refresh_oci(const SearchDependencies& dependencies, Database& database,
                   const config::Registry& registry, const std::string& url, const Source& known,
                   Freshness freshness, const Context& context) {
  const std::string& name = registry.name;
  if (!known.state.empty() && freshness == Freshness::Known) {
    const auto age = dependencies.clock.now() - known.checked;
    if (age > kOld)
      dependencies.events.info(fmt::format("the index of {} was read {} ago; --refresh asks for what is new",
                                           name, format_age(age)));
    return {};
  }
  Activity activity(dependencies.events, fmt::format("reading the index of {}", name));
  const auto read = [&]() -> Result<FetchedIndex> {
    MIST_TRY(registry::OciSource* const client, dependencies.registries.oci_source());
    return fetch_index(*client, url, known, context);
  };
  const Result<FetchedIndex> fetched = read();
  if (!fetched) {
    activity.fail();
    return fetched.error();
  }
  if (!fetched->changed) return database.touch(name, dependencies.clock.now());
  tell_left_out(dependencies, name, fetched->left_out);
  return database.store(name, place_of(registry) + fetched->state, dependencies.clock.now(), fetched->shards,
                        fetched->all);
}

// The newest version is the last one that isn't a prerelease, if there is any.
search::Entry named_entry(const registry::PackageVersions& package) {
  search::Entry entry;
  entry.path = package.path;
  entry.versions.assign(package.versions.rbegin(), package.versions.rend());
  const auto stable = std::ranges::find_if(
      entry.versions, [](const std::string& version) { return version.find('-') == std::string::npos; });
  entry.version = stable == entry.versions.end() ? entry.versions.front() : *stable;
  return entry;
}

// `commit`: of the registry, if that is in git.
Status refresh_names(const SearchDependencies& dependencies, Database& database,
                     const config::Registry& registry, const Source& known, const std::string& commit,
                     const Context& context) {
  MIST_TRY(const std::vector<registry::PackageVersions> packages,
           dependencies.registries.list_packages(registry.name, context));
  std::vector<search::Entry> entries;
  for (const registry::PackageVersions& each : packages)
    if (!each.versions.empty()) entries.push_back(named_entry(each));
  const std::string digest = crypto::sha256(search::to_index(entries)).str();
  const std::string& state = commit.empty() ? digest : commit;
  if (known.state == state) return {};
  const std::string shard(kNames);
  return database.store(registry.name, place_of(registry) + state, dependencies.clock.now(),
                        {{shard, digest, std::move(entries)}}, {{shard, digest}});
}

Status refresh_local(const SearchDependencies& dependencies, Database& database,
                     const config::Registry& registry, const Source& known, const Context& context) {
  const std::string& name = registry.name;
  MIST_TRY(const registry::RegistryFile file,
           dependencies.registries.read_file(name, std::string(search::kIndexFile), known.state, context));
  if (file.is_known) return {};
  if (!file.bytes) return refresh_names(dependencies, database, registry, known, file.state, context);
  MIST_TRY(search::Index index,
           search::parse_index(*file.bytes, fmt::format("{} of {}", search::kIndexFile, name)));
  tell_left_out(dependencies, name, index.left_out);
  const std::string shard(kWhole);
  return database.store(name, place_of(registry) + file.state, dependencies.clock.now(),
                        {{shard, file.state, std::move(index.entries)}}, {{shard, file.state}});
}

Status refresh_in(const SearchDependencies& dependencies, Database& database,
                  const config::Registry& registry, const Source& known, Freshness freshness,
                  const Context& context) {
  if (const auto* oci = std::get_if<config::OciSource>(&registry.remote().source))
    return refresh_oci(dependencies, database, registry, oci->url, known, freshness, context);
  // By its ETag: a request that has no answer where nothing changed.
  if (std::holds_alternative<config::CatalogSource>(registry.remote().source) && freshness == Freshness::Ask)
    MIST_TRY_VOID(dependencies.registries.update(registry.name, context));
  return refresh_local(dependencies, database, registry, known, context);
}

Status check_names(const std::vector<config::Registry>& registries, const search::Query& query) {
  for (const std::string& name : query.registries) {
    if (std::ranges::find(registries, name, &config::Registry::name) != registries.end()) continue;
    std::vector<std::string_view> names;
    for (const config::Registry& each : registries) names.push_back(each.name);
    const std::string_view near = nearest(name, names);
    return error(ErrorKind::NotFound, "no registry is called {}", escape_controls(name))
        .with_hint(near.empty() ? std::string("mistctl registry list shows them")
                                : fmt::format("did you mean {}?", near));
  }
  return {};
}

// A defect of the file itself ends it; packages of a failing registry are missing, and a warning says so.
Status refresh_all(const SearchDependencies& dependencies, Database& database,
                   const std::vector<config::Registry>& registries, const search::Query& query,
                   Freshness freshness, const Context& context) {
  MIST_TRY(const search::Sources sources, database.sources());
  for (const config::Registry& each : registries) {
    if (!query.registries.empty() && std::ranges::find(query.registries, each.name) == query.registries.end())
      continue;
    MIST_TRY(const Source known, known_of(database, sources, each));
    const Status refreshed = refresh_in(dependencies, database, each, known, freshness, context);
    if (refreshed) continue;
    const Error& failure = refreshed.error();
    if (failure.detail<search::DamagedDatabase>() != nullptr || failure.kind == ErrorKind::Cancelled)
      return failure;
    dependencies.events.warn(fmt::format(
        "{} {}: {}{}", each.name,
        known.shards.empty() ? "can't be searched" : "is searched as it was read last",
        escape_controls(failure.to_line()), failure.hint.empty() ? "" : fmt::format("; {}", failure.hint)));
  }
  for (const auto& [name, source] : sources)
    if (std::ranges::find(registries, name, &config::Registry::name) == registries.end())
      MIST_TRY_VOID(database.forget(name));
  return {};
}

Result<std::vector<search::Hit>> searched(const SearchDependencies& dependencies,
                                          const std::vector<config::Registry>& registries,
                                          const search::Query& query, Freshness freshness,
                                          const Context& context) {
  MIST_TRY(Database database, Database::open(dependencies.files, dependencies.database));
  MIST_TRY_VOID(refresh_all(dependencies, database, registries, query, freshness, context));
  return database.find(query);
}

}  // namespace

Status refresh_index(const SearchDependencies& dependencies, const config::Registry& registry,
                     Freshness freshness, const Context& context) {
  MIST_TRY(Database database, Database::open(dependencies.files, dependencies.database));
  MIST_TRY(const search::Sources sources, database.sources());
  MIST_TRY(const Source known, known_of(database, sources, registry));
  return refresh_in(dependencies, database, registry, known, freshness, context);
}

Result<std::vector<FoundPackage>> search_packages(const SearchDependencies& dependencies,
                                                  const search::Query& query, Freshness freshness,
                                                  const Context& context) {
  MIST_TRY(const std::vector<config::Registry> registries, dependencies.registries.list());
  MIST_TRY_VOID(check_names(registries, query));
  Result<std::vector<search::Hit>> hits = searched(dependencies, registries, query, freshness, context);
  if (!hits && hits.error().detail<search::DamagedDatabase>() != nullptr) {
    dependencies.events.debug(fmt::format("the search index is made again: {}", hits.error().to_line()));
    MIST_TRY_VOID(Database::remove(dependencies.files, dependencies.database));
    hits = searched(dependencies, registries, query, freshness, context);
  }
  if (!hits) return std::move(hits).error();
  std::vector<FoundPackage> found;
  for (search::Hit& hit : *hits) {
    std::string reference = fmt::format("{}/{}:{}", hit.registry, hit.entry.path, hit.entry.version);
    found.push_back({std::move(hit), std::move(reference)});
  }
  return found;
}

}  // namespace mist::action
