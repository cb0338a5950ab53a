#include "apply/plan/give_namespaces.h"

namespace mist::apply {

std::set<apimachinery::GroupKind> give_namespaces(encoding::Value& made, const std::string& ns,
                                                  kube::Client& client, const Context& context) {
  if (made.is_array()) {
    std::set<apimachinery::GroupKind> unknown;
    for (encoding::Value& each : made.as_array()) unknown.merge(give_namespaces(each, ns, client, context));
    return unknown;
  }
  const std::string_view kind = made.string_at("kind");
  if (kind.empty() || !made.string_at({"metadata", "namespace"}).empty()) return {};
  std::string_view group, version = made.string_at("apiVersion");
  if (const auto slash = version.find('/'); slash != std::string_view::npos) {
    group = version.substr(0, slash);
    version = version.substr(slash + 1);
  }
  const apimachinery::GroupKind type{std::string(group), std::string(kind)};
  const auto resource = client.resource_for(type, std::string(version), context);
  if (!resource.ok()) return {type};
  if (resource->namespaced) made["metadata"].set("namespace", ns);
  return {};
}

}  // namespace mist::apply
