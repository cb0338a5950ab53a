#include "cli/names.h"

#include <chrono>

#include "cli/places.h"
#include "config/config.h"
#include "kube/client.h"

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

Result<Names> namespaces(const CompletionScope& scope, World& world, const Context& context) {
  MIST_TRY(const auto client, world.connect(scope.cluster, world));
  MIST_TRY(const kube::ResourceInfo resource, client->resource_for({"", "Namespace"}, "v1", context));
  kube::ListOptions options;
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list, client->list(resource, options, context));
  Names names;
  for (const encoding::Value& item : list.items) names.emplace_back(item.string_at({"metadata", "name"}));
  return names;
}

Result<Names> look_up(Completion kind, const CompletionScope& scope, World& world) {
  const Context context = world.context.with_timeout(std::chrono::seconds(2));
  switch (kind) {
    case Completion::Registry:
      return registries(world);
    case Completion::Namespace:
      return namespaces(scope, world, context);
    case Completion::Context:
    case Completion::Release:
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

std::vector<std::string> names_of(Completion kind, const CompletionScope& scope, World& world) {
  return look_up(kind, scope, world).value_or({});
}

}  // namespace mist::cli
