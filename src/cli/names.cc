#include "cli/names.h"

#include <chrono>

#include "cli/places.h"
#include "config/config.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "release/store.h"

namespace mist::cli {
namespace {

using Names = std::vector<std::string>;

Result<Names> registries(World& world) {
  NullEventSink silent;
  MIST_TRY(const config::Paths paths, paths_of(world));
  MIST_TRY(const config::Config config, config::Config::load(world.files, paths, silent));
  Names names;
  for (const config::Registry& registry : config.registries()) names.push_back(registry.name);
  return names;
}

Result<Names> namespaces(const ClusterChoice& cluster, World& world, const Context& context) {
  MIST_TRY(const auto client, world.connect(cluster, world));
  MIST_TRY(const kube::ResourceInfo resource, client->resource_for({"", "Namespace"}, "v1", context));
  kube::ListOptions options;
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list, client->list(resource, options, context));
  Names names;
  for (const encoding::Value& item : list.items) names.emplace_back(item.string_at({"metadata", "name"}));
  return names;
}

Result<Names> releases(const ClusterChoice& cluster, World& world, const Context& context) {
  MIST_TRY(const auto client, world.connect(cluster, world));
  MIST_TRY(const auto anchors, release::Store(*client).list_anchors(client->default_namespace(), context));
  Names names;
  for (const release::Anchor& anchor : anchors) names.push_back(anchor.id.name);
  return names;
}

Result<Names> contexts(const ClusterChoice& cluster, World& world) {
  MIST_TRY(const auto kubeconfig,
           kube::Kubeconfig::load(kube::KubeconfigFiles::choose(cluster.kubeconfig, world.environment),
                                  world.files));
  return kubeconfig.context_names();
}

Result<Names> look_up(Completion kind, const ClusterChoice& cluster, World& world) {
  const Context context = world.context.with_timeout(std::chrono::seconds(2));
  switch (kind) {
    case Completion::Registry:
      return registries(world);
    case Completion::Namespace:
      return namespaces(cluster, world, context);
    case Completion::Release:
      return releases(cluster, world, context);
    case Completion::Context:
      return contexts(cluster, world);
    case Completion::None:
    case Completion::File:
    case Completion::Directory:
    case Completion::Package:
    case Completion::Command:
      return Names{};
  }
  return Names{};
}

}  // namespace

std::vector<std::string> names_of(Completion kind, const ClusterChoice& cluster, World& world) {
  return look_up(kind, cluster, world).value_or({});
}

}  // namespace mist::cli
