#include "apply/plan/give_namespaces.h"

namespace mist::apply {

bool give_namespaces(encoding::Value& made, const std::string& ns, kube::Client& client,
                     const Context& context) {
  if (made.is_array()) {
    bool all = true;
    for (encoding::Value& each : made.as_array()) all = give_namespaces(each, ns, client, context) && all;
    return all;
  }
  const std::string_view kind = made.string_at("kind");
  if (kind.empty() || !made.string_at({"metadata", "namespace"}).empty()) return true;
  std::string_view group, version = made.string_at("apiVersion");
  if (const auto slash = version.find('/'); slash != std::string_view::npos) {
    group = version.substr(0, slash);
    version = version.substr(slash + 1);
  }
  const auto resource =
      client.resource_for({std::string(group), std::string(kind)}, std::string(version), context);
  if (!resource.ok()) return false;
  if (resource->namespaced) made["metadata"].set("namespace", ns);
  return true;
}

}  // namespace mist::apply
