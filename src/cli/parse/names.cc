#include "cli/parse/names.h"

#include <chrono>

#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/package_flags.h"
#include "cli/parse/invocation.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "config/config.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "registry/registry.h"
#include "release/store.h"
#include "view/packages.h"

namespace mist::cli {
namespace {

using Names = std::vector<KnownName>;

// A shell that waits for the Tab key feels dead soon.
constexpr auto kPatience = std::chrono::seconds(2);

Result<config::Config> configuration(Machine& machine) {
  NullEventSink silent;
  MIST_TRY(const config::Paths paths, paths_of(machine));
  return config::Config::load(machine.files, paths, silent);
}

Result<Names> registries(Machine& machine) {
  MIST_TRY(const config::Config config, configuration(machine));
  Names names;
  for (const config::Registry& registry : config.registries()) names.push_back({registry.name});
  return names;
}

Result<Names> mirrored(Machine& machine) {
  MIST_TRY(const config::Config config, configuration(machine));
  Names names;
  for (const config::Mirror& each : config.mirrors()) names.push_back({each.prefix});
  return names;
}

Result<Names> mirrors_of(const std::string& prefix, Machine& machine) {
  MIST_TRY(const config::Config config, configuration(machine));
  Names names;
  for (const config::Mirror& each : config.mirrors())
    if (each.prefix == prefix)
      for (const std::string& place : each.places) names.push_back({place});
  return names;
}

Result<Names> namespaces(const ClusterChoice& cluster, Machine& machine, const Context& context) {
  MIST_TRY(const auto client, machine.connect(cluster, machine));
  MIST_TRY(const kube::ResourceInfo resource, client->resource_for({"", "Namespace"}, "v1", context));
  kube::ListOptions options;
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list, client->list(resource, options, context));
  Names names;
  for (const encoding::Value& item : list.items)
    names.push_back({std::string(item.string_at({"metadata", "name"}))});
  return names;
}

Result<Names> releases(const ClusterChoice& cluster, Machine& machine, const Context& context) {
  MIST_TRY(const auto client, machine.connect(cluster, machine));
  MIST_TRY(const auto anchors, release::Store(*client).list_anchors(client->default_namespace(), context));
  Names names;
  for (const release::Anchor& anchor : anchors)
    names.push_back(
        {anchor.id.name, fmt::format("{}, {}", release::to_string(anchor.head.status), anchor.head.package)});
  return names;
}

Result<Names> contexts(const ClusterChoice& cluster, Machine& machine) {
  MIST_TRY(const auto kubeconfig,
           kube::Kubeconfig::load(kube::KubeconfigFiles::choose(cluster.kubeconfig, machine.environment),
                                  machine.files));
  Names names;
  for (std::string& name : kubeconfig.context_names()) names.push_back({std::move(name)});
  return names;
}

// "oci://host/team/shop:" gives "oci://host/team/shop:1.4.0"; which repositories a host has, nobody can ask.
Result<Names> oci_versions(const std::string& typed, registry::Registries& registries,
                           const Context& context) {
  const std::size_t colon = typed.rfind(':');
  Names names;
  if (colon == std::string::npos || colon < typed.rfind('/')) return names;
  const std::string repository = typed.substr(0, colon);
  MIST_TRY(const oci::Repository parsed, oci::Repository::parse(repository));
  MIST_TRY(const auto versions, registries.list_versions(parsed, context));
  for (const std::string& version : versions) names.push_back({fmt::format("{}:{}", repository, version)});
  return names;
}

// "shop/" gives "shop/web:", "shop/web:" gives "shop/web:0.1.0".
Result<Names> packages(const std::string& typed, Machine& machine, const Context& context) {
  NullEventSink silent;
  MIST_TRY(const config::Paths paths, paths_of(machine));
  registry::Registries registries(
      {machine.files, machine.processes, silent, paths, machine.clock, oci_access(machine, false)});
  if (typed.starts_with(oci::kScheme)) return oci_versions(typed, registries, context);
  const std::size_t slash = typed.find('/');
  const std::size_t colon = typed.find(':', slash);
  const std::string name = typed.substr(0, slash);
  Names names;
  if (colon == std::string::npos) {
    MIST_TRY(const auto all, registries.list_packages(name, context));
    for (const registry::PackageVersions& package : all)
      names.push_back({fmt::format("{}/{}:", name, package.path)});
    return names;
  }
  const std::string path = typed.substr(slash + 1, colon - slash - 1);
  MIST_TRY(const auto versions, registries.list_versions(name, path, context));
  for (const std::string& version : versions) names.push_back({fmt::format("{}/{}:{}", name, path, version)});
  return names;
}

Result<Names> revisions(const NameQuery& query, Machine& machine, const Context& context) {
  MIST_TRY(const auto client, machine.connect(query.cluster, machine));
  MIST_TRY(const auto revisions,
           release::Store(*client).list_revisions({client->default_namespace(), query.release}, context));
  Names names;
  for (const auto& revision : revisions)
    names.push_back(
        {std::to_string(revision.number),
         fmt::format("{}, {}, {}", revision.action, release::to_string(revision.status), revision.created)});
  return names;
}

Result<Names> working_copies(Machine& machine) {
  MIST_TRY(const kpm::Home home, open_kpm_home(machine));
  MIST_TRY(std::vector<std::string> copies, home.working_copies());
  Names names;
  for (std::string& name : copies) names.push_back({std::move(name)});
  return names;
}

// The keys of the package that -p names, else of the one that the release has.
Result<Names> value_keys(const NameQuery& query, Machine& machine, const Context& context) {
  Machine patient = machine;
  patient.context = context;
  const Invocation inspect(kInspectPackageCommand);
  std::string reference = query.package;
  if (reference.empty()) {
    MIST_TRY(const auto client, machine.connect(query.cluster, machine));
    MIST_TRY(const auto anchor,
             release::Store(*client).read_anchor({client->default_namespace(), query.release}, context));
    if (!anchor) return Names{};
    reference = anchor->head.package;
  }
  MIST_TRY(const auto packages, open_packages(inspect, patient));
  MIST_TRY(const package::Source source, packages->fetch(reference, query.engine, context));
  MIST_TRY(const auto renderer, open_renderer(inspect, patient));
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, context));
  Names names;
  for (view::InputKey& key : view::input_keys(inspection.metadata, query.typed))
    names.push_back({std::move(key.text), std::move(key.description)});
  return names;
}

Result<Names> look_up(const NameQuery& query, Machine& machine) {
  const ClusterChoice& cluster = query.cluster;
  const Context context = machine.context.with_timeout(kPatience);
  switch (query.kind) {
    case Completion::Registry:
      return registries(machine);
    case Completion::Mirrored:
      return mirrored(machine);
    case Completion::Mirror:
      return mirrors_of(query.mirrored, machine);
    case Completion::Namespace:
      return namespaces(cluster, machine, context);
    case Completion::Release:
      return query.release.empty() ? releases(cluster, machine, context) : revisions(query, machine, context);
    case Completion::Context:
      return contexts(cluster, machine);
    case Completion::Package:
      return packages(query.typed, machine, context);
    case Completion::ValueKey:
      return value_keys(query, machine, context);
    case Completion::WorkingCopy:
      return working_copies(machine);
    case Completion::None:
    case Completion::File:
    case Completion::Directory:
    case Completion::Command:
    case Completion::ReleaseAnywhere:
    case Completion::Revision:
    case Completion::CopiesPlace:
      return Names{};
  }
  return Names{};
}

}  // namespace

Names names_of(const NameQuery& query, Machine& machine) { return look_up(query, machine).value_or({}); }

}  // namespace mist::cli
